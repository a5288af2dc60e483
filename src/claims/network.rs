//! A built-in suite as a network: its layers times their counts, also at another input size.
//!
//! A suite is a list, not a graph. But its layers' input sizes are those of the network at the size of the first layer's input, each a
//! whole fraction of it where strides divide; so at another size each layer's input is scaled by the same fraction. The sizes stay
//! consistent when every scaled input is whole and every layer's output scales with it, which is checked.

use crate::conv::{Axis, Conv, ConvSpec};
use crate::suite::{Layer, Suite};

/// The layers of the built-in suite `name` over `batch` images, at another height and width of the input where `size` says one.
///
/// # Errors
/// A text that names the suite, layer or size at fault.
pub(super) fn layers(name: &str, batch: u64, size: Option<u64>) -> Result<Vec<Layer>, String> {
    let mut suite = Suite::builtin(name).map_err(|error| error.to_string())?;
    if let Some(size) = size {
        let base = suite.layers.first().map_or(0, |layer| layer.conv.axes_3d()[2].size);
        for layer in &mut suite.layers {
            layer.conv =
                resized(layer.conv, base, size).map_err(|problem| format!("{name} at {size}: layer '{}': {problem}", layer.name))?;
        }
    }
    Ok(suite.with_batch(batch).map_err(|error| error.to_string())?.layers)
}

fn resized(conv: Conv, base: u64, size: u64) -> Result<Conv, String> {
    let scaled = |extent: u64, what: &str| match extent.checked_mul(size) {
        Some(product) if product.is_multiple_of(base) => Ok(product / base),
        _ => Err(format!("{what} of {extent} at {base} is no whole number of points then")),
    };
    let axes = conv.axes().iter().map(|axis| Ok(Axis { size: scaled(axis.size, "an input")?, ..*axis }));
    let spec = ConvSpec { axes: axes.collect::<Result<_, String>>()?, ..conv.into() };
    let other = spec.build().map_err(|error| error.to_string())?;
    for (before, after) in conv.axes().iter().zip(other.axes()) {
        if scaled(before.output(), "an output")? != after.output() {
            return Err(format!("its output of {} does not scale with its input", before.output()));
        }
    }
    Ok(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_at_another_size_keeps_its_layers_joined() {
        let outputs = |size: Option<u64>| -> u64 {
            layers("resnet50", 1, size).expect("layers").iter().map(|layer| layer.conv.output_elements() * layer.count).sum()
        };
        assert_eq!(layers("resnet50", 1, None), layers("resnet50", 1, Some(224)));
        // Every feature map grows with the area.
        assert_eq!(outputs(Some(448)), 4 * outputs(None));
        assert_eq!(outputs(Some(256)) * 49, 64 * outputs(None));
        let last = layers("resnet50", 32, Some(384)).expect("layers").pop().expect("a layer");
        assert_eq!(last.conv.to_string(), "n32c512h12w12_k512r3s3_p1");
    }

    #[test]
    fn a_size_that_the_network_cannot_have_is_told() {
        let error = layers("resnet50", 1, Some(230)).expect_err("not whole");
        assert_eq!(error, "resnet50 at 230: layer 'layer1.0.conv1': an input of 56 at 224 is no whole number of points then");
        assert!(layers("resnet51", 1, None).expect_err("unknown").starts_with("no built-in suite and no file 'resnet51'"));
        assert!(layers("resnet50", 1, Some(0)).is_err() && layers("resnet50", 1, Some(u64::MAX)).is_err());
    }
}
