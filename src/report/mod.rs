//! The report: one self-contained HTML page of a run, from its records alone.
//!
//! The page needs no network and no file beside it: style, script and charts are in it, and a policy forbids the browser to fetch anything.
//! Every text of the run goes through the template engine's escaping or the charts' own. Without its script everything can still be read: charts
//! tell the exact values as native tooltips, tables keep the run's order.
//!
//! Adding a chart is a file in `charts/` and a line in `charts::OF_LAYER` or `charts::OF_RUN`.

mod charts;
mod context;
mod environment;
mod error;
mod headline;
mod name;
mod rows;
mod summary;
#[cfg(test)]
mod tests;

pub use charts::NamedChart;
pub use environment::facts;
pub use error::ReportError;
pub use headline::headline;

use crate::account::Filed;
use crate::analysis::{LayerRows, LedgerTotals, by_layer, ledger_totals};
use crate::chart::style_sheet;
use crate::claims;
use crate::record::{CaseKey, Run, StepRow, replace};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// Name of the page in a run's folder.
pub const FILE: &str = "report.html";

static ENGINE: LazyLock<Result<Environment<'static>, minijinja::Error>> = LazyLock::new(|| {
    let mut engine = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    engine.set_syntax(syntax);
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    // Whatever a template is named.
    engine.set_auto_escape_callback(|_| AutoEscape::Html);
    engine.add_template("page", include_str!("page/page.html"))?;
    Ok(engine)
});

/// A run with what there is beside it, ready to be told.
pub struct Report<'a> {
    run: &'a Run,
    claims: &'a [claims::Row],
    account: Option<&'a Filed>,
    layers: Vec<LayerRows<'a>>,
    steps: HashMap<&'a CaseKey, Vec<&'a StepRow>>,
    ledgers: HashMap<&'a CaseKey, LedgerTotals>,
}

/// What a folder holds: the run, the claims that were held against it, and the account of its largest case.
pub struct Source {
    /// The run.
    pub run: Run,
    /// The rows of `claims.csv`; none where the folder has none.
    pub claims: Vec<claims::Row>,
    /// `account.csv` and `runtime.csv`; none where the folder has none.
    pub account: Option<Filed>,
}

impl Source {
    /// Reads a run's folder; `steps.csv`, `samples.csv`, `claims.csv` and `account.csv` may be missing.
    ///
    /// # Errors
    /// [`ReportError`] as [`Run::read`], and for a `claims.csv` that is not what this version writes. An account that is not becomes a remark of the run.
    pub fn read(directory: &Path) -> Result<Self, ReportError> {
        let mut run = Run::read(directory)?;
        let path = directory.join(claims::FILE);
        let claims = if path.is_file() { claims::read(&path)? } else { Vec::new() };
        // The rows of the run are whole without it.
        let account = Filed::read(directory).unwrap_or_else(|error| {
            run.remarks.push(format!("no account: {error}"));
            None
        });
        Ok(Self { run, claims, account })
    }
}

impl<'a> Report<'a> {
    /// The report of what a folder holds.
    pub fn new(source: &'a Source) -> Self {
        let run = &source.run;
        let mut steps: HashMap<&CaseKey, Vec<&StepRow>> = HashMap::new();
        for step in &run.steps {
            steps.entry(&step.case).or_default().push(step);
        }
        Self {
            run,
            claims: &source.claims,
            account: source.account.as_ref(),
            layers: by_layer(&run.measurements),
            steps,
            ledgers: ledger_totals(&run.measurements, &run.ledger),
        }
    }

    /// The page.
    ///
    /// # Errors
    /// [`ReportError::Chart`] and [`ReportError::Template`] where the libraries refuse; no run is known that makes them.
    pub fn html(&self) -> Result<String, ReportError> {
        let engine = ENGINE.as_ref().map_err(|error| ReportError::Template(error.to_string()))?;
        let context = context! {
            style => Value::from_safe_string(include_str!("page/style.css").into()),
            script => Value::from_safe_string(include_str!("page/script.js").into()),
            light => Value::from_safe_string(style_sheet(false)),
            dark => Value::from_safe_string(style_sheet(true)),
            page => Value::from(Serde(context::Page::of(self)?)),
        };
        let page = engine.get_template("page").and_then(|template| template.render(context));
        page.map_err(|error| ReportError::Template(format!("{error:#}")))
    }

    /// Every chart with a name that is good for a file: those of the run, then those of each layer.
    pub fn charts(&self) -> Vec<NamedChart> {
        charts::all(self)
    }
}

/// Writes the page of what a folder holds to a file, whole or not at all.
///
/// # Errors
/// [`ReportError`] as [`Report::html`], and where the file cannot be written.
pub fn write(source: &Source, path: &Path) -> Result<(), ReportError> {
    let page = Report::new(source).html()?;
    Ok(replace(path, page.as_bytes())?)
}

/// Writes every chart into a folder, which is made where it is missing: as SVG, as PNG or both. Returns how many charts there are.
///
/// # Errors
/// [`ReportError`] for a chart that cannot be drawn, and where a file cannot be written.
pub fn write_charts(source: &Source, into: &Path, formats: &[Format]) -> Result<usize, ReportError> {
    let charts = Report::new(source).charts();
    fs::create_dir_all(into).map_err(|source| ReportError::Io { action: "create", path: into.to_owned(), source })?;
    for NamedChart { name, chart } in &charts {
        for format in formats {
            let path = into.join(format!("{name}.{}", format.extension()));
            let content = match format {
                Format::Svg => chart.to_svg()?.into_bytes(),
                Format::Png => chart.to_png()?,
            };
            replace(&path, &content)?;
        }
    }
    Ok(charts.len())
}

/// A picture's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines and texts, for papers.
    Svg,
    /// Pixels.
    Png,
}

impl Format {
    /// How its files end.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}
