//! `convledger show`: a run's answers as tables and small plots, for people on ssh; needs no device. What is told is what the report tells.

mod layer;
mod plot;
mod whole;

use super::summary::{counts, layers_table};
use super::table::{clean, lines, lines_within};
use super::{Outcome, account, note, print};
use crate::account::Filed;
use crate::analysis::{LayerRows, by_layer};
use crate::record::{Cache, CaseKey, Run};
use crate::report::headline;
use anyhow::{Context, bail};
use globset::{Glob, GlobMatcher};
use std::io;
use std::path::PathBuf;

/// Columns where nobody says how many there are.
const WIDTH: usize = 80;
/// On a narrower screen lines are broken by the terminal.
const LEAST: usize = 40;
/// Plots are no wider.
const MOST: usize = 200;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of a run
    #[arg(value_name = "DIR")]
    run: PathBuf,

    /// Only layers whose name, or suite/name, matches, and all there is of them; may be given several times
    #[arg(long, value_name = "GLOB")]
    layer: Vec<String>,

    /// Only these parts, joined by commas
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    section: Vec<Section>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Section {
    /// The answers in words
    Headline,
    /// The fastest case of each layer, its time and workspace, and im2col's blow-up
    Layers,
    /// What a limit on the workspace costs
    Limits,
    /// Time against workspace of each layer, with its Pareto front
    Pareto,
    /// Bytes by ledger
    Ledgers,
    /// Time by stage
    Stages,
    /// The results furthest from the reference
    Accuracy,
    /// Memory of the largest case, from predicted to resident, and by stage of its process
    Account,
    /// Cases that failed or did not run, with the reason
    Failed,
    /// Device, driver, host and settings
    Environment,
}

/// What the sections are made from.
struct Shown<'a> {
    run: &'a Run,
    /// The account of its largest case, where there is one.
    account: Option<Filed>,
    layers: Vec<LayerRows<'a>>,
    many_suites: bool,
    /// Whether layers were asked for by name: then nothing of them is left out.
    chosen: bool,
    /// Whether sections were asked for by name.
    asked: bool,
    /// Columns of plots.
    width: usize,
    /// Columns that tables must keep to, where there is a screen.
    screen: Option<usize>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut run = super::read_run(&args.run)?;
    if !args.layer.is_empty() {
        keep(&mut run, &args.layer).with_context(|| args.run.display().to_string())?;
    }
    let account = match Filed::read(&args.run) {
        Ok(None) if args.section.contains(&Section::Account) => {
            note("no account in this folder: `run` makes one at its end, unless --no-account");
            None
        }
        Err(error) if !args.section.contains(&Section::Account) => {
            note(format!("no account: {error}"));
            None
        }
        read => read?,
    };
    let layers = by_layer(&run.measurements);
    let many_suites = layers.iter().any(|layer| layer.suite() != layers[0].suite());
    let screen = screen().map(|columns| columns.max(LEAST));
    let width = screen.unwrap_or(WIDTH).min(MOST);
    let shown =
        Shown { run: &run, account, layers, many_suites, chosen: !args.layer.is_empty(), asked: !args.section.is_empty(), width, screen };
    let sections =
        <Section as clap::ValueEnum>::value_variants().iter().filter(|section| args.section.is_empty() || args.section.contains(section));
    let texts: Vec<String> = sections.map(|section| shown.section(*section)).filter(|text| !text.is_empty()).collect();
    print(&texts.join("\n"))?;
    Ok(Outcome::Good)
}

/// `COLUMNS`, or what the terminal says; nothing for a pipe.
fn screen() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns: &usize| columns > 0);
    named.or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into()))
}

