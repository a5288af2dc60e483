//! `ledger --network` and `ledger --training`: totals of each suite or model as a network.

use super::Format;
use crate::cli::problems::{Files, Problems, Whole};
use crate::cli::table::{lines, table};
use crate::cli::{Outcome, print};
use crate::ledger::{Checkpointed, Ledger, Line, Optimizer, Precision, Training, best, checkpointed, forward, inference, training};
use crate::record::guarded;
use crate::suite::{Network, Topology};
use crate::units::{Bytes, Grouped, Ops};
use anyhow::bail;
use serde::Serialize;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// What totals to tell.
#[derive(clap::Args)]
#[command(next_help_heading = "Networks")]
pub(super) struct Totals {
    /// Totals of each suite or model as a network in inference, in place of the cases of its layers
    #[arg(long, long_help = NETWORK)]
    network: bool,

    /// The same of a training step with this optimizer
    #[arg(long, value_name = "OPTIMIZER", long_help = TRAINING)]
    training: Option<Rule>,

    /// Types in training; f32 where none is given
    #[arg(long, value_name = "PRECISION", requires = "training")]
    precision: Option<Types>,

    /// Keep feature maps only after every K layers, and make the others again; auto takes the K with the fewest bytes. K is at most
    /// the number of layers
    #[arg(long, value_name = "K|auto", requires = "training")]
    checkpoint: Option<Every>,
}

const NETWORK: &str = "\
Totals of each suite or model as a network in inference, in place of the cases of its layers: weights, and the most feature maps alive at \
once.

A suite is a list of convolutions, so it is taken as a chain: repeats follow each other, and where an output does not fit the next input, \
something unknown stands between and counts as a layer without operations (unknown_layers). Norms, activations, sums and skips are not in \
a list. A model is its graph: a layer is a node that depends on the input, every output is a tensor of its own, and parameters are the \
stored floating-point tensors, or what nodes make of them when the model is loaded.

In CSV and JSON, forward_flops and recomputed_flops are those of the convolutions only.";

const TRAINING: &str = "\
The same of a training step with this optimizer: weights, gradients, the optimizer's state; the feature maps kept for the backward pass, \
and the most of their gradients alive at once. The total of a model bounds a step's peak from above, without workspace and what operators \
save beside their outputs; that of a suite has the tensors of its convolutions only and bounds nothing.";

const CONVOLUTIONS_ONLY: &str =
    "convolutions only: norms, activations, sums and skips are not in a list of layers, so no total bounds a network's peak";

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Rule {
    /// Plain gradient descent: no state
    Sgd,
    /// One state tensor
    Momentum,
    /// Two
    Adam,
    /// One
    Adagrad,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Types {
    /// All in 4 bytes
    F32,
    /// Weights, gradients and feature maps in 2 bytes, master weights and state in 4
    Mixed,
}

/// Layers between checkpoints; `None` for the best number.
#[derive(Debug, Clone, Copy)]
struct Every(Option<NonZeroUsize>);

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self(None));
        }
        text.parse().map(|every| Self(Some(every))).map_err(|_| format!("'{text}' is neither a whole number from 1 nor auto"))
    }
}

/// A line of a network's totals.
#[derive(Clone, Serialize)]
struct Row {
    suite: String,
    phase: &'static str,
    topology: &'static str,
    /// Steps, unknown ones included.
    layers: u64,
    /// Those of a chain that stand where an output does not fit the next input; none in a graph, which tells its nodes.
    unknown_layers: Option<u64>,
    unknown_tensors: u64,
    optimizer: Option<Optimizer>,
    precision: String,
    checkpoint: Option<u64>,
    checkpoint_best: Option<u64>,
    /// Of the convolutions only, as are those recomputed.
    forward_flops: u64,
    recomputed_flops: Option<u64>,
    file_bytes: Option<u64>,
    stored_bytes: Option<u64>,
    ledger: String,
    role: &'static str,
    elements: u64,
    bytes: u64,
    bytes_per_parameter: Option<f64>,
    total_bytes: u64,
}

/// The totals of one network in one phase.
struct Report<'a> {
    whole: &'a Whole,
    training: Option<(Training, Option<Checkpointed>)>,
    lines: Vec<Line>,
    forward: Ops,
}

impl Totals {
    /// Whether totals are asked for.
    pub(super) fn asked(&self) -> bool {
        self.network || self.training.is_some()
    }

    pub(super) fn run(&self, problems: &Problems, format: Format) -> anyhow::Result<Outcome> {
        if self.training.is_some() && problems.dtype().is_some() {
            bail!("--dtype is for inference: --precision says in which types --training computes");
        }
        let networks = problems.read_networks()?;
        let mut reports = Vec::new();
        for whole in &networks {
            if self.network {
                let lines = inference(&whole.network, whole.element)?;
                reports.push(Report { whole, training: None, lines, forward: forward(&whole.network)? });
            }
            if let Some(rule) = self.training {
                reports.push(self.training(rule, whole)?);
            }
        }
        print(&match format {
            Format::Table => as_table(&reports)?,
            Format::Csv => as_csv(&reports)?,
            Format::Json => serde_json::to_string_pretty(&rows(&reports))? + "\n",
        })?;
        Ok(Outcome::Good)
    }

