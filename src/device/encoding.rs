//! Values of the host as the bytes of a buffer's element type, and back.

use crate::conv::{ElementType, Values};
use half::f16;
use half::slice::HalfFloatSliceExt as _;
use std::borrow::Cow;

/// What stands in an integer result that nobody wrote: problems whose sums could be this are refused.
pub(super) const UNWRITTEN: i32 = i32::MIN;

/// The bytes of values, in the nearest values of a type; whole words, the last filled with zeros.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "values past a type's ends become its ends")]
pub(super) fn encode(element: ElementType, values: &[f32]) -> Cow<'_, [u8]> {
    let mut bytes: Vec<u8> = match element {
        ElementType::F32 => return Cow::Borrowed(bytemuck::cast_slice(values)),
        ElementType::F16 => {
            let mut halves = vec![f16::ZERO; values.len()];
            halves.convert_from_f32_slice(values);
            halves.iter().flat_map(|x| x.to_bits().to_ne_bytes()).collect()
        }
        ElementType::I8 => values.iter().map(|&x| (x as i8).cast_unsigned()).collect(),
        ElementType::I32 => values.iter().flat_map(|&x| (x as i32).to_ne_bytes()).collect(),
        ElementType::U32 => values.iter().flat_map(|&x| (x as u32).to_ne_bytes()).collect(),
    };
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    Cow::Owned(bytes)
}

/// No values yet, of those a buffer of a type holds.
pub(super) fn none_of(element: ElementType, capacity: usize) -> Values {
    match element {
        ElementType::F32 | ElementType::F16 => Values::F32(Vec::with_capacity(capacity)),
        ElementType::I8 | ElementType::I32 | ElementType::U32 => Values::I32(Vec::with_capacity(capacity)),
    }
}

/// Appends the values of bytes; those of u32 come as the i32 of the same bits.
pub(super) fn decode(element: ElementType, bytes: &[u8], values: &mut Values) {
    let halves = bytes.chunks_exact(2).map(|x| f16::from_ne_bytes([x[0], x[1]]));
    match values {
        Values::F32(values) if element == ElementType::F16 => values.extend(halves.map(f16::to_f32)),
        Values::F32(values) => values.extend(bytemuck::pod_collect_to_vec::<u8, f32>(bytes)),
        Values::I32(values) if element == ElementType::I8 => values.extend(bytes.iter().map(|&x| i32::from(x.cast_signed()))),
        Values::I32(values) => values.extend(bytemuck::pod_collect_to_vec::<u8, i32>(bytes)),
    }
}

/// What [`super::Loaded::poison`] fills a buffer of a type with: all bits set is a NaN in every float format, and of integers -1.
pub(super) fn poison(element: ElementType, bytes: usize) -> Vec<u8> {
    match element {
        ElementType::I32 => UNWRITTEN.to_ne_bytes().repeat(bytes / 4),
        _ => vec![0xFF; bytes],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_type_holds_comes_back_in_whole_words() {
        let there_and_back = |element, values: &[f32]| {
            let bytes = encode(element, values);
            assert!(bytes.len().is_multiple_of(4) && bytes.len() as u64 >= values.len() as u64 * element.bytes(), "{element}");
            let mut read = none_of(element, values.len());
            decode(element, &bytes, &mut read);
            (0..values.len()).map(|i| read.at(i)).collect::<Vec<f64>>()
        };
        for element in [ElementType::F32, ElementType::F16, ElementType::I8, ElementType::I32] {
            assert_eq!(there_and_back(element, &[1.0, -128.0, 127.0]), [1.0, -128.0, 127.0], "{element}");
        }
        // The nearest half, and past its end.
        assert_eq!(there_and_back(ElementType::F16, &[2049.0, 1e6]), [2048.0, f64::INFINITY]);
        assert_eq!(there_and_back(ElementType::I8, &[300.0, -300.0]), [127.0, -128.0]);
    }

    #[test]
    fn poison_is_nothing_right() {
        for element in [ElementType::F32, ElementType::F16, ElementType::I32] {
            let mut read = none_of(element, 2);
            decode(element, &poison(element, 8), &mut read);
            match read {
                Values::F32(values) => assert!(values.iter().all(|x| x.is_nan()), "{element}: {values:?}"),
                Values::I32(values) => assert_eq!(values, [UNWRITTEN; 2]),
            }
        }
    }
}
