//! `convledger gallery`: a page of all runs in a folder, for people who look at the repository.

use super::compare::markdown::{code, plain, referenced, table};
use super::{Outcome, note, one_line, print};
use crate::analysis::{LayerRows, by_layer};
use crate::record::{Run, Status, slug};
use crate::report::{Report, Source, headline};
use anyhow::{Context, bail};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The page in the folder of runs.
const PAGE: &str = "GALLERY.md";
/// The folder of its pictures beside it.
const PICTURES: &str = "gallery";
/// How the page begins; what begins otherwise is somebody's own.
const HEAD: &str =
    "# Gallery\n\nWhat the runs in this folder show, the newest first. `convledger gallery` makes this page from their files.";
/// Layers of a run that are listed.
const LAYERS: usize = 12;

#[derive(clap::Args)]
#[command(after_help = "\
The page is Markdown, for the repository's own pages: GALLERY.md in the folder, with two charts of each run in gallery/ beside it. \
A folder in it that holds no run is left out; a run that cannot be read is listed with the reason.")]
pub(super) struct Args {
    /// Folder of runs
    #[arg(value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// A run in its folder.
struct Shown {
    folder: String,
    source: Source,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (mut runs, mut unread) = (Vec::new(), Vec::new());
    let entries = fs::read_dir(&args.results).with_context(|| format!("cannot read {}", args.results.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", args.results.display()))?.path();
        if !path.join("measurements.csv").exists() {
            continue;
        }
        let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match Source::read(&path) {
            Ok(source) => runs.push(Shown { folder, source }),
            Err(error) => unread.push((folder, one_line(&error.into()))),
        }
    }
    if runs.is_empty() && unread.is_empty() {
        bail!("{}: no folder in it holds a run", args.results.display());
    }
    // Folders begin with their date: the newest first.
    runs.sort_by(|a, b| b.folder.cmp(&a.folder));
    unread.sort();
    let pictures = args.results.join(PICTURES);
    let write = |path: &Path, content: &str| fs::write(path, content).with_context(|| format!("cannot write {}", path.display()));
    fs::create_dir_all(&pictures).with_context(|| format!("cannot create {}", pictures.display()))?;
    let mut page = HEAD.to_owned() + "\n\n";
    page += &overview(&runs);
    for shown in &runs {
        page += &section(shown);
        for (name, svg) in charts(&shown.source)? {
            let file = format!("{}-{name}.svg", slug(&shown.folder));
            write(&pictures.join(&file), &svg)?;
            let _ = write!(page, "![{name}]({PICTURES}/{file})\n\n");
        }
    }
    let header = ["folder", "not read because"];
    page += &table(&header, &unread.iter().map(|(folder, why)| vec![code(folder), plain(why)]).collect::<Vec<_>>());
    let path = args.results.join(PAGE);
    if fs::read_to_string(&path).is_ok_and(|text| !text.starts_with(HEAD)) {
        bail!("{}: is not a page that this command made, and is not written over", path.display());
    }
    write(&path, &page)?;
    for (folder, why) in &unread {
        note(format!("{folder}: not read: {why}"));
    }
    print(&format!("{}\n", path.display()))?;
    Ok(if unread.is_empty() { Outcome::Good } else { Outcome::FellShort })
}

/// A folder as the target of a link in angle brackets.
fn link(folder: &str) -> String {
    let escaped = |c: char| matches!(c, '<' | '>' | '\\' | '|' | '%') || c.is_ascii_control();
    folder.chars().map(|c| if escaped(c) { format!("%{:02X}", u32::from(c)) } else { c.to_string() }).collect()
}

fn overview(runs: &[Shown]) -> String {
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|Shown { folder, source: Source { run, .. } }| {
            let device = &run.environment.device;
            let dash = || "-".to_owned();
            let peaks = run.environment.peaks.as_ref();
            vec![
                format!("[{}](<{}/>)", referenced(folder), link(folder)),
                code(&device.name),
                code(format!("{} {}", device.driver, device.driver_info).trim()),
                suites(run),
                format!("{} of {}", run.measurements.iter().filter(|row| row.status == Status::Ok).count(), run.measurements.len()),
                peaks.map_or_else(dash, |peaks| format!("{:.1} GFLOP/s", peaks.multiply_add_f32.gflops)),
                peaks.map_or_else(dash, |peaks| format!("{:.2} GB/s", peaks.memory_copy.bytes_per_second / 1e9)),
            ]
        })
        .collect();
    table(&["run", "device", "driver", "suites", ">cases verified", ">π, f32", ">β"], &rows)
}

fn suites(run: &Run) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in &run.measurements {
        if !names.contains(&row.case.suite.as_str()) {
            names.push(&row.case.suite);
        }
    }
    names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")
}

fn section(Shown { folder, source }: &Shown) -> String {
    let run = &source.run;
    let mut text = format!("## {}\n\n", referenced(folder));
    for sentence in headline(run) {
        let _ = write!(text, "{}\n\n", referenced(&sentence));
    }
    let layers = by_layer(&run.measurements);
    let rows: Vec<Vec<String>> = layers.iter().filter_map(row).take(LAYERS).collect();
    let more = layers.len().saturating_sub(rows.len());
    text += &table(&["layer", "convolution", "fastest", ">time", ">workspace", ">im2col's matrix", ">over `direct`"], &rows);
    if more > 0 {
        let _ = write!(text, "And {more} more: `convledger show` and `convledger report` tell of all.\n\n");
    }
    text
}

/// A layer of which a case was timed.
fn row(layer: &LayerRows<'_>) -> Option<Vec<String>> {
    let fastest = layer.fastest()?;
    let dash = || "-".to_owned();
    let direct = layer.timed().find(|case| case.row.case.algorithm == "direct");
    Some(vec![
        code(layer.layer()),
        code(&layer.conv().to_string()),
        code(&fastest.name()),
        fastest.time.to_string(),
        format!("{:#}", fastest.workspace),
        layer.im2col().map_or_else(dash, |columns| {
            let ratio = layer.blow_up().map_or_else(String::new, |ratio| format!(", {ratio:.1}×"));
            format!("{columns:#}{ratio}")
        }),
        direct.map_or_else(dash, |direct| format!("{:.1}×", direct.time.0 / fastest.time.0)),
    ])
}

/// What im2col makes of the inputs, and time against workspace for the layer with most timed cases: name and SVG.
fn charts(source: &Source) -> anyhow::Result<Vec<(String, String)>> {
    let report = Report::new(source);
    let layers = by_layer(&source.run.measurements);
    let timed = |layer: &LayerRows<'_>| layer.timed().count();
    let widest = (0..layers.len()).rev().max_by_key(|&at| timed(&layers[at])).unwrap_or_default();
    let of_layer = format!("layer-{:03}-", widest + 1);
    let charts = report.charts();
    let wanted = [
        charts.iter().find(|chart| chart.name == "im2col-blow-up"),
        charts.iter().find(|chart| chart.name.starts_with(&of_layer) && chart.name.ends_with("time-against-workspace")),
    ];
    wanted.into_iter().flatten().map(|chart| Ok((chart.name.clone(), chart.chart.to_svg()?))).collect()
}
