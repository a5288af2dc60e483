//! Which convolutions a command is about: keys, suites, layers files, models.

use super::note;
use crate::conv::{Conv, ElementType, Pass};
use crate::suite::Suite;
use crate::suite::onnx::{self, InputShape, ModelOptions};
use anyhow::Context;
use std::fmt::Write;
use std::path::PathBuf;

/// The convolutions of a command line.
#[derive(clap::Args)]
#[command(next_help_heading = "Convolutions")]
pub(super) struct Problems {
    /// Convolutions by their keys, such as `n1c64h56w56_k128r3s3_p1`
    #[arg(value_name = "CONV")]
    convs: Vec<String>,

    /// A built-in suite or a TOML file of your own; may be given several times
    #[arg(long, value_name = "NAME|FILE", long_help = suite_help())]
    suite: Vec<String>,

    /// A CSV file with a layer a row, columns layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype; may be given several times
    #[arg(long, value_name = "FILE.csv")]
    layers: Vec<PathBuf>,

    /// An ONNX model: its Conv nodes become the layers; may be given several times
    #[arg(long, value_name = "FILE.onnx")]
    model: Vec<PathBuf>,

    /// Shape of a model's input where the file leaves it open, such as 1x3x224x224 or NAME=1x3x224x224
    #[arg(long, value_name = "[NAME=]SHAPE", requires = "model")]
    input: Vec<InputShape>,

    /// Number of images, in place of what the suite, model or key says
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    batch: Option<u64>,

    /// Type of the stored elements; without it that of a layers file, f32 for all else
    #[arg(long, value_name = "TYPE")]
    dtype: Option<ElementType>,

    /// Which convolution of training; this version has the forward one
    #[arg(long, value_name = "PASS", default_value = "forward")]
    pass: Pass,
}

fn suite_help() -> String {
    let mut text = "A built-in suite or a TOML file of your own; may be given several times.\n\nBuilt in:".to_owned();
    for name in Suite::names() {
        let description = Suite::builtin(name).map(|s| s.description).unwrap_or_default();
        let _ = write!(text, "\n  {name}: {description}");
    }
    text
}

impl Problems {
    /// Whether the command line names no problem at all.
    pub(super) fn unnamed(&self) -> bool {
        self.convs.is_empty() && self.suite.is_empty() && self.layers.is_empty() && self.model.is_empty()
    }

    /// Reads them all; `default` is the suite where nothing is named.
    pub(super) fn read(&self, default: Option<&str>) -> anyhow::Result<Vec<Suite>> {
        let mut suites = Vec::new();
        if !self.convs.is_empty() {
            let convs = self.convs.iter().map(|key| Ok(key.parse::<Conv>()?)).collect::<anyhow::Result<Vec<_>>>()?;
            suites.push(Suite::from_convs(convs));
        }
        for name in &self.suite {
            suites.push(Suite::load(name)?);
        }
        for path in &self.layers {
            suites.push(Suite::read_layers(path)?);
        }
        for path in &self.model {
            let model = onnx::read(path, &ModelOptions { batch: self.batch, inputs: self.input.clone() })?;
            for skipped in &model.skipped {
                note(format!("{}: left out: {skipped}", path.display()));
            }
            suites.push(model.suite);
        }
        if suites.is_empty() {
            let name = default.context("name a convolution, --suite, --layers or --model")?;
            suites.push(Suite::load(name)?);
        }
        if let Some(batch) = self.batch {
            suites = suites.into_iter().map(|suite| suite.with_batch(batch)).collect::<Result<_, _>>()?;
        }
        for layer in suites.iter_mut().flat_map(|suite| &mut suite.layers) {
            let element = self.dtype.unwrap_or(layer.conv.element());
            layer.conv = layer.conv.with_pass(self.pass).with_element(element).with_context(|| format!("layer '{}'", layer.name))?;
        }
        merge_repeats(&mut suites);
        distinct_names(&mut suites);
        Ok(suites)
    }
}

/// A suite named twice is meant once.
fn merge_repeats(suites: &mut Vec<Suite>) {
    let mut kept: Vec<Suite> = Vec::with_capacity(suites.len());
    for suite in suites.drain(..) {
        if !kept.contains(&suite) {
            kept.push(suite);
        }
    }
    *suites = kept;
}

/// Two suites of one name, such as two files `a/net.onnx` and `b/net.onnx`, would have rows nobody can tell apart.
fn distinct_names(suites: &mut [Suite]) {
    let names: Vec<String> = suites.iter().map(|s| s.name.clone()).collect();
    for (i, suite) in suites.iter_mut().enumerate() {
        let before = names[..i].iter().filter(|name| **name == suite.name).count();
        if before > 0 {
            suite.name = format!("{}#{}", suite.name, before + 1);
        }
    }
}
