//! Convolutions from ONNX model files: real networks, single operators with expected results, and files that are no models.

mod build;
mod hostile;
mod made;
mod network;
#[path = "../common/onnx_cases.rs"]
mod onnx_cases;

use convledger::conv::Conv;
use convledger::suite::onnx::{self, InputShape, Model, ModelOptions};
use onnx_cases::{ConvCase, cases, data};

pub(crate) fn options(batch: Option<u64>, inputs: &[&str]) -> ModelOptions {
    ModelOptions { batch, inputs: inputs.iter().map(|i| i.parse::<InputShape>().expect(i)).collect() }
}

fn network(name: &str, options: &ModelOptions) -> Model {
    onnx::read(&data().join(name), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Keys and counts of a model's layers.
pub(crate) fn keys(model: &Model) -> Vec<(String, u64)> {
    model.suite.layers.iter().map(|l| (l.conv.to_string(), l.count)).collect()
}

fn nodes(model: &Model) -> u64 {
    model.suite.layers.iter().map(|l| l.count).sum()
}

#[test]
fn networks_have_all_their_convolutions() {
    // Node counts and shapes: the networks' papers, and the models' own value_info.
    for (file, count, some) in [
        (
            "light_resnet50.onnx",
            53,
            &["n1c3h224w224_k64r7s7_s2_p3", "n1c64h56w56_k64r3s3_p1", "n1c256h56w56_k512r1s1_s2", "n1c512h7w7_k2048r1s1"][..],
        ),
        ("light_squeezenet.onnx", 26, &["n1c3h224w224_k64r3s3_s2", "n1c16h55w55_k64r3s3_p1", "n1c512h13w13_k1000r1s1"]),
        ("light_shufflenet.onnx", 49, &["n1c3h224w224_k24r3s3_s2_p1", "n1c136h28w28_k136r3s3_p1_g136"]),
    ] {
        let model = network(file, &options(None, &[]));
        let keys: Vec<String> = keys(&model).into_iter().map(|(key, _)| key).collect();
        assert_eq!(nodes(&model), count, "{file}");
        assert_eq!(model.suite.name, file.trim_end_matches(".onnx"));
        assert!(model.skipped.is_empty(), "{file}: {:?}", model.skipped);
        for key in some {
            assert!(keys.iter().any(|k| k == key), "{file} has no {key}: {keys:?}");
        }
    }
}

#[test]
fn resnet50_has_the_layers_of_its_paper() {
    let model = network("light_resnet50.onnx", &options(None, &[]));
    // He et al. 2015, table 1: bottlenecks 3, 4, 6, 3. Here the 3x3 strides where the paper's first 1x1 does, so one of a
    // stage's 3x3 convolutions still sees the size before.
    let count = |key: &str| keys(&model).iter().find(|(k, _)| k == key).map(|&(_, count)| count);
    for (key, expected) in [
        ("n1c64h56w56_k64r3s3_p1", 3),
        ("n1c128h56w56_k128r3s3_s2_p1", 1),
        ("n1c128h28w28_k128r3s3_p1", 3),
        ("n1c256h14w14_k256r3s3_p1", 5),
        ("n1c512h7w7_k512r3s3_p1", 2),
        ("n1c256h14w14_k1024r1s1", 6),
        ("n1c1024h14w14_k256r1s1", 5),
    ] {
        assert_eq!(count(key), Some(expected), "{key}: {:?}", keys(&model));
    }
    let names: std::collections::HashSet<&str> = model.suite.layers.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names.len(), model.suite.layers.len(), "names are unique");
}

#[test]
fn a_batch_scales_every_convolution() {
    // ShuffleNet writes its batch into `Reshape` targets, so the batch cannot come from inference alone.
    for file in ["light_resnet50.onnx", "light_squeezenet.onnx", "light_shufflenet.onnx"] {
        let (one, eight) = (network(file, &options(None, &[])), network(file, &options(Some(8), &[])));
        let scaled: Vec<Conv> = one.suite.layers.iter().map(|l| l.conv.with_batch(8).expect("small")).collect();
        assert_eq!(eight.suite.layers.iter().map(|l| l.conv).collect::<Vec<_>>(), scaled, "{file}");
    }
}

#[test]
fn a_size_that_the_graph_cannot_take_is_refused() {
    // ShuffleNet's channel shuffles reshape to fixed sizes: 112x64x64 elements do not fit 4x28x56x56.
    let error = onnx::read(&data().join("light_shufflenet.onnx"), &options(None, &["1x3x256x256"])).expect_err("fixed sizes").to_string();
    assert!(error.ends_with(": 458752 elements do not reshape into 351232"), "{error}");
    // ResNet-50 has no such thing before its classifier.
    let model = network("light_resnet50.onnx", &options(None, &["1x3x256x256"]));
    assert_eq!((nodes(&model), model.suite.layers[2].conv.to_string()), (53, "n1c64h64w64_k64r3s3_p1".to_owned()));
}

const DYNAMIC: &str = "ch_ppocr_mobile_v2.0_cls_infer.onnx";

#[test]
fn a_dynamic_model_says_how_to_set_its_input() {
    let error = onnx::read(&data().join(DYNAMIC), &options(None, &[])).expect_err("open dimensions");
    let message = error.to_string();
    assert!(message.ends_with("set it with --input 1x3x224x224"), "{message}");
    assert!(message.contains(": shape of input 'x' of node ") && message.contains(" stays unknown: graph input 'x' is ["), "{message}");
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn an_input_shape_reaches_every_layer() {
    let model = network(DYNAMIC, &options(None, &["x=1x3x48x192"]));
    assert_eq!(nodes(&model), 53);
    assert!(model.skipped.is_empty(), "{:?}", model.skipped);
    assert_eq!(model.suite.layers[0].conv.to_string(), "n1c3h48w192_k8r3s3_s2_p1");
    assert!((500_000..590_000).contains(&model.parameters.0), "the file is 585,532 bytes: {:?}", model.parameters);
    // The batch by inference and by scaling are the same.
    let inferred = network(DYNAMIC, &options(None, &["8x3x48x192"]));
    let scaled = network(DYNAMIC, &options(Some(8), &["1x3x48x192"]));
    assert_eq!(keys(&inferred), keys(&scaled));
    // A fixed shape may be replaced as well.
    let small = network("light_squeezenet.onnx", &options(None, &["1x3x128x128"]));
    assert_eq!(small.suite.layers[0].conv.to_string(), "n1c3h128w128_k64r3s3_s2");
}

#[test]
fn input_flags_that_do_not_fit_are_refused() {
    for (shape, problem) in [("y=1x3x48x192", "there is no such input"), ("1x3x48", "3 dimensions for an input of 4")] {
        let error = onnx::read(&data().join(DYNAMIC), &options(None, &[shape])).expect_err(shape).to_string();
        assert!(error.contains(&format!("--input {shape}: {problem}; graph inputs are 'x' [")), "{error}");
    }
}

/// The definition of a grouped convolution, in f64.
fn convolve(case: &ConvCase) -> Vec<f64> {
    let conv = &case.conv;
    let size = |v: u64| usize::try_from(v).expect("small");
    let axes = conv.axes_3d();
    let (cg, kg) = (size(conv.group_channels_in()), size(conv.group_channels_out()));
    let mut output = Vec::new();
    for n in 0..size(conv.batch()) {
        for k in 0..size(conv.channels_out()) {
            for o in 0..axes[0].output() {
                for p in 0..axes[1].output() {
                    for q in 0..axes[2].output() {
                        let mut sum = case.bias.as_ref().map_or(0.0, |b| f64::from(b[k]));
                        for c in 0..cg {
                            for t in 0..axes[0].kernel {
                                for r in 0..axes[1].kernel {
                                    for s in 0..axes[2].kernel {
                                        let taps = [(o, t), (p, r), (q, s)];
                                        let places = taps.iter().zip(&axes).map(|(&(out, tap), axis)| {
                                            (out * axis.stride + tap * axis.dilation)
                                                .checked_sub(axis.pad_before)
                                                .filter(|&i| i < axis.size)
                                        });
                                        let Some(at) = places.collect::<Option<Vec<u64>>>() else { continue };
                                        let channel = n * size(conv.channels_in()) + k / kg * cg + c;
                                        let x = ((size(axes[0].size) * channel + size(at[0])) * size(axes[1].size) + size(at[1]))
                                            * size(axes[2].size);
                                        let w = ((size(axes[0].kernel) * (k * cg + c) + size(t)) * size(axes[1].kernel) + size(r))
                                            * size(axes[2].kernel);
                                        sum += f64::from(case.input[x + size(at[2])]) * f64::from(case.weights[w + size(s)]);
                                    }
                                }
                            }
                        }
                        output.push(sum);
                    }
                }
            }
        }
    }
    output
}

#[test]
fn stored_cases_compute_their_stored_outputs() {
    let cases = cases();
    assert_eq!(cases.len(), 26);
    for case in &cases {
        let computed = convolve(case);
        assert_eq!(computed.len(), case.output.len(), "{}", case.name);
        for (i, (computed, stored)) in computed.iter().zip(&case.output).enumerate() {
            assert!(
                (computed - f64::from(*stored)).abs() < 1e-5,
                "{} {}: element {i} is {computed}, stored {stored}",
                case.name,
                case.conv
            );
        }
    }
    let key = |name: &str| cases.iter().find(|c| c.name == name).expect(name).conv.to_string();
    assert_eq!(key("test_Conv1d_pad2"), "n2c4w10_k5s5_p2");
    assert_eq!(key("test_Conv2d_depthwise_with_multiplier"), "n2c4h6w6_k8r3s3_g4");
    assert_eq!(key("test_Conv2d_padding"), "n2c3h6w6_k4r3s3_s2_p1");
    assert_eq!(key("test_Conv3d_dilated_strided"), "n2c3d5h5w5_k4t2r2s2_s2_d2");
}