    fn training<'a>(&self, rule: Rule, whole: &'a Whole) -> anyhow::Result<Report<'a>> {
        let optimizer = match rule {
            Rule::Sgd => Optimizer::Sgd,
            Rule::Momentum => Optimizer::Momentum,
            Rule::Adam => Optimizer::Adam,
            Rule::Adagrad => Optimizer::Adagrad,
        };
        let precision = match self.precision {
            None | Some(Types::F32) => Precision::F32,
            Some(Types::Mixed) => Precision::Mixed,
        };
        // More layers in a segment than there are say nothing that their number does not.
        let (steps, every) = (whole.network.steps.len(), self.checkpoint.and_then(|every| every.0));
        if let Some(every) = every.filter(|every| every.get() > steps.max(1)) {
            bail!("--checkpoint {every} is more than the {steps} layers of '{}'", whole.network.name);
        }
        let best = self.checkpoint.map(|_| best(&whole.network)).transpose()?;
        let given = every.map(|every| checkpointed(&whole.network, every)).transpose()?;
        let how = Training { optimizer, precision, checkpoints: given.or(best) };
        let lines = training(&whole.network, &how)?;
        Ok(Report { whole, training: Some((how, best)), lines, forward: forward(&whole.network)? })
    }
}

impl Report<'_> {
    fn phase(&self) -> &'static str {
        if self.training.is_some() { "training" } else { "inference" }
    }

    fn total(&self) -> Bytes {
        Bytes(self.lines.iter().map(|line| line.bytes.0).sum())
    }

    fn per_parameter(&self, bytes: Bytes) -> Option<f64> {
        let parameters = self.whole.network.parameters;
        (parameters > 0).then(|| bytes.0 as f64 / parameters as f64)
    }

    fn precision(&self) -> String {
        match &self.training {
            Some((Training { precision: Precision::F32, .. }, _)) => "f32".into(),
            Some((Training { precision: Precision::Mixed, .. }, _)) => "mixed".into(),
            None => self.whole.element.to_string(),
        }
    }

    /// What there is to say of the network itself.
    fn remarks_on_network(&self, text: &mut String) -> std::fmt::Result {
        let network @ Network { name, .. } = &self.whole.network;
        let layers = Grouped(network.steps.len() as u64);
        match network.topology {
            Topology::Chain { joints, doubt } => {
                writeln!(
                    text,
                    "{name}: a chain of {layers} layers, of which {joints} unknown ones stand where an output does not fit the next input"
                )?;
                if let Some(doubt) = doubt {
                    writeln!(text, "{name}: hardly one network: {doubt}")?;
                }
                writeln!(text, "{name}: {CONVOLUTIONS_ONLY}")?;
            }
            Topology::Graph { bodies } => {
                let tensors = network.tensors();
                writeln!(text, "{name}: a graph of {layers} nodes that make {} tensors, each in memory of its own", Grouped(tensors))?;
                if network.unknown > 0 {
                    writeln!(text, "{name}: {} of {tensors} tensors have no known shape and are not counted", network.unknown)?;
                }
                if bodies > 0 {
                    writeln!(text, "{name}: tensors in the bodies of {bodies} nodes are not counted")?;
                }
            }
        }
        // No type of weights that are stored as such is that narrow.
        let numbers = network.parameters.saturating_add(network.buffers);
        if self.whole.files.as_ref().is_some_and(|files| files.tensors.0 < numbers) {
            writeln!(
                text,
                "{name}: less than a byte is stored for each parameter: nodes of the graph make weights when the model is loaded"
            )?;
        }
        Ok(())
    }

    /// What there is to say of its totals.
    fn remarks(&self, text: &mut String) -> std::fmt::Result {
        let network @ Network { name, .. } = &self.whole.network;
        if let Some(Files { stored, tensors }) = &self.whole.files {
            let parameters = self.lines.iter().filter(|line| line.role.ledger() == Ledger::Parameter);
            let parameters = Bytes(parameters.map(|line| line.bytes.0).sum());
            let phase = self.phase();
            writeln!(text, "{name}: {} in its files, {tensors} in stored tensors, {parameters} of parameters in {phase}", stored.files)?;
        }
        let Some((training, best)) = &self.training else { return Ok(()) };
        if let (Some(checkpoints), Some(best)) = (&training.checkpoints, best) {
            self.remarks_on_checkpoints(text, training.precision, checkpoints, best)?;
        }
        let kept = if training.checkpoints.is_some() { "checkpoints, the largest segment" } else { "all feature maps kept" };
        match network.topology {
            // Said of the list itself.
            Topology::Chain { .. } => Ok(()),
            Topology::Graph { bodies: 0 } if network.unknown == 0 => writeln!(
                text,
                "{name}: the training total bounds a step's peak from above: {kept}, and the most gradients of feature maps alive at once; \
                 without workspace and what operators save beside their outputs"
            ),
            Topology::Graph { .. } => {
                writeln!(text, "{name}: with tensors that are not counted the training total need not bound a step's peak")
            }
        }
    }

    fn remarks_on_checkpoints(
        &self,
        text: &mut String,
        precision: Precision,
        checkpoints: &Checkpointed,
        best: &Checkpointed,
    ) -> std::fmt::Result {
        let network @ Network { name, .. } = &self.whole.network;
        let share = 100.0 * checkpoints.recomputed.0 as f64 / (3.0 * self.forward.0 as f64);
        let share = if self.forward.0 > 0 { format!(", {share:.1} % of forward and backward (3 times forward)") } else { String::new() };
        writeln!(
            text,
            "{name}: checkpoints every {}: {} of convolutions run again{share}",
            layers_of(checkpoints.every),
            checkpoints.recomputed
        )?;
        // Kept in 64 bits: part of what was.
        let bytes = Bytes(u64::try_from(best.elements()).unwrap_or(u64::MAX).saturating_mul(precision.bytes()));
        let root = (network.steps.len() as f64).sqrt();
        writeln!(
            text,
            "{name}: fewest bytes with checkpoints every {}: {bytes} of feature maps (equal layers: every √n = {root:.1})",
            layers_of(best.every)
        )
    }
}

