//! Values on the host have their channels second; on the device they lie as the convolution's layout says.

use crate::conv::{Conv, Layout, Tensor, Values};
use std::borrow::Cow;

/// Channels and points of an image of a feature map that lies point by point on the device.
fn channels_last(conv: &Conv, tensor: Tensor) -> Option<(usize, usize)> {
    let size = |x: u64| usize::try_from(x).unwrap_or(usize::MAX);
    match (conv.layout(), tensor) {
        (Layout::Nchw, _) | (_, Tensor::Weights) => None,
        (Layout::Nhwc, Tensor::Input) => Some((size(conv.channels_in()), size(conv.input_points()))),
        (Layout::Nhwc, Tensor::Output) => Some((size(conv.channels_out()), size(conv.output_points()))),
    }
}

/// `rows` by `columns` matrices, transposed one by one.
fn transposed<T: Copy>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    let matrices = values.chunks_exact((rows * columns).max(1));
    matrices.flat_map(|matrix| (0..columns).flat_map(move |column| (0..rows).map(move |row| matrix[row * columns + column]))).collect()
}

/// The values of a tensor in the order in which they lie on the device.
pub fn on_device<'v>(conv: &Conv, tensor: Tensor, values: &'v [f32]) -> Cow<'v, [f32]> {
    match channels_last(conv, tensor) {
        None => Cow::Borrowed(values),
        Some((channels, points)) => Cow::Owned(transposed(values, channels, points)),
    }
}

/// The values of the result as they came from the device, in the host's order.
pub fn on_host(conv: &Conv, values: Values) -> Values {
    match channels_last(conv, conv.result()) {
        None => values,
        Some((channels, points)) => match values {
            Values::F32(values) => transposed(&values, points, channels).into(),
            Values::I32(values) => transposed(&values, points, channels).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_change_places_with_points() {
        let conv: Conv = "n2c2h1w3_k2r1s1".parse().expect("key");
        let values: Vec<f32> = (0_u8..12).map(f32::from).collect();
        assert_eq!(on_device(&conv, Tensor::Input, &values), values);
        let last = conv.with_layout(Layout::Nhwc);
        let stored = on_device(&last, Tensor::Input, &values).into_owned();
        assert_eq!(stored, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0, 6.0, 9.0, 7.0, 10.0, 8.0, 11.0]);
        assert_eq!(on_device(&last, Tensor::Weights, &values), values);
        // Input and output have the same shape here.
        assert_eq!(on_host(&last, stored.into()), values.into());
    }
}
