//! Closed forms of layers and totals of networks: laws that hold for any of them, and figures that are known.

use super::*;
use crate::conv::ElementType;
use crate::conv::tests::any_conv;
use crate::suite::{Feature, Layer, MAX_STEPS, Network, Suite, Topology};
use proptest::collection::vec;
use proptest::prelude::*;
use std::num::NonZeroUsize;

fn suite(layers: impl IntoIterator<Item = (Conv, u64)>) -> Suite {
    let layers = layers.into_iter().enumerate().map(|(i, (conv, count))| Layer { name: format!("layer{i}"), conv, count });
    Suite { name: "mine".into(), description: String::new(), layers: layers.collect() }
}

fn builtin(name: &str) -> Network {
    Suite::builtin(name).expect(name).network().expect(name)
}

fn chain(sizes: &[u64]) -> Network {
    let features = sizes.iter().enumerate().map(|(made, &elements)| Feature { elements, made, last: made + 1 }).collect();
    let topology = Topology::Chain { joints: 0, doubt: None };
    let steps = vec![None; sizes.len() - 1];
    Network { name: "chain".into(), topology, parameters: 0, buffers: 0, steps, features, unknown: 0 }
}

fn every(steps: usize) -> NonZeroUsize {
    NonZeroUsize::new(steps).expect("at least 1")
}

fn adam(precision: Precision) -> Training {
    Training { optimizer: Optimizer::Adam, precision, checkpoints: None }
}

fn bytes(lines: &[Line], role: Role) -> Option<u64> {
    lines.iter().find(|line| line.role == role).map(|line| line.bytes.0)
}

/// Convolutions in a row, whose outputs are seldom the next one's inputs, with small counts.
fn any_suite() -> impl Strategy<Value = Suite> {
    vec((any_conv(), 1_u64..4), 1..6).prop_map(suite)
}

/// Tensors with any first and last use: more than chains have.
fn any_network() -> impl Strategy<Value = Network> {
    (1_usize..20).prop_flat_map(|steps| {
        let feature =
            (1_u64..1000, 0..=steps, 0..=steps + 1).prop_map(|(elements, a, b)| Feature { elements, made: a.min(b), last: a.max(b) });
        vec(feature, 1..40).prop_map(move |features| Network { steps: vec![None; steps], features, ..chain(&[1, 1]) })
    })
}

proptest! {
    #[test]
    fn padding_only_adds_operations(conv in any_conv()) {
        let (all, inside) = (operations(&conv), operations_without_padding(&conv));
        prop_assert!(inside <= all);
        if conv.axes_3d().iter().all(|a| a.pad_before + a.pad_after == 0) {
            prop_assert_eq!(inside, all);
        }
    }

    #[test]
    fn what_lives_is_the_most_of_a_step_in_a_chain(sizes in vec(1_u64..1_000_000, 2..40)) {
        let network = chain(&sizes);
        let steps = sizes.windows(2).map(|pair| u128::from(pair[0] + pair[1]));
        prop_assert_eq!(peak(&network), steps.clone().max().expect("a step"));
        prop_assert_eq!(kept(&network), sizes.iter().map(|&size| u128::from(size)).sum::<u128>());
        prop_assert_eq!(peak_of_gradients(&network), steps.skip(1).max().unwrap_or(0).max(sizes[1].into()));
    }

    #[test]
    fn what_lives_is_part_of_what_there_is(network in any_network()) {
        let all = network.features.iter().map(|feature| u128::from(feature.elements)).sum::<u128>();
        prop_assert!(peak_of_gradients(&network) <= peak(&network) && peak(&network) <= all && kept(&network) <= all);
        // The definition, moment by moment.
        let alive = |moment: usize| network.features.iter().filter(|f| (f.made..=f.last).contains(&moment)).map(|f| u128::from(f.elements)).sum();
        prop_assert_eq!(peak(&network), (0..network.steps.len() + 2).map(alive).max().expect("a moment"));
    }

    #[test]
    fn checkpoints_lie_between_nothing_and_everything(network in any_network(), k in 1_usize..25) {
        let some = checkpointed(&network, every(k)).expect("small");
        prop_assert!(some.elements() <= kept(&network));
        prop_assert!(best(&network).expect("small").elements() <= some.elements());
        // One segment has all but the network's inputs and outputs inside.
        let end = network.steps.len();
        let whole = checkpointed(&network, every(end + k)).expect("small");
        prop_assert_eq!(whole.elements(), kept(&network));
        let ends = network.features.iter().filter(|f| f.last > f.made && (f.made == 0 || f.last > end));
        prop_assert_eq!(whole.kept, ends.map(|f| u128::from(f.elements)).sum::<u128>());
        let none = checkpointed(&network, every(1)).expect("small");
        prop_assert_eq!((none.kept, none.segment, none.recomputed), (kept(&network), 0, Ops(0)));
    }

    #[test]
    fn equal_layers_are_as_the_closed_form_says(layers in 1_usize..400) {
        let network = chain(&vec![1; layers + 1]);
        let least = best(&network).expect("short");
        prop_assert_eq!(least.elements(), u128::from(of_equal_layers(u32::try_from(layers).expect("short"))));
        let k = every(layers.isqrt().max(1));
        prop_assert!(checkpointed(&network, k).expect("short").elements() <= least.elements() + 1, "the root is as good as the best");
    }

    #[test]
    fn totals_of_a_suite_follow_batch_and_counts(suite in any_suite(), times in 1_u64..4, precision in prop_oneof![Just(Precision::F32), Just(Precision::Mixed)]) {
        let network = suite.network().expect("short");
        let count: u64 = suite.layers.iter().map(|layer| layer.count).sum();
        prop_assert_eq!(network.steps.iter().flatten().count() as u64, count);
        prop_assert_eq!(forward(&network).expect("small").0, suite.layers.iter().map(|layer| operations(&layer.conv).0 * layer.count).sum::<u64>());
        let batches: Vec<u64> = suite.layers.iter().map(|layer| layer.conv.batch()).collect();
        let mut larger = suite.clone();
        for (layer, batch) in larger.layers.iter_mut().zip(batches) {
            layer.conv = layer.conv.with_batch(batch * times).expect("small");
        }
        let larger = larger.network().expect("short");
        let (one, many) = (training(&network, &adam(precision)).expect("small"), training(&larger, &adam(precision)).expect("small"));
        for (one, many) in one.iter().zip(&many) {
            let factor = if one.role.ledger() == Ledger::Activation { times } else { 1 };
            prop_assert_eq!(many.bytes.0, one.bytes.0 * factor, "{:?}", one.role);
        }
        let mut repeated = suite.clone();
        repeated.layers.iter_mut().for_each(|layer| layer.count *= times);
        prop_assert_eq!(repeated.network().expect("short").parameters, network.parameters * times);
    }
}

