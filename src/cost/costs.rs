//! What kernels reach of a device's limits, as data: a TOML file, one entry for each kind of device.
//!
//! ```toml
//! [[device]]
//! class = "software"       # absent for every kind
//! kernels = [
//!   { kernel = "gemm gemm 16x8 vector_a vector_b vector_c", compute = 0.25, bandwidth = 0.6, fill = 2 },
//! ]
//! ```
//!
//! A kernel is named by words: its shader, the stage it serves, its register tile where it has one, and what is switched on in its text
//! ([`kernel_words`]). A kernel without an entry of its own takes that of the same shader which it shares most words with.

use super::{CostError, Portion};
use crate::plan::{Constant, DeviceClass, Kernel, Step};
use crate::shader::Library;
use crate::suite::{Place, printable};
use crate::units::Nanoseconds;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;
use toml::Spanned;

/// Bytes of the largest file read.
const MAX_BYTES: u64 = 1 << 20;

/// What a kernel reaches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCost {
    /// Its words, the shader first.
    pub kernel: String,
    /// Share of π.
    pub compute: f64,
    /// Share of β; above 1 where a kernel moves less than it is booked for, or the copy that measured β was slow.
    pub bandwidth: f64,
    /// Workgroups from which on the device is full; fewer take as long as that many.
    pub fill: u64,
}

/// What kernels reach on a kind of device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceCosts {
    /// Which kind; `None` for every kind.
    pub class: Option<DeviceClass>,
    /// One for each kernel.
    pub kernels: Vec<KernelCost>,
}

/// What kernels reach.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Costs {
    /// One for each kind of device.
    pub devices: Vec<DeviceCosts>,
}

/// What is taken for a kernel that nobody has measured: a modest one.
static UNKNOWN: KernelCost = KernelCost { kernel: String::new(), compute: 0.1, bandwidth: 0.3, fill: 1 };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    device: Vec<RawDevice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDevice {
    class: Option<Spanned<DeviceClass>>,
    #[serde(default)]
    kernels: Vec<RawKernel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKernel {
    kernel: Spanned<String>,
    compute: Spanned<f64>,
    bandwidth: Spanned<f64>,
    fill: Spanned<u64>,
}

/// The words of a step's kernel: shader, stage, register tile, and the switches that are on in its text.
pub fn kernel_words(step: &Step) -> String {
    let Kernel { shader, tile, constants, .. } = &step.kernel;
    let mut words = vec![shader.clone(), step.stage.clone()];
    words.extend(tile.map(|tile| format!("{}x{}", tile.rows, 4 * tile.columns)));
    words.extend(constants.iter().filter(|(_, value)| **value == Constant::Flag(true)).map(|(name, _)| name.clone()));
    words.join(" ")
}

impl DeviceCosts {
    /// The entry of the kernel's shader which it shares most words with and differs from in fewest; of several the first.
    fn closest(&self, kernel: &str) -> Option<&KernelCost> {
        let split = |kernel: &'_ str| -> (Option<String>, Vec<String>) {
            let mut words = kernel.split_whitespace().map(str::to_owned);
            (words.next(), words.collect())
        };
        let (shader, words) = split(kernel);
        let mut best: Option<(isize, &KernelCost)> = None;
        for entry in &self.kernels {
            let (own_shader, own) = split(&entry.kernel);
            let shared = own.iter().filter(|word| words.contains(word)).count();
            let likeness = (3 * shared).cast_signed() - (own.len() + words.len()).cast_signed();
            if own_shader == shader && best.is_none_or(|(most, _)| likeness > most) {
                best = Some((likeness, entry));
            }
        }
        best.map(|(_, entry)| entry)
    }
}

impl KernelCost {
    /// The formula of the module, for one step.
    pub fn time(&self, portion: &Portion, dispatch_ns: f64) -> Nanoseconds {
        let full = (portion.compute.0 / self.compute).max(portion.transfer.0 / self.bandwidth);
        let idle = (self.fill as f64 / portion.workgroups.max(1) as f64).max(1.0);
        Nanoseconds(full * idle + dispatch_ns)
    }
}

