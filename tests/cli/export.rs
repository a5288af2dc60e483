//! `export`: the kept runs of the repository as JSON lines, Parquet and CSV.

use crate::{Ended, convledger};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::{self, File};

const RUN: &str = "results/2026-11-30-llvmpipe-llvm-15-0-6-256-bits";
const OTHER: &str = "results/2026-11-30-llvmpipe-llvm-15-0-6-256-bits-peers-1";

fn csv_rows(directory: &str, file: &str) -> (csv::StringRecord, Vec<csv::StringRecord>) {
    let mut reader = csv::Reader::from_path(format!("{directory}/{file}")).expect("kept with the repository");
    (reader.headers().expect("header").clone(), reader.records().collect::<Result<_, _>>().expect("rows"))
}

#[test]
fn json_lines_hold_what_the_csv_files_hold() {
    for table in ["measurements", "ledger", "steps", "samples"] {
        let text = Ended::good(convledger(&["export", RUN, "--table", table, "--format", "jsonl"])).stdout;
        let (header, rows) = csv_rows(RUN, &format!("{table}.csv"));
        assert_eq!(text.lines().count(), rows.len(), "{table}");
        for (line, row) in text.lines().zip(&rows) {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).expect(line);
            assert_eq!(object.len(), header.len());
            for (column, cell) in header.iter().zip(row) {
                match &object[column] {
                    serde_json::Value::Null => assert_eq!(cell, "", "{table} {column}"),
                    serde_json::Value::String(text) => assert_eq!(text, cell, "{table} {column}"),
                    serde_json::Value::Number(number) => assert_eq!(number.as_f64(), cell.parse().ok(), "{table} {column}"),
                    other => assert_eq!(other.to_string(), cell, "{table} {column}"),
                }
            }
        }
    }
}

#[test]
fn parquet_holds_the_rows_of_several_runs_with_types() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("all.parquet");
    let out = path.to_str().expect("UTF-8");
    let ended = Ended::good(convledger(&["export", RUN, OTHER, "--format", "parquet", "--out", out]));
    assert_eq!(ended.stdout, "");
    let reader = SerializedFileReader::new(File::open(&path).expect("written")).expect("Parquet");
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").collect::<Result<_, _>>().expect("rows");
    let expected = [RUN, OTHER].map(|run| csv_rows(run, "measurements.csv"));
    assert_eq!(reader.num_row_groups(), 2);
    assert_eq!(rows.len(), expected[0].1.len() + expected[1].1.len());
    let header = &expected[0].0;
    for (row, cells) in rows.iter().zip(expected.iter().flat_map(|(_, rows)| rows)) {
        for ((name, field), (column, cell)) in row.get_column_iter().zip(header.iter().zip(cells)) {
            assert_eq!(name, column);
            match field {
                Field::Null => assert_eq!(cell, "", "{column}"),
                Field::Str(text) => assert_eq!(text, cell, "{column}"),
                Field::ULong(number) => assert_eq!(number.to_string(), cell, "{column}"),
                Field::Double(number) => assert_eq!(Some(*number), cell.parse().ok(), "{column}"),
                other => panic!("{column}: {other:?}"),
            }
        }
    }
}

#[test]
fn csv_of_one_run_is_its_file() {
    let text = Ended::good(convledger(&["export", RUN, "--table", "steps", "--format", "csv"])).stdout;
    assert_eq!(text, fs::read_to_string(format!("{RUN}/steps.csv")).expect("kept with the repository"));
    // Of several, there is one header.
    let both = Ended::good(convledger(&["export", RUN, OTHER, "--table", "steps", "--format", "csv"])).stdout;
    assert_eq!(both.lines().filter(|line| line.starts_with("run_id,")).count(), 1);
}

#[test]
fn what_cannot_be_exported_is_told() {
    let error = Ended::error(convledger(&["export", "no/such/run"]));
    assert_eq!(error, "convledger: no/such/run holds no run: it has no measurements.csv");
    let error = Ended::error(convledger(&["export", RUN, "--out", "no/such/folder/rows.jsonl"]));
    assert!(error.starts_with("convledger: cannot write --out no/such/folder/rows.jsonl: "), "{error}");
}