#[test]
fn known_layers() {
    let conv: Conv = "n1c3h224w224_k64r7s7_s2_p3".parse().expect("key");
    assert_eq!(parameters(&conv), Bytes(37_632));
    assert_eq!(activations(&conv), Bytes((3 * 224 * 224 + 64 * 112 * 112) * 4));
    assert_eq!(operations(&conv), Ops(2 * 64 * 112 * 112 * 147));
    let conv: Conv = "n1c1h2w2_k1r3s3_p1".parse().expect("key");
    assert_eq!((operations(&conv), operations_without_padding(&conv)), (Ops(72), Ops(32)));
}

/// By hand: 16 bytes a parameter with Adam in either precision, as Rajbhandari et al. 2020 (arXiv 1910.02054, section 3.1) count for mixed
/// precision.
#[test]
fn bytes_of_a_parameter() {
    use Optimizer::{Adagrad, Adam, Momentum, Sgd};
    let all = |optimizer, precision| parameter_bytes(optimizer, precision).iter().map(|(_, bytes)| bytes).sum::<u64>();
    for (optimizer, f32, mixed) in [(Sgd, 8, 8), (Momentum, 12, 12), (Adagrad, 12, 12), (Adam, 16, 16)] {
        assert_eq!((all(optimizer, Precision::F32), all(optimizer, Precision::Mixed)), (f32, mixed), "{optimizer:?}");
    }
    let without_gradients = parameter_bytes(Adam, Precision::F32).into_iter().filter(|(role, _)| *role != Role::Gradients);
    assert_eq!(without_gradients.map(|(_, bytes)| bytes).sum::<u64>(), 12);
    let mixed = parameter_bytes(Adam, Precision::Mixed);
    assert_eq!(mixed, [(Role::Weights, 2), (Role::MasterWeights, 4), (Role::Gradients, 2), (Role::OptimizerState, 8)]);
}

#[test]
fn networks_that_are_known() {
    // The convolutions of torchvision's models.
    assert_eq!(builtin("resnet50").parameters, 23_454_912);
    assert_eq!(builtin("resnet18").parameters, 11_166_912);
    let network = builtin("resnet50");
    assert_eq!(network.steps.iter().flatten().count(), 53);
    let lines = training(&network, &adam(Precision::F32)).expect("small");
    assert_eq!(lines.iter().filter(|line| line.role.ledger() == Ledger::Parameter).map(|line| line.bytes.0).sum::<u64>(), 16 * 23_454_912);
    let lines = inference(&network, ElementType::F16).expect("small");
    // The widest pair is at the second stage's entrance: 256 and 128 channels of 56 x 56.
    assert_eq!((bytes(&lines, Role::Weights), bytes(&lines, Role::Activations)), (Some(2 * 23_454_912), Some(2 * (256 + 128) * 56 * 56)));
}