impl Costs {
    /// What the program comes with.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Costs> = LazyLock::new(|| {
            let text = include_str!("builtin.toml");
            Costs::parse(text, "builtin.toml").unwrap_or_else(|error| unreachable!("a test reads it: {error}"))
        });
        &BUILTIN
    }

    /// What a kernel reaches on a kind of device: by the entry of its kind, by that for every kind, or a modest guess.
    pub fn of(&self, class: DeviceClass, kernel: &str) -> &KernelCost {
        let entry = |class| self.devices.iter().find(|device| device.class == class);
        [entry(Some(class)), entry(None)].into_iter().flatten().find_map(|device| device.closest(kernel)).unwrap_or(&UNKNOWN)
    }

    /// Whether there is an entry that serves a kind of device.
    pub fn knows(&self, class: DeviceClass) -> bool {
        self.devices.iter().any(|device| device.class.is_none_or(|own| own == class))
    }

    /// Reads a file of costs.
    ///
    /// # Errors
    /// [`CostError`] names the file and, where its contents are at fault, line, column and value.
    pub fn read(path: &Path) -> Result<Self, CostError> {
        let unreadable = |source| CostError::Unreadable { path: path.to_owned(), source };
        let mut text = String::new();
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(unreadable)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(CostError::TooLarge { path: path.to_owned(), most: MAX_BYTES });
        }
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads the text of a file of costs; `file` is its name, for errors.
    ///
    /// # Errors
    /// [`CostError::Content`] with file, line, column and value.
    pub fn parse(text: &str, file: &str) -> Result<Self, CostError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Source { text, file };
        let raw: RawFile = toml::from_str(text).map_err(|error| {
            let problem = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            source.fault(&error.span().unwrap_or_default(), &problem)
        })?;
        if raw.device.is_empty() {
            return Err(source.fault(&(0..0), "it has no entry; one is written [[device]] with class and kernels"));
        }
        let mut classes = HashSet::new();
        let mut devices = Vec::with_capacity(raw.device.len());
        for device in raw.device {
            let class = device.class.as_ref().map(|class| *class.get_ref());
            if !classes.insert(class) {
                let span = device.class.map_or(0..0, |class| class.span());
                return Err(source.fault(&span, "a second entry for this kind of device"));
            }
            let mut known = HashSet::new();
            let mut kernels = Vec::with_capacity(device.kernels.len());
            for raw in device.kernels {
                if !known.insert(raw.kernel.get_ref().clone()) {
                    return Err(source.fault(&raw.kernel.span(), &format!("a second entry for kernel '{}'", raw.kernel.get_ref())));
                }
                kernels.push(source.kernel(raw)?);
            }
            devices.push(DeviceCosts { class, kernels });
        }
        Ok(Self { devices })
    }

    /// The text of a file that [`Costs::parse`] reads back, numbers to three digits.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for DeviceCosts { class, kernels } in &self.devices {
            text += "[[device]]\n";
            if let Some(name) = class.and_then(|class| toml::Value::try_from(class).ok()) {
                let _ = writeln!(text, "class = {name}");
            }
            text += "kernels = [\n";
            for KernelCost { kernel, compute, bandwidth, fill } in kernels {
                let kernel = toml::Value::from(kernel.as_str());
                // Three digits, and never nothing: a share of 0 would not be read back.
                let [compute, bandwidth] = [compute, bandwidth].map(|share| share.max(0.001));
                let _ = writeln!(text, "  {{ kernel = {kernel}, compute = {compute:.3}, bandwidth = {bandwidth:.3}, fill = {fill} }},");
            }
            text += "]\n";
        }
        text
    }
}

/// A number as people write it.
fn short(value: f64) -> String {
    if value.abs() < 1e9 { value.to_string() } else { format!("{value:e}") }
}

/// The text of a file that places refer to.
struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    fn kernel(&self, raw: RawKernel) -> Result<KernelCost, CostError> {
        for (name, share) in [("compute", &raw.compute), ("bandwidth", &raw.bandwidth)] {
            let value = *share.get_ref();
            if !(value > 0.0 && value <= 1000.0) {
                return Err(self.fault(&share.span(), &format!("{name} {} is not a share above 0 and up to 1000", short(value))));
            }
        }
        if *raw.fill.get_ref() == 0 {
            return Err(self.fault(&raw.fill.span(), "fill 0 is no number of workgroups: write 1 where one fills the device"));
        }
        let Some(shader) = raw.kernel.get_ref().split_whitespace().next() else {
            return Err(self.fault(&raw.kernel.span(), "kernel is empty: its first word is a shader, such as gemm"));
        };
        if !Library::builtin().shaders().any(|known| known == shader) {
            return Err(self.fault(&raw.kernel.span(), &format!("kernel '{shader}' is no shader here, such as gemm or im2col")));
        }
        let (compute, bandwidth, fill) = (raw.compute.into_inner(), raw.bandwidth.into_inner(), raw.fill.into_inner());
        Ok(KernelCost { kernel: raw.kernel.into_inner(), compute, bandwidth, fill })
    }

    fn fault(&self, span: &Range<usize>, problem: &str) -> CostError {
        CostError::Content { place: Place::of(self.file, self.text, span.start), problem: printable(problem) }
    }
}
