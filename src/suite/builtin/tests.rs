//! Figures that the built-in suites must add up to, from sources other than the suites.

use super::*;
use crate::conv::{Conv, ElementType, Pass};
use crate::suite::Layer;
use std::collections::HashSet;
use std::fs;

fn builtin(name: &str) -> Suite {
    Suite::builtin(name).expect(name)
}

#[test]
fn built_in_suites_are_sound() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/suite/data");
    let files: HashSet<String> =
        fs::read_dir(data).expect("data").map(|entry| entry.expect("entry").file_name().into_string().expect("name")).collect();
    assert_eq!(files, Suite::names().map(|name| format!("{name}.toml")).collect(), "files and registry");
    for name in Suite::names() {
        let suite = Suite::load(name).expect(name);
        assert_eq!(suite.name, name);
        assert!(!suite.description.is_empty(), "{name}");
        assert_eq!(Suite::parse(&suite.to_toml(), "other.toml").expect(name), suite);
        let mut names = HashSet::new();
        let mut convs = HashSet::new();
        for layer in &suite.layers {
            assert!(names.insert(&layer.name), "{name}: name {} twice", layer.name);
            assert!(convs.insert(layer.conv), "{name}: {} twice", layer.conv);
            assert_eq!((layer.conv.element(), layer.conv.pass()), (ElementType::F32, Pass::Forward), "{name}");
        }
    }
}

/// Layers, weights, weights with batch normalisation's two per channel, and multiply-adds, of the whole network.
fn totals(suite: &Suite) -> (u64, u64, u64, u64) {
    suite.layers.iter().fold((0, 0, 0, 0), |(layers, weights, trained, macs), Layer { conv, count, .. }| {
        let own = conv.weight_elements();
        (
            layers + count,
            weights + count * own,
            trained + count * (own + 2 * conv.channels_out()),
            macs + count * conv.output_elements() * conv.reduction(),
        )
    })
}

/// Published totals of torchvision's models (`num_params` and `GFLOPS`, multiply-adds in 10⁹, of their weights' pages), of
/// which the linear layers' weights, biases and multiply-adds are taken off: 512·1000, 2048·1000, 1280·1000 and VGG's
/// 25088·4096 + 4096·4096 + 4096·1000.
#[test]
fn networks_add_up_to_their_published_totals() {
    let linear = |pairs: &[(u64, u64)]| pairs.iter().fold((0, 0), |(params, macs), (i, o)| (params + i * o + o, macs + i * o));
    for (name, layers, weights, params, gmacs, pairs) in [
        ("resnet18", 20, 11_166_912, 11_689_512, "1.81", &[(512, 1000)][..]),
        ("resnet50", 53, 23_454_912, 25_557_032, "4.09", &[(2048, 1000)]),
        ("mobilenet_v2", 52, 2_189_760, 3_504_872, "0.30", &[(1280, 1000)]),
        ("vgg16", 13, 14_710_464, 138_357_544, "15.47", &[(25_088, 4096), (4096, 4096), (4096, 1000)]),
    ] {
        let suite = builtin(name);
        let (own_layers, own_weights, with_norm, macs) = totals(&suite);
        let (linear_params, linear_macs) = linear(pairs);
        assert_eq!((own_layers, own_weights), (layers, weights), "{name}");
        // VGG has a bias to each output channel where the others have batch normalisation.
        let trained = if name == "vgg16" { own_weights + (with_norm - own_weights) / 2 } else { with_norm };
        assert_eq!(trained, params - linear_params, "{name}");
        assert_eq!(format!("{:.2}", (macs + linear_macs) as f64 / 1e9), gmacs, "{name}");
    }
    assert_eq!(totals(&builtin("resnet18")).3, 1_813_561_344);
    assert_eq!(totals(&builtin("resnet50")).3, 4_087_136_256);
    assert_eq!(totals(&builtin("mobilenet_v2")).3, 299_494_272);
    assert_eq!(totals(&builtin("vgg16")).3, 15_346_630_656);
}

#[test]
fn deepbench_has_every_entry_of_its_lists() {
    for (name, prefix, entries) in [("deepbench", "training", 94), ("deepbench_server", "server", 107), ("deepbench_device", "device", 16)]
    {
        let suite = builtin(name);
        assert_eq!(totals(&suite).0, entries, "{name}");
        assert!(suite.layers.iter().all(|l| l.name.starts_with(prefix)), "{name}");
    }
    // Width comes first in DeepBench: (700, 161, 1, 4, 32, 20, 5, 0, 0, 2, 2) is 161 high, its kernel 20 wide. oneDNN's
    // copy of the list agrees. (151, 40, 1, 1, 32, 20, 5, 8, 8, 8, 2) strides 8 along the width.
    let key = |suite: &str, layer: &str| builtin(suite).layers.iter().find(|l| l.name == layer).expect(layer).conv.to_string();
    assert_eq!(key("deepbench", "training_01_speech"), "n4c1h161w700_k32r5s20_s2");
    assert_eq!(key("deepbench_device", "device_01_speech"), "n1c1h40w151_k32r5s20_s2x8_p8");
    // The results in DeepBench's README name three of the list with their applications.
    for layer in ["n8c64h54w54_k64r3s3_p1", "n16c3h224w224_k64r3s3_p1", "n16c192h28w28_k32r5s5_p2"] {
        let suite = builtin("deepbench");
        let name = &suite.layers.iter().find(|l| l.conv.to_string() == layer).expect(layer).name;
        assert!(name.ends_with(if layer.contains("h54") { "face" } else { "vision" }), "{name}");
    }
}

