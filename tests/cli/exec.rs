//! `exec`: a person's own arrays in, an array out.

use crate::{Ended, convledger};
use assert_cmd::Command;
use convledger::conv::{Conv, Pass};
use convledger::reference;
use npyz::{AutoSerialize, NpyFile, Order, WriterBuilder};
use std::fs::{self, File};
use std::path::PathBuf;
use tempfile::TempDir;

/// Numbers without a pattern that a wrong index could miss.
fn numbers(count: u64, seed: u64) -> Vec<f32> {
    let next = |i: u64| (i.wrapping_add(seed)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    (1..=count).map(|i| next(i) as f32 / (1_u64 << 23) as f32 - 1.0).collect()
}

/// A folder with the arrays of a convolution.
struct Arrays {
    folder: TempDir,
    conv: Conv,
    input: Vec<f32>,
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Arrays {
    fn of(key: &str) -> Self {
        let conv: Conv = key.parse().expect("a key");
        let (input, weights) = (numbers(conv.input_elements(), 1), numbers(conv.weight_elements(), 2));
        let arrays = Self { folder: tempfile::tempdir().expect("a folder"), conv, input, weights, bias: numbers(conv.channels_out(), 3) };
        arrays.write("x.npy", &conv.input_shape(), Order::C, &arrays.input);
        arrays.write("w.npy", &conv.weight_shape(), Order::C, &arrays.weights);
        arrays.write("b.npy", &[conv.channels_out()], Order::C, &arrays.bias);
        arrays
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write<T: AutoSerialize + Copy>(&self, name: &str, shape: &[u64], order: Order, values: &[T]) {
        let file = File::create(self.path(name)).expect("created");
        let mut writer = npyz::WriteOptions::new().default_dtype().order(order).shape(shape).writer(file).begin_nd().expect("begun");
        writer.extend(values.iter().copied()).expect("written");
        writer.finish().expect("finished");
    }

    /// The command in the folder; a later option replaces none of these.
    fn exec(&self, algorithm: &str, input: &str, more: &[&str]) -> Command {
        let mut command = convledger(&["exec", &self.conv.to_string(), "--algorithm", algorithm]);
        command.current_dir(self.folder.path()).args(["--input", input, "--weights", "w.npy", "--output", "y.npy"]).args(more);
        if let Some(device) = crate::device() {
            command.args(["--device", &device]);
        }
        command
    }

    /// Runs it and holds the output against the reference.
    #[track_caller]
    fn check(&self, algorithm: &str, bias: bool) {
        let ended = Ended::good(self.exec(algorithm, "x.npy", if bias { &["--bias", "b.npy"] } else { &[] }));
        assert!(ended.stdout.is_empty() && ended.stderr.contains(algorithm), "{}", ended.stderr);
        assert!(ended.stderr.contains("relative L2 error ") && ended.stderr.contains(" at all outputs; "), "{}", ended.stderr);
        let npy = NpyFile::new(File::open(self.path("y.npy")).expect("the output")).expect("a .npy file");
        assert_eq!((npy.shape(), npy.order()), (&self.conv.output_shape()[..], Order::C));
        let output: Vec<f32> = npy.into_vec().expect("float32");
        let expected = reference::whole(&self.conv, &self.input, &self.weights);
        assert_eq!(output.len(), expected.len());
        let plane = usize::try_from(self.conv.output_points()).expect("small");
        for (i, (&out, &sum)) in output.iter().zip(&expected).enumerate() {
            let wanted = sum + if bias { f64::from(self.bias[i / plane % self.bias.len()]) } else { 0.0 };
            assert!((f64::from(out) - wanted).abs() < 1e-4, "{} {algorithm}: output {i} is {out}, not {wanted}", self.conv);
        }
        self.nothing_left_behind();
    }

    /// What the command says about wrong arrays or options; no output is left behind.
    #[track_caller]
    fn refused(&self, command: Command) -> String {
        let line = Ended::error(command);
        assert!(!self.path("y.npy").exists(), "{line}");
        self.nothing_left_behind();
        line
    }

    #[track_caller]
    fn nothing_left_behind(&self) {
        let names = fs::read_dir(self.folder.path()).expect("read").map(|entry| entry.expect("entry").file_name());
        let partial: Vec<_> = names.filter(|name| name.to_string_lossy().contains("partial")).collect();
        assert!(partial.is_empty(), "{partial:?}");
    }
}

#[test]
fn two_dimensions_with_and_without_bias() {
    let arrays = Arrays::of("n2c4h9w7_k6r3s3_p1");
    for algorithm in ["direct", "im2col:image", "winograd_f2:batch"] {
        arrays.check(algorithm, false);
    }
    arrays.check("im2col:strip=2", true);
}

/// Halves and bytes go in and come out in `NumPy`'s types of that name; of bytes come 32-bit integers, all their digits right.
#[test]
fn other_element_types() {
    let mut arrays = Arrays::of("n2c5h7w5_k3r3s3_p1");
    let (input, weights) = (arrays.conv.input_shape(), arrays.conv.weight_shape());
    let halves = |values: &[f32]| values.iter().map(|&x| half::f16::from_f32(x)).collect::<Vec<_>>();
    let (x, w) = (halves(&arrays.input), halves(&arrays.weights));
    arrays.write("x16.npy", &input, Order::C, &x);
    arrays.write("w.npy", &weights, Order::C, &w);
    let ended = Ended::good(arrays.exec("im2col", "x16.npy", &["--dtype", "f16"]));
    assert!(ended.stderr.contains(" is usual for random data"), "{}", ended.stderr);
    let found = NpyFile::new(File::open(arrays.path("y.npy")).expect("the output")).expect("a .npy file");
    let back = |values: &[half::f16]| values.iter().map(|x| x.to_f32()).collect::<Vec<f32>>();
    let expected = reference::whole(&arrays.conv, &back(&x), &back(&w));
    for (found, wanted) in found.into_vec::<half::f16>().expect("float16").iter().zip(&expected) {
        assert!((found.to_f64() - wanted).abs() < 4e-3, "{found}, not {wanted}");
    }
    fs::remove_file(arrays.path("y.npy")).expect("removed");
    let told = arrays.refused(arrays.exec("direct", "x.npy", &["--dtype", "f16"]));
    assert_eq!(told, "convledger: --input x.npy: holds '<f4', needs float16");

    #[expect(clippy::cast_possible_truncation, reason = "what does not fit takes the nearest end")]
    let bytes = |values: &[f32]| values.iter().map(|&x| (x * 128.0) as i8).collect::<Vec<_>>();
    let (x, w) = (bytes(&arrays.input), bytes(&arrays.weights));
    arrays.write("x8.npy", &input, Order::C, &x);
    arrays.write("w.npy", &weights, Order::C, &w);
    (arrays.input, arrays.weights) = (x.iter().map(|&x| f32::from(x)).collect(), w.iter().map(|&x| f32::from(x)).collect());
    for algorithm in ["direct", "im2col:strip=2", "implicit_gemm"] {
        let ended = Ended::good(arrays.exec(algorithm, "x8.npy", &["--dtype", "i8"]));
        assert!(ended.stderr.contains("relative L2 error 0.0e0 at all outputs; integers are exact"), "{}", ended.stderr);
        let expected = reference::whole(&arrays.conv, &arrays.input, &arrays.weights);
        let found = NpyFile::new(File::open(arrays.path("y.npy")).expect("the output")).expect("a .npy file");
        let found: Vec<f64> = found.into_vec::<i32>().expect("int32").into_iter().map(f64::from).collect();
        assert_eq!(found, expected, "{algorithm}");
    }
    fs::remove_file(arrays.path("y.npy")).expect("removed");
    let told = arrays.refused(arrays.exec("direct", "x8.npy", &["--dtype", "i8", "--bias", "b.npy"]));
    assert_eq!(told, "convledger: --bias has no part in --dtype i8");
}

/// A pass of a convolution: the arrays it reads are made up, and what it writes is held against the reference.
#[track_caller]
fn check_pass(key: &str, pass: Pass, layout: &str, algorithm: &str) {
    let arrays = Arrays::of("n1c1h1w1_k1r1s1");
    let conv = key.parse::<Conv>().expect(key).with_pass(pass);
    let values = conv.operands().map(|tensor| numbers(conv.elements(tensor), 7));
    let mut command = convledger(&["exec", key, "--pass", &pass.to_string(), "--layout", layout, "--algorithm", algorithm]);
    command.current_dir(arrays.folder.path());
    if let Some(device) = crate::device() {
        command.args(["--device", &device]);
    }
    for (tensor, values) in conv.operands().into_iter().zip(&values) {
        let name = format!("{}.npy", conv.tensor_name(tensor));
        arrays.write(&name, &conv.shape(tensor), Order::C, values);
        command.args([&format!("--{}", conv.tensor_name(tensor).replace('_', "-")), &name]);
    }
    command.args([&format!("--{}", conv.tensor_name(conv.result()).replace('_', "-")), "result.npy"]);
    let ended = Ended::good(command);
    assert!(conv.is_empty() || ended.stderr.contains(algorithm), "{}", ended.stderr);
    let npy = NpyFile::new(File::open(arrays.path("result.npy")).expect("the result")).expect("a .npy file");
    assert_eq!(npy.shape(), &conv.shape(conv.result())[..], "{key} {pass}");
    let found: Vec<f32> = npy.into_vec().expect("float32");
    let expected = reference::whole(&conv, &values[0], &values[1]);
    assert_eq!(found.len(), expected.len());
    for (i, (&found, &wanted)) in found.iter().zip(&expected).enumerate() {
        assert!((f64::from(found) - wanted).abs() < 1e-4, "{key} {pass} {algorithm}: element {i} is {found}, not {wanted}");
    }
}

#[test]
fn backward_passes_read_and_write_gradients() {
    for algorithm in ["direct", "im2col:image", "implicit_gemm"] {
        for pass in [Pass::BackwardData, Pass::BackwardWeights] {
            check_pass("n2c4h9w7_k6r3s3_s2_p1_g2", pass, "nchw", algorithm);
        }
    }
    check_pass("n2c4h9w7_k6r3s3_p1", Pass::BackwardData, "nchw", "winograd_f4:batch");
}

/// Arrays keep their channels second whatever the layout on the device.
#[test]
fn channels_come_last_on_the_device_alone() {
    for pass in Pass::ALL {
        check_pass("n2c4h9w7_k6r3s3_p1", pass, "nhwc", "im2col:batch");
    }
}

#[test]
fn transposed_convolutions() {
    for pass in Pass::ALL {
        check_pass("n2c6h5w7_k4r3s3_s2_p1_t1", pass, "nchw", "direct");
    }
    check_pass("n2c6h5w7_k4r3s3_s2_p1_t1", Pass::Forward, "nchw", "implicit_gemm");
}

/// The gradient of the weights over no images is zero, not empty; the padding of a transposed convolution can leave no output.
#[test]
fn nothing_to_sum() {
    check_pass("n0c1h10w10_k3r2s2", Pass::BackwardWeights, "nchw", "direct");
    check_pass("n0c1h10w10_k3r2s2", Pass::BackwardData, "nchw", "direct");
    for pass in Pass::ALL {
        check_pass("n3c6h4w4_k4r1s1_p2_t0", pass, "nchw", "direct");
    }
}

/// Each pass has arrays of its own.
#[test]
fn arrays_of_another_pass() {
    let arrays = Arrays::of("n1c2h4w4_k3r3s3");
    let told = [
        arrays.exec("direct", "x.npy", &["--pass", "backward_data"]),
        arrays.exec("direct", "x.npy", &["--output-gradient", "dy.npy"]),
        {
            let mut command = convledger(&["exec", "n1c2h4w4_k3r3s3", "--algorithm", "direct", "--pass", "backward_weights"]);
            command.current_dir(arrays.folder.path()).args(["--input", "x.npy", "--weight-gradient", "dw.npy"]);
            command
        },
        {
            let mut command = convledger(&["exec", "n1c2h4w4_k3r3s3", "--algorithm", "depthwise", "--pass", "backward_weights"]);
            command.current_dir(arrays.folder.path()).args([
                "--input",
                "x.npy",
                "--output-gradient",
                "x.npy",
                "--weight-gradient",
                "dw.npy",
            ]);
            command
        },
    ]
    .map(|command| arrays.refused(command));
    insta::assert_snapshot!(told.join("\n"), @r"
    convledger: --input has no part in --pass backward_data, which is about --input-gradient, --weights, --output-gradient
    convledger: --output-gradient has no part in --pass forward, which is about --input, --weights, --output
    convledger: --output-gradient is missing: --pass backward_weights reads it
    convledger: depthwise cannot compute n1c2h4w4_k3r3s3: depthwise does not compute the backward_weights pass
    ");
}

#[test]
fn one_dimension() {
    Arrays::of("n1c3w20_k4s5_s2_p2").check("im2col:batch", true);
}

#[test]
fn three_dimensions() {
    Arrays::of("n1c2d4h5w6_k3t3r2s3_p1x0x1").check("direct", false);
}

#[test]
fn groups() {
    Arrays::of("n1c6h5w5_k4r3s3_p0:1_g2").check("direct", true);
}

/// Without a variant the plain form of the method is taken, and named.
#[test]
fn an_algorithm_alone_means_its_plain_form() {
    let arrays = Arrays::of("n1c2h4w4_k2r3s3_p1");
    let ended = Ended::good(arrays.exec("im2col", "x.npy", &[]));
    assert!(ended.stderr.starts_with("im2col:batch on "), "{}", ended.stderr);
}

#[test]
fn a_batch_of_nothing_gives_an_empty_array() {
    let arrays = Arrays::of("n0c2h4w4_k3r3s3");
    Ended::good(arrays.exec("direct", "x.npy", &[]));
    let npy = NpyFile::new(File::open(arrays.path("y.npy")).expect("the output")).expect("a .npy file");
    assert_eq!(npy.shape(), [0, 3, 2, 2]);
    arrays.nothing_left_behind();
}

#[test]
fn arrays_that_do_not_fit() {
    let arrays = Arrays::of("n1c2h4w4_k3r3s3");
    let shape = [1, 2, 4, 4];
    arrays.write("double.npy", &shape, Order::C, &[0.5_f64; 32]);
    arrays.write("fortran.npy", &shape, Order::Fortran, &[0.5_f32; 32]);
    arrays.write("wide.npy", &[1, 2, 4, 5], Order::C, &[0.5_f32; 40]);
    arrays.write("flat.npy", &[32], Order::C, &[0.5_f32; 32]);
    fs::write(arrays.path("text.npy"), "hello").expect("written");
    fs::write(arrays.path("empty.npy"), "").expect("written");
    let whole = fs::read(arrays.path("x.npy")).expect("read");
    fs::write(arrays.path("cut.npy"), &whole[..whole.len() - 3]).expect("written");
    fs::write(arrays.path("header.npy"), [b"\x93NUMPY\x01\x00\x0c\x00{'descr': \n\n\n".as_slice(), &[0; 128]].concat()).expect("written");
    let names = ["double", "fortran", "wide", "flat", "text", "empty", "cut", "header", "missing"];
    let told: Vec<String> = names.iter().map(|name| arrays.refused(arrays.exec("direct", &format!("{name}.npy"), &[]))).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    convledger: --input double.npy: holds '<f8', needs float32
    convledger: --input fortran.npy: is in Fortran order, needs C order (numpy.ascontiguousarray)
    convledger: --input wide.npy: has shape [1, 2, 4, 5], needs [1, 2, 4, 4]
    convledger: --input flat.npy: has shape [32], needs [1, 2, 4, 4]
    convledger: --input text.npy: not a .npy file: magic not found for NPY file
    convledger: --input empty.npy: not a .npy file: magic not found for NPY file
    convledger: --input cut.npy: cannot read its elements: failed to fill whole buffer
    convledger: --input header.npy: not a .npy file: could not parse Python expression: syntax error:  --> 1:11
    convledger: --input missing.npy: No such file or directory (os error 2)
    ");
}

#[test]
fn weights_and_bias_are_checked_too() {
    let arrays = Arrays::of("n1c2h4w4_k3r3s3");
    let bias = arrays.refused(arrays.exec("direct", "x.npy", &["--bias", "x.npy"]));
    assert_eq!(bias, "convledger: --bias x.npy: has shape [1, 2, 4, 4], needs [3]");
    fs::rename(arrays.path("x.npy"), arrays.path("w.npy")).expect("moved");
    arrays.write("x.npy", &[1, 2, 4, 4], Order::C, &[0.5_f32; 32]);
    let weights = arrays.refused(arrays.exec("direct", "x.npy", &[]));
    assert_eq!(weights, "convledger: --weights w.npy: has shape [1, 2, 4, 4], needs [3, 2, 3, 3]");
}

#[test]
fn algorithms_that_are_none_or_cannot() {
    let arrays = Arrays::of("n1c2h4w4_k3r3s3_s2_p1");
    let algorithms = ["fft", "im2col:stripe", "im2col:strip=x", "im2col:strip=9", "direct:batch", "winograd_f2"];
    // Told before anything is read.
    let told: Vec<String> = algorithms.iter().map(|algorithm| arrays.refused(arrays.exec(algorithm, "missing.npy", &[]))).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    convledger: --algorithm 'fft': no algorithm 'fft', there are direct, direct_tiled, depthwise, im2col, gemm_1x1, implicit_gemm, winograd_f2, winograd_f4, winograd_f6, winograd_f2_5, winograd_f4_5, winograd_1d_f4, winograd_1d_f4_5, winograd_1d_f2_7, winograd_f2_fused, winograd_f4_fused, mec, kn2row, implicit_precomp, indirect, fft_tiled
    convledger: im2col:stripe cannot compute n1c2h4w4_k3r3s3_s2_p1: 'stripe' is not a variant of im2col: known are strip=p, image, images=n, batch
    convledger: --algorithm 'im2col:strip=x': 'strip=x' is not a variant: write a word such as batch, or a word with a number such as strip=8
    convledger: im2col:strip=9 cannot compute n1c2h4w4_k3r3s3_s2_p1: strip=9 is not within 1 to the 2 output rows of an image
    convledger: direct:batch cannot compute n1c2h4w4_k3r3s3_s2_p1: 'batch' is not a variant of direct: it has none
    convledger: winograd_f2:batch cannot compute n1c2h4w4_k3r3s3_s2_p1: winograd_f2 is for stride 1, not 2x2
    ");
}

#[test]
fn convolutions_that_are_none() {
    let told = ["n1c2h4", "n1c2h4w4_k3r5s3"]
        .map(|key| Ended::error(convledger(&["exec", key, "--algorithm", "direct", "--input", "x", "--weights", "w", "--output", "y"])));
    insta::assert_snapshot!(told.join("\n"), @r"
    convledger: 'n1c2h4', character 7: expected 'w': the input's extents come as d, h, w
    convledger: 'n1c2h4w4_k3r5s3': kernel r spans 5 elements but h has only 4 with its padding
    ");
}

#[test]
fn devices_that_are_none_leave_nothing_behind() {
    let arrays = Arrays::of("n1c2h4w4_k3r3s3");
    let mut command = convledger(&["exec", "n1c2h4w4_k3r3s3", "--algorithm", "direct", "--input", "x.npy", "--weights", "w.npy"]);
    command.args(["--output", "y.npy", "--device", "99"]).current_dir(arrays.folder.path());
    let line = arrays.refused(command);
    assert!(line.starts_with("convledger: --device '99' is none of the adapters: 0 "), "{line}");
}

#[test]
fn places_that_cannot_be_written() {
    let arrays = Arrays::of("n1c2h4w4_k3r3s3");
    let told = [".", "..", "none/y.npy", "x.npy/y.npy"].map(|output| {
        let args = ["exec", "n1c2h4w4_k3r3s3", "--algorithm", "direct", "--input", "x.npy", "--weights", "w.npy", "--output", output];
        let mut command = convledger(&args);
        command.current_dir(arrays.folder.path());
        arrays.refused(command)
    });
    insta::assert_snapshot!(told.join("\n"), @r"
    convledger: --output .: is a directory
    convledger: --output ..: is a directory
    convledger: --output none/y.npy: No such file or directory (os error 2)
    convledger: --output x.npy/y.npy: Not a directory (os error 20)
    ");
}

/// A disk that fills up leaves neither half an output nor what it was to become.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_half_output() {
    let arrays = Arrays::of("n1c2h40w40_k8r3s3");
    let exec = arrays.exec("direct", "x.npy", &[]);
    let mut command = Command::new("bash");
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "bash"]).arg(exec.get_program()).args(exec.get_args());
    command.current_dir(arrays.folder.path()).env("MESA_SHADER_CACHE_DISABLE", "true");
    let ended = Ended::of(command);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().last(), Some("convledger: --output y.npy: File too large (os error 27)"));
    assert!(!arrays.path("y.npy").exists());
    arrays.nothing_left_behind();
}

/// A link keeps pointing where it did, a device stays a device.
#[cfg(target_os = "linux")]
#[test]
fn output_follows_links_and_leaves_special_files_alone() {
    let arrays = Arrays::of("n1c2h4w4_k3r3s3");
    fs::write(arrays.path("target.npy"), "old").expect("written");
    std::os::unix::fs::symlink("target.npy", arrays.path("y.npy")).expect("linked");
    arrays.check("direct", false);
    assert!(fs::symlink_metadata(arrays.path("y.npy")).expect("a link").is_symlink());
    assert!(fs::read(arrays.path("target.npy")).expect("the target").starts_with(b"\x93NUMPY"));
    fs::remove_file(arrays.path("y.npy")).expect("removed");
    std::os::unix::fs::symlink("/dev/full", arrays.path("y.npy")).expect("linked");
    let ended = Ended::of(arrays.exec("direct", "x.npy", &[]));
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.stderr.lines().last(), Some("convledger: --output y.npy: No space left on device (os error 28)"));
    assert!(!fs::metadata("/dev/full").expect("the device").is_file());
}