#[test]
fn a_chain_joins_what_fits() {
    let conv = |key: &str| key.parse::<Conv>().expect(key);
    // 4 -> 8 channels twice: the second reads 4 again, so something stands between. 8 -> 4 follows without a joint.
    let network = suite([(conv("n1c4h8w8_k8r3s3_p1"), 2), (conv("n1c8h8w8_k4r3s3_p1"), 1)]).network().expect("short");
    assert_eq!(network.topology, Topology::Chain { joints: 1, doubt: None });
    let elements: Vec<u64> = network.features.iter().map(|feature| feature.elements / 64).collect();
    assert_eq!(elements, [4, 8, 4, 8, 4]);
    assert_eq!(network.steps.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true, true]);
    assert_eq!((peak(&network), kept(&network), network.parameters), (12 * 64, 28 * 64, 3 * 288));
    let two = checkpointed(&network, every(2)).expect("small");
    // Kept: the input, what the second and the fourth step make. The first and the third convolution run again.
    assert_eq!((two.kept, two.segment), (12 * 64, 8 * 64));
    let layer = operations(&conv("n1c4h8w8_k8r3s3_p1"));
    assert_eq!(two.recomputed, Ops(2 * layer.0));
}

#[test]
fn a_batch_of_nothing_fits_no_better() {
    let of = |batch| Suite::builtin("resnet50").and_then(|suite| suite.with_batch(batch)).and_then(|suite| suite.network()).expect("short");
    let (none, one) = (of(0), of(1));
    assert_eq!((none.topology, none.steps.len()), (Topology::Chain { joints: 28, doubt: None }, 81));
    assert_eq!((one.topology, one.steps.len()), (none.topology, 81));
    assert_eq!((peak(&none), kept(&none), none.parameters), (0, 0, one.parameters));
}

#[test]
fn lists_that_are_no_network_are_doubted() {
    let doubt = |keys: &[&str]| {
        let network = suite(keys.iter().map(|key| (key.parse().expect(key), 1))).network().expect("short");
        let Topology::Chain { doubt, .. } = network.topology else { panic!("{:?}", network.topology) };
        doubt
    };
    assert_eq!(doubt(&["n1c4h8w8_k8r1s1"]), None);
    assert_eq!(doubt(&["n1c4h8w8_k8r1s1", "n1c8h8w8_k4r1s1", "n1c8h8w8_k4r1s1"]), None);
    assert_eq!(doubt(&["n1c4h8w8_k8r1s1", "n1c4h8w8_k8r1s1"]), Some("no layer's output fits the next one's input"));
    assert_eq!(doubt(&["n1c4h8w8_k8r1s1", "n1c8w64_k8s1"]), Some("layers differ in their number of spatial axes"));
    // The elements are the same, the images are not.
    assert_eq!(doubt(&["n4c4h8w8_k8r1s1", "n2c16h8w8_k8r1s1"]), Some("layers differ in their batch"));
}

#[test]
fn a_skip_keeps_its_tensor_alive() {
    let mut network = chain(&[10, 1, 1, 1]);
    assert_eq!(peak(&network), 11);
    network.features[0].last = 3;
    assert_eq!(peak(&network), 12);
    assert_eq!(peak_of_gradients(&network), 2);
}

#[test]
fn what_cannot_be_counted_is_told() {
    let conv = |key: &str| key.parse::<Conv>().expect(key);
    let long = suite([(conv("n1c1w1_k1s1"), 1 << 40)]).network().expect_err("long").to_string();
    assert_eq!(long, "'mine' as a network has 1099511627776 layers, more than 32768");
    let joined = suite([(conv("n1c1w1_k2s1"), MAX_STEPS as u64)]).network().expect_err("long").to_string();
    assert_eq!(joined, "'mine' as a network has 65535 layers, more than 32768");
    let heavy = suite([(conv("n1c4294967295h1w1_k268435456r1s1"), 32)]).network().expect_err("heavy").to_string();
    assert_eq!(heavy, "'mine' as a network: its weights overflow 64 bits with those of layer 'layer0'");
    let mut network = chain(&[u64::MAX / 8, u64::MAX / 8]);
    assert!(inference(&network, ElementType::F16).is_ok());
    let told = inference(&network, ElementType::F32).and(training(&network, &adam(Precision::F32))).expect_err("large").to_string();
    assert_eq!(told, "'chain' as a network: bytes overflow 64 bits");
    network.steps = vec![Some(conv("n1c1073741824h16384w32768_k1r3s3_p1")); 4];
    assert_eq!(forward(&network).expect_err("many").to_string(), "'chain' as a network: operations overflow 64 bits");
    network.steps = vec![None; MAX_STEPS + 1];
    assert_eq!(
        best(&network).expect_err("long").to_string(),
        "'chain' as a network has 32769 layers, more than the 32768 that checkpoints are set among"
    );
}