/// Leaves the layers that match.
fn keep(run: &mut Run, globs: &[String]) -> anyhow::Result<()> {
    let compile = |glob: &String| -> anyhow::Result<GlobMatcher> {
        Ok(Glob::new(glob).with_context(|| format!("--layer '{glob}' is no pattern"))?.compile_matcher())
    };
    let globs = globs.iter().map(|glob| Ok((glob, compile(glob)?))).collect::<anyhow::Result<Vec<_>>>()?;
    let is =
        |matcher: &GlobMatcher, case: &CaseKey| matcher.is_match(&case.layer) || matcher.is_match(format!("{}/{}", case.suite, case.layer));
    if let Some((glob, _)) = globs.iter().find(|(_, matcher)| !run.measurements.iter().any(|row| is(matcher, &row.case))) {
        bail!("--layer '{glob}' matches no layer of the run");
    }
    let kept = |case: &CaseKey| globs.iter().any(|(_, matcher)| is(matcher, case));
    run.measurements.retain(|row| kept(&row.case));
    run.ledger.retain(|row| kept(&row.case));
    run.steps.retain(|row| kept(&row.case));
    run.samples.retain(|row| kept(&row.case));
    Ok(())
}

impl Shown<'_> {
    /// The section's text, with its heading; empty where the run has nothing for it.
    fn section(&self, section: Section) -> String {
        match section {
            Section::Headline => self.headline(),
            Section::Layers => self.fastest(),
            Section::Limits => self.limits(),
            Section::Pareto => self.each_layer("Time against workspace", Self::pareto),
            Section::Ledgers => self.each_layer("Bytes by ledger", Self::ledgers),
            Section::Stages => self.each_layer("Time by stage", Self::stages),
            Section::Accuracy => self.accuracy(),
            Section::Account => self.account.as_ref().map_or_else(String::new, |filed| heading("Memory") + &account::text(filed)),
            Section::Failed => self.failed(),
            Section::Environment => self.environment(),
        }
    }

    fn headline(&self) -> String {
        headline(self.run).iter().map(|sentence| wrapped(&clean(sentence), "- ", "  ", self.width)).collect()
    }

    fn fastest(&self) -> String {
        let table = layers_table(&self.run.measurements, self.many_suites, |layer| {
            let same = |rows: &&LayerRows<'_>| (rows.suite(), rows.layer()) == (layer.suite.as_str(), layer.layer.as_str());
            self.layers.iter().find(same).and_then(LayerRows::count).unwrap_or(1)
        });
        let table = if self.run.measurements.is_empty() { String::new() } else { lines_within(table, self.screen) };
        format!("{}{table}\n{}", heading("Layers"), counts(&self.run.measurements))
    }

    /// A part for each layer that has one, under one heading.
    fn each_layer(&self, title: &str, part: impl Fn(&Self, &LayerRows<'_>) -> Option<String>) -> String {
        let titled = |layer: &LayerRows<'_>| {
            let name = wrapped(&format!("{} ({})", self.name(layer), layer.conv()), "", "", self.width);
            Some(format!("{name}{}", part(self, layer)?))
        };
        let parts: Vec<String> = self.layers.iter().filter_map(titled).collect();
        if parts.is_empty() { String::new() } else { heading(title) + &parts.join("\n") }
    }

    fn name(&self, layer: &LayerRows<'_>) -> String {
        self.named(layer.suite(), layer.layer(), layer.cache())
    }

    fn named(&self, suite: &str, layer: &str, cache: Cache) -> String {
        let suite = if self.many_suites { format!("{suite}/") } else { String::new() };
        let cold = if cache == Cache::Cold { " (cold)" } else { "" };
        super::summary::shortened(&clean(&format!("{suite}{layer}{cold}")))
    }

    fn table(&self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
        let table = super::table::table(header, rows);
        if self.screen.is_some() { lines_within(table, self.screen) } else { lines(&table) }
    }
}

fn heading(title: &str) -> String {
    format!("{title}\n{}\n", "─".repeat(title.chars().count()))
}

/// A text on lines of at most `width` characters, the first begun with `first`, the others with `rest`. Words that are longer are cut.
fn wrapped(text: &str, first: &str, rest: &str, width: usize) -> String {
    let mut out = first.to_owned();
    let (mut column, indent) = (first.chars().count(), rest.chars().count());
    let most = width.saturating_sub(indent).max(1);
    let mut begun = false;
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for (at, piece) in letters.chunks(most).enumerate() {
            let gap = usize::from(begun && at == 0);
            if begun && column + gap + piece.len() > width {
                out = format!("{out}\n{rest}");
                column = indent;
            } else if gap == 1 {
                out.push(' ');
                column += 1;
            }
            out.extend(piece);
            column += piece.len();
            begun = true;
        }
    }
    out + "\n"
}