#[test]
fn default_and_smoke_are_small() {
    let operations = |name| 2 * totals(&builtin(name)).3;
    assert_eq!(operations("default"), 231_211_008 + 236_027_904 + 102_760_448 + 8_128_512 + 32_514_048 + 32_757_760 + 86_704_128);
    assert!(operations("smoke") < 20_000_000, "{}", operations("smoke"));
    assert!(builtin("smoke").layers.len() <= 20);
    let ranks = |name| builtin(name).layers.iter().map(|l| l.conv.rank()).collect::<HashSet<_>>();
    assert_eq!((ranks("default"), ranks("smoke")), (HashSet::from([1, 2, 3]), HashSet::from([1, 2, 3])));
}

#[test]
fn smoke_has_every_edge_it_is_for() {
    type Edge = (&'static str, fn(&Conv) -> bool);
    let edges: [Edge; 15] = [
        ("empty batch", |c| c.batch() == 0),
        ("batch 3", |c| c.batch() == 3),
        ("one pixel", |c| c.input_points() == 1 && c.output_points() == 1),
        ("1x1 kernel", |c| c.taps() == 1 && c.output_points() > 1),
        ("kernel as large as the input", |c| c.axes().iter().all(|a| a.kernel > 1 && a.kernel == a.size && a.output() == 1)),
        ("kernel past the input", |c| c.axes().iter().all(|a| a.kernel > a.size)),
        ("padding of whole kernels", |c| c.axes().iter().all(|a| a.pad_before > 2 * a.span())),
        ("asymmetric padding", |c| c.axes().iter().any(|a| a.pad_before != a.pad_after)),
        ("stride past the kernel", |c| c.axes().iter().any(|a| a.stride > a.kernel)),
        ("strides differ", |c| c.axes().windows(2).any(|w| w[0].stride != w[1].stride)),
        ("dilation", |c| c.axes().iter().any(|a| a.dilation > 1)),
        ("groups", |c| c.groups() > 1 && c.group_channels_in() > 1),
        ("depthwise", |c| c.groups() == c.channels_in() && c.groups() > 1 && c.group_channels_out() == 1),
        ("depthwise with a multiplier", |c| c.groups() == c.channels_in() && c.groups() > 1 && c.group_channels_out() > 1),
        ("3x3 stride 1 with odd outputs", |c| {
            c.rank() == 2 && c.axes().iter().all(|a| (a.kernel, a.stride, a.dilation) == (3, 1, 1) && a.output() % 2 == 1 && a.output() > 4)
        }),
    ];
    let smoke = builtin("smoke");
    for (edge, has) in edges {
        assert!(smoke.layers.iter().any(|l| has(&l.conv)), "{edge}");
    }
    for divisor in [4, 8, 16] {
        let off = |n: u64| n > divisor && !n.is_multiple_of(divisor);
        let all_off = |c: &Conv| off(c.reduction()) && off(c.channels_out()) && off(c.output_points());
        assert!(smoke.layers.iter().any(|l| all_off(&l.conv)), "off multiples of {divisor}");
    }
}

/// The figures of the claims that a layer's sizes alone decide; where a claim is rounded or off, the exact value stands here.
#[test]
fn ledgers_have_the_sizes_the_claims_are_about() {
    let suite = builtin("ledgers");
    let bytes = |layer: &str, what: fn(&Conv) -> u64| 4 * what(&suite.layers.iter().find(|l| l.name == layer).expect(layer).conv);
    let columns = |c: &Conv| c.batch() * c.reduction() * c.output_points();
    for (claim, layer, what, expected) in [
        ("A01", "mobilenet_conv1", Conv::weight_elements as fn(&Conv) -> u64, 3_456),
        ("A02", "resnet_conv1", Conv::weight_elements, 37_632),
        ("A03", "conv1_63_channels", Conv::weight_elements, 37_044),
        ("A07", "resnet_conv1", Conv::output_elements, 64 * 112 * 112 * 4),
        ("A08", "resnet_conv1_batch32", Conv::output_elements, 32 * 64 * 112 * 112 * 4),
        ("A10", "layer_a", Conv::input_elements, 25_690_112),
        ("A11", "resnet_3x3_batch32", Conv::output_elements, 51_380_224),
        ("A12", "layer_a", Conv::weight_elements, 524_288),
        ("A13", "layer_b", Conv::weight_elements, 1_179_648),
        ("A14", "layer_a", Conv::output_elements, 51_380_224),
        ("A15", "layer_b", Conv::output_elements, 3_211_264),
        ("A17", "last_stage_224", Conv::output_elements, 12_845_056),
        ("A18", "last_stage_384", Conv::output_elements, 37_748_736),
        ("A24", "conv2d_64_128_3", Conv::weight_elements, 294_912),
        ("A25", "conv2d_128_256_1", Conv::weight_elements, 131_072),
        ("A26", "linear_1000", Conv::weight_elements, 4_000_000),
        ("B01", "vgg_conv1_1", Conv::weight_elements, 1_728 * 4),
        ("B02", "vgg_conv1_1", Conv::output_elements, 12_845_056),
        ("B04", "vgg_conv1_1", Conv::input_elements, 602_112),
        ("B06", "columns_64", columns, 115_605_504),
        ("B08", "columns_192", columns, 346_816_512),
        ("B12", "video_1_frame", Conv::output_elements, 64 * 112 * 112 * 4),
        ("B12", "video_30_frames", Conv::output_elements, 30 * 64 * 112 * 112 * 4),
    ] {
        assert_eq!(bytes(layer, what), expected, "{claim}");
    }
}