fn layers_of(every: usize) -> String {
    if every == 1 { "layer".into() } else { format!("{} layers", Grouped(every as u64)) }
}

fn rows(reports: &[Report<'_>]) -> Vec<Row> {
    let of = |report: &Report<'_>| {
        let network = &report.whole.network;
        let (how, best) = report.training.map_or((None, None), |(how, best)| (Some(how), best));
        let checkpoints = how.and_then(|how| how.checkpoints);
        let row = |line: &Line| Row {
            suite: network.name.clone(),
            phase: report.phase(),
            topology: match network.topology {
                Topology::Chain { .. } => "chain",
                Topology::Graph { .. } => "graph",
            },
            layers: network.steps.len() as u64,
            unknown_layers: match network.topology {
                Topology::Chain { joints, .. } => Some(joints),
                Topology::Graph { .. } => None,
            },
            unknown_tensors: network.unknown,
            optimizer: how.map(|how| how.optimizer),
            precision: report.precision(),
            checkpoint: checkpoints.map(|checkpoints| checkpoints.every as u64),
            checkpoint_best: best.map(|best| best.every as u64),
            forward_flops: report.forward.0,
            recomputed_flops: checkpoints.map(|checkpoints| checkpoints.recomputed.0),
            file_bytes: report.whole.files.as_ref().map(|files| files.stored.files.0),
            stored_bytes: report.whole.files.as_ref().map(|files| files.tensors.0),
            ledger: line.role.ledger().to_string(),
            role: line.role.name(),
            elements: line.elements,
            bytes: line.bytes.0,
            bytes_per_parameter: report.per_parameter(line.bytes),
            total_bytes: report.total().0,
        };
        report.lines.iter().map(row).collect::<Vec<_>>()
    };
    reports.iter().flat_map(of).collect()
}

fn as_csv(reports: &[Report<'_>]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows(reports) {
        writer.serialize(Row { suite: guarded(&row.suite), ..row })?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn as_table(reports: &[Report<'_>]) -> anyhow::Result<String> {
    let mut body = Vec::new();
    let mut remarks = String::new();
    let mut before = None;
    for report in reports {
        let per_parameter = |bytes| report.per_parameter(bytes).map_or("-".to_owned(), |bytes| format!("{bytes:.2}"));
        let mut row = |ledger: &str, role: &str, elements: String, bytes: Bytes| {
            let head = [report.whole.network.name.clone(), report.phase().to_owned(), report.precision()];
            let tail = [ledger.to_owned(), role.replace('_', " "), elements, Grouped(bytes.0).to_string(), per_parameter(bytes)];
            body.push(head.into_iter().chain(tail).collect());
        };
        for line in &report.lines {
            row(&line.role.ledger().to_string(), line.role.name(), Grouped(line.elements).to_string(), line.bytes);
        }
        row("", "total", String::new(), report.total());
        if !before.is_some_and(|before| std::ptr::eq(before, report.whole)) {
            report.remarks_on_network(&mut remarks)?;
        }
        before = Some(report.whole);
        report.remarks(&mut remarks)?;
    }
    let header = ["network", "phase", "precision", "ledger", "role", ">elements", ">bytes", ">B/parameter"];
    Ok(format!("{}\n{remarks}", lines(&table(&header, body))))
}
