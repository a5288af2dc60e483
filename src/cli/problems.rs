//! Which convolutions a command is about: keys, suites, layers files, models.

use super::note;
use crate::conv::{Conv, ElementType, Layout, Pass};
use crate::suite::onnx::{self, InputShape, ModelOptions, Stored};
use crate::suite::{Network, Suite};
use crate::units::Bytes;
use anyhow::{Context, bail};
use std::fmt::Write;
use std::path::{Path, PathBuf};

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

    /// Which convolution of training: `forward`, `backward_data` or `backward_weights`
    #[arg(long, value_name = "PASS", default_value = "forward")]
    pass: Pass,

    /// Order of feature maps on the device: nchw or nhwc
    #[arg(long, value_name = "ORDER", default_value = "nchw")]
    layout: Layout,
}

fn suite_help() -> String {
    let mut text = "A built-in suite or a TOML file of your own; may be given several times.\n\nBuilt in:".to_owned();
    for name in Suite::names() {
        let description = Suite::builtin(name).map(|s| s.description).unwrap_or_default();
        let _ = write!(text, "\n  {name}: {description}");
    }
    text
}

/// What a model's files hold.
pub(super) struct Files {
    /// On disk.
    pub(super) stored: Stored,
    /// Bytes of all stored tensors, in the types they are stored in.
    pub(super) tensors: Bytes,
}

/// A suite or model as a network.
pub(super) struct Whole {
    pub(super) network: Network,
    /// Type of its elements.
    pub(super) element: ElementType,
    /// Its files, where it is a model.
    pub(super) files: Option<Files>,
}

impl Problems {
    /// The type asked for.
    pub(super) fn dtype(&self) -> Option<ElementType> {
        self.dtype
    }

    /// Whether the command line names no problem at all.
    pub(super) fn unnamed(&self) -> bool {
        self.convs.is_empty() && self.suite.is_empty() && self.layers.is_empty() && self.model.is_empty()
    }

    /// Reads them all; `default` is the suite where nothing is named.
    pub(super) fn read(&self, default: Option<&str>) -> anyhow::Result<Vec<Suite>> {
        let read = |path: &Path, options: &ModelOptions| Ok((onnx::read(path, options)?, ()));
        Ok(self.read_with(default, read)?.into_iter().map(|(suite, _)| suite).collect())
    }

    /// Reads them all as networks.
    pub(super) fn read_networks(&self) -> anyhow::Result<Vec<Whole>> {
        let read = |path: &Path, options: &ModelOptions| {
            let (model, network, stored) = onnx::read_network(path, options)?;
            for file in &stored.missing {
                note(format!("{}: no file of external data '{file}' in its folder: its bytes are not counted", path.display()));
            }
            let files = Files { stored, tensors: model.parameters };
            Ok((model, (network, files)))
        };
        let whole = |(suite, model): (Suite, Option<(Network, Files)>)| {
            let (network, files) = match model {
                Some((network, files)) => (network, Some(files)),
                None => (suite.network()?, None),
            };
            let mut elements = suite.layers.iter().map(|layer| layer.conv.element());
            let element = elements.next().unwrap_or(ElementType::F32);
            if let Some(other) = elements.find(|other| *other != element) {
                bail!("'{}' has layers in {element} and in {other}: --dtype says in which type they are one network", suite.name);
            }
            Ok(Whole { network: Network { name: suite.name, ..network }, element, files })
        };
        self.read_with(None, read)?.into_iter().map(whole).collect()
    }

    /// Reads them all, each model with what `read` makes of it.
    fn read_with<T>(
        &self,
        default: Option<&str>,
        read: impl Fn(&Path, &ModelOptions) -> anyhow::Result<(onnx::Model, T)>,
    ) -> anyhow::Result<Vec<(Suite, Option<T>)>> {
        let mut suites = Vec::new();
        if !self.convs.is_empty() {
            let convs = self.convs.iter().map(|key| Ok(key.parse::<Conv>()?)).collect::<anyhow::Result<Vec<_>>>()?;
            suites.push((Suite::from_convs(convs), None));
        }
        for name in &self.suite {
            suites.push((Suite::load(name)?, None));
        }
        for path in &self.layers {
            suites.push((Suite::read_layers(path)?, None));
        }
        for path in &self.model {
            let (model, more) = read(path, &ModelOptions { batch: self.batch, inputs: self.input.clone() })?;
            for skipped in &model.skipped {
                note(format!("{}: left out: {skipped}", path.display()));
            }
            suites.push((model.suite, Some(more)));
        }
        if suites.is_empty() {
            let name = default.context("name a convolution, --suite, --layers or --model")?;
            suites.push((Suite::load(name)?, None));
        }
        if let Some(batch) = self.batch {
            let batched = suites.into_iter().map(|(suite, more)| Ok((suite.with_batch(batch)?, more)));
            suites = batched.collect::<anyhow::Result<_>>()?;
        }
        for layer in suites.iter_mut().flat_map(|(suite, _)| &mut suite.layers) {
            let element = self.dtype.unwrap_or(layer.conv.element());
            let conv = layer.conv.with_pass(self.pass).with_layout(self.layout);
            layer.conv = conv.with_element(element).with_context(|| format!("layer '{}'", layer.name))?;
        }
        merge_repeats(&mut suites);
        distinct_names(&mut suites);
        Ok(suites)
    }
}

/// A suite named twice is meant once.
fn merge_repeats<T>(suites: &mut Vec<(Suite, Option<T>)>) {
    let mut kept: Vec<(Suite, Option<T>)> = Vec::with_capacity(suites.len());
    for (suite, more) in suites.drain(..) {
        if kept.iter().all(|(other, _)| *other != suite) {
            kept.push((suite, more));
        }
    }
    *suites = kept;
}

/// Two suites of one name, such as two files `a/net.onnx` and `b/net.onnx`, would have rows nobody can tell apart.
fn distinct_names<T>(suites: &mut [(Suite, Option<T>)]) {
    let names: Vec<String> = suites.iter().map(|(suite, _)| suite.name.clone()).collect();
    for (i, (suite, _)) in suites.iter_mut().enumerate() {
        let before = names[..i].iter().filter(|name| **name == suite.name).count();
        if before > 0 {
            suite.name = format!("{}#{}", suite.name, before + 1);
        }
    }
}
