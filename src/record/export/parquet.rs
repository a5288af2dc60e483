//! Rows as Apache Parquet: a flat schema of optional columns, `UTF8` texts, unsigned 64-bit integers, doubles and flags.

use crate::record::RecordError;
use crate::record::cell::{Kind, Value};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// A file in the making.
pub(super) struct File<W: Write + Send> {
    kinds: Vec<Kind>,
    writer: SerializedFileWriter<W>,
}

impl From<ParquetError> for RecordError {
    fn from(source: ParquetError) -> Self {
        Self::Parquet { source }
    }
}

/// A column: its physical type, and how to read it.
fn column(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()
}

impl<W: Write + Send> File<W> {
    pub(super) fn create(columns: &[(&str, Kind)], sink: W) -> Result<Self, RecordError> {
        let fields = columns.iter().map(|&(name, kind)| column(name, kind).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("row").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { kinds: columns.iter().map(|&(_, kind)| kind).collect(), writer })
    }

    /// A row group of these rows, each with a value for every column.
    pub(super) fn append(&mut self, rows: &[Vec<Value>]) -> Result<(), RecordError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut writer) = group.next_column()? {
            let cells = rows.iter().map(|row| &row[at]);
            match self.kinds[at] {
                Kind::Text => write::<ByteArrayType>(&mut writer, cells, |value| match value {
                    Value::Text(text) => Some(ByteArray::from(text.as_str())),
                    _ => None,
                }),
                Kind::Integer => write::<Int64Type>(&mut writer, cells, |value| match value {
                    Value::Integer(number) => Some(number.cast_signed()),
                    _ => None,
                }),
                Kind::Number => write::<DoubleType>(&mut writer, cells, |value| match value {
                    Value::Number(number) => Some(*number),
                    _ => None,
                }),
                Kind::Flag => write::<BoolType>(&mut writer, cells, |value| match value {
                    Value::Flag(flag) => Some(*flag),
                    _ => None,
                }),
            }?;
            writer.close()?;
            at += 1;
        }
        group.close()?;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), RecordError> {
        self.writer.close()?;
        Ok(())
    }
}

/// Writes the cells of a column; those without a value of its type are null.
fn write<'a, T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = &'a Value>,
    of: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let cells: Vec<Option<T::T>> = cells.map(of).collect();
    let present: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&present), None)?;
    Ok(())
}
