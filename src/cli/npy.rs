//! Arrays in .npy files, in the `NumPy` type that an element type is.

use crate::conv::{ElementType, Values};
use anyhow::{Context, anyhow, bail};
use half::f16;
use npyz::{AutoSerialize, DType, NpyFile, Order, TypeChar, WriterBuilder};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// What `NumPy` calls a type.
fn name(element: ElementType) -> &'static str {
    match element {
        ElementType::F32 => "float32",
        ElementType::F16 => "float16",
        ElementType::I8 => "int8",
        ElementType::I32 => "int32",
        ElementType::U32 => "uint32",
    }
}

/// Writes values as an array of a type that holds them.
pub(super) fn write(file: &File, shape: &[u64], element: ElementType, values: &Values) -> std::io::Result<()> {
    match values {
        Values::F32(values) if element == ElementType::F16 => write_all(file, shape, values.iter().map(|&x| f16::from_f32(x))),
        Values::F32(values) => write_all(file, shape, values.iter().copied()),
        Values::I32(values) => write_all(file, shape, values.iter().copied()),
    }
}

fn write_all<T: AutoSerialize>(file: &File, shape: &[u64], values: impl Iterator<Item = T>) -> std::io::Result<()> {
    let mut sink = BufWriter::new(file);
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut sink).begin_nd()?;
    writer.extend(values)?;
    writer.finish()?;
    sink.flush()
}

/// An array whose type, order and shape are exactly what is needed.
pub(super) fn read(path: &Path, flag: &str, shape: &[u64], element: ElementType) -> anyhow::Result<Vec<f32>> {
    let place = || format!("{flag} {}", path.display());
    let file = File::open(path).with_context(place)?;
    // A header that cannot be parsed is drawn over several lines; the first one says where.
    let not_npy = |error: std::io::Error| anyhow!("not a .npy file: {}", error.to_string().lines().next().unwrap_or_default());
    let npy = NpyFile::new(BufReader::new(file)).map_err(not_npy).with_context(place)?;
    let kind = if matches!(element, ElementType::F32 | ElementType::F16) { TypeChar::Float } else { TypeChar::Int };
    let fits = matches!(npy.dtype(), DType::Plain(ref t) if t.type_char() == kind && t.size_field() == element.bytes());
    let problem = if !fits {
        format!("holds {}, needs {}", npy.dtype().descr(), name(element))
    } else if npy.shape() != shape {
        format!("has shape {:?}, needs {shape:?}", npy.shape())
    } else if npy.order() != Order::C && shape.iter().filter(|&&n| n > 1).count() > 1 {
        "is in Fortran order, needs C order (numpy.ascontiguousarray)".to_owned()
    } else {
        let values = match element {
            ElementType::F16 => npy.into_vec::<f16>().map(|values| values.into_iter().map(f16::to_f32).collect()),
            ElementType::I8 => npy.into_vec::<i8>().map(|values| values.into_iter().map(f32::from).collect()),
            _ => npy.into_vec::<f32>(),
        };
        return values.with_context(|| format!("{}: cannot read its elements", place()));
    };
    bail!("{}: {problem}", place())
}
