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
    // A run's own files are not written over, nor is anything made of times that cannot be.
    let folder = tempfile::tempdir().expect("temporary folder");
    let copy = |name: &str| {
        let run = folder.path().join(name);
        fs::create_dir(&run).expect("created");
        for file in ["measurements.csv", "ledger.csv", "steps.csv", "environment.json"] {
            fs::copy(format!("{OTHER}/{file}"), run.join(file)).expect("copied");
        }
        run
    };
    let run = copy("run");
    let name = run.to_str().expect("UTF-8");
    let target = run.join("environment.json");
    let error = Ended::error(convledger(&["export", name, "--out", target.to_str().expect("UTF-8")]));
    assert!(error.ends_with("environment.json: is a file of a run, which is not written over"), "{error}");
    let ended = Ended::good(convledger(&["export", name, "--table", "samples"]));
    assert_eq!((ended.stdout.as_str(), ended.stderr), ("", format!("{name}: no rows of that table\n")));
    let rows = run.join("measurements.csv");
    let text = fs::read_to_string(&rows).expect("copied");
    fs::write(&rows, &text[..text.len() - 10]).expect("written");
    let ended = Ended::good(convledger(&["export", name]));
    assert_eq!(ended.stderr, format!("{name}: the last line of measurements.csv is not whole and is left out\n"));
    let (header, records) = csv_rows(OTHER, "measurements.csv");
    let at = header.iter().position(|column| column == "time_median_ns").expect("a column");
    let time = records.iter().map(|row| &row[at]).find(|time| !time.is_empty()).expect("a time");
    fs::write(&rows, text.replacen(time, "-5", 1)).expect("written");
    let error = Ended::error(convledger(&["export", name]));
    assert!(error.ends_with(": time_median_ns is -5e0, which is no time of a case"), "{error}");
}
