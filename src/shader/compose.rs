//! From a kernel to checked WGSL: render the template, map its lines back, parse and validate with naga.

use super::{Library, Origin, ShaderError};
use crate::conv::ElementType;
use crate::plan::{Constant, Kernel, Sharing};
use minijinja::Value;
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use std::collections::BTreeMap;
use std::error::Error;

/// WGSL ready for a driver: parsed and validated.
#[derive(Debug, Clone)]
pub struct Composed {
    /// The text.
    pub source: String,
    /// The text as naga reads it, overrides not yet folded.
    pub module: naga::Module,
    /// What validation found out about the module.
    pub info: ModuleInfo,
    file: String,
    origins: Vec<Option<Origin>>,
}

impl Composed {
    /// Where a line of the text, counted from 1, came from; `None` for lines no file holds.
    pub fn origin(&self, line: usize) -> Option<&Origin> {
        self.origins.get(line.checked_sub(1)?)?.as_ref()
    }

    /// Where a line came from, or the file's beginning for one that no file holds.
    pub(super) fn place(&self, line: Option<usize>) -> Origin {
        place(&self.file, &self.origins, line)
    }
}

/// The checked WGSL of a kernel, from the built-in library.
///
/// # Errors
/// As [`Library::compose`].
pub fn compose(kernel: &Kernel) -> Result<Composed, ShaderError> {
    Library::builtin().compose(kernel)
}

/// Names every template has, whatever the kernel's constants.
const RESERVED: [&str; 3] = ["element", "problem_fields", "size"];

impl Library {
    /// The checked WGSL of a kernel. The template sees every constant under its name (a flag as a boolean, a size as an integer, sizes as a list of them, a
    /// word as a string, a matrix as a list of lists of strings), `element` as `"f32"` or `"f16"`, `problem_fields`, a list of names, and
    /// `size`, which gives for a name the literal of a folded value or else the uniform's field.
    ///
    /// # Errors
    /// [`ShaderError`] with file and line: unknown shader or include, include cycle, template error, undefined name, invalid WGSL.
    pub fn compose(&self, kernel: &Kernel) -> Result<Composed, ShaderError> {
        let file = format!("{}.wgsl", kernel.shader);
        if !self.contains(&file) {
            let known = self.shaders().collect::<Vec<_>>().join(", ");
            return Err(ShaderError::UnknownShader { name: kernel.shader.clone(), known });
        }
        self.check_includes(&file)?;
        let context = context(kernel)?;
        let rendered =
            self.engine().get_template(&file).and_then(|template| template.render(context)).map_err(|e| template_error(&file, &e))?;
        let (mut source, mut origins) = self.unmark(&rendered);
        if kernel.element == ElementType::F16 {
            source.insert_str(0, "enable f16;\n");
            origins.insert(0, None);
        }
        let (module, info) = check_wgsl(&source, capabilities(kernel))
            .map_err(|(line, message)| ShaderError::Wgsl { at: place(&file, &origins, line), message })?;
        Ok(Composed { source, module, info, file, origins })
    }
}

fn place(file: &str, origins: &[Option<Origin>], line: Option<usize>) -> Origin {
    let origin = line.and_then(|line| origins.get(line.checked_sub(1)?)?.clone());
    origin.unwrap_or_else(|| Origin { file: file.to_owned(), line: 1 })
}

/// What the kernel's shader may ask of a device beyond what every device offers.
fn capabilities(kernel: &Kernel) -> Capabilities {
    let mut capabilities = Capabilities::default();
    capabilities.set(Capabilities::SHADER_FLOAT16, kernel.element == ElementType::F16);
    let cooperative = kernel.constants.get("cooperative") == Some(&Constant::Flag(true));
    capabilities.set(Capabilities::COOPERATIVE_MATRIX, cooperative);
    capabilities.set(Capabilities::SUBGROUP, kernel.tile.is_some_and(|tile| tile.sharing == Sharing::Subgroup));
    capabilities
}

fn context(kernel: &Kernel) -> Result<Value, ShaderError> {
    let mut context: BTreeMap<&str, Value> = BTreeMap::new();
    for (name, constant) in &kernel.constants {
        if RESERVED.contains(&name.as_str()) {
            return Err(ShaderError::ReservedConstant { shader: kernel.shader.clone(), name: name.clone() });
        }
        context.insert(name, value(constant));
    }
    context.insert("element", Value::from(kernel.element.wgsl()));
    context.insert("problem_fields", Value::from(kernel.problem_fields.clone()));
    let fields = kernel.problem_fields.iter().map(|field| (field.clone(), format!("problem.{field}")));
    let literals = kernel.folded.iter().map(|(name, value)| (name.clone(), format!("{value}u")));
    context.insert("size", Value::from_pairs(fields.chain(literals)));
    Ok(Value::from_pairs(context))
}

fn value(constant: &Constant) -> Value {
    match constant {
        Constant::Flag(flag) => Value::from(*flag),
        Constant::Size(size) => Value::from(*size),
        Constant::Sizes(sizes) => Value::from(sizes.clone()),
        Constant::Word(word) => Value::from(word.as_str()),
        Constant::Matrix(rows) => Value::from(rows.clone()),
    }
}

/// Place and reason of the innermost of the engine's nested errors.
fn template_error(file: &str, error: &minijinja::Error) -> ShaderError {
    let mut innermost = error;
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(source) = next {
        if let Some(inner) = source.downcast_ref::<minijinja::Error>().filter(|inner| inner.line().is_some()) {
            innermost = inner;
        }
        next = source.source();
    }
    let at = Origin { file: innermost.name().unwrap_or(file).to_owned(), line: innermost.line().unwrap_or(1) };
    let kind = innermost.kind().to_string();
    let message = innermost.detail().map_or(kind.clone(), |detail| format!("{kind}: {detail}"));
    ShaderError::Template { at, message: one_line(&message) }
}

/// Parses and validates; on failure the line, if known, and the reason with all its causes.
fn check_wgsl(source: &str, capabilities: Capabilities) -> Result<(naga::Module, ModuleInfo), (Option<usize>, String)> {
    let options = naga::front::wgsl::Options { parse_doc_comments: false, capabilities };
    let module = naga::front::wgsl::Frontend::new_with_options(options)
        .parse(source)
        .map_err(|error| (error.location(source).map(|place| place.line_number as usize), one_line(error.message())))?;
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    if capabilities.contains(Capabilities::SUBGROUP) {
        validator.subgroup_stages(ShaderStages::COMPUTE).subgroup_operations(SubgroupOperationSet::all());
    }
    match validator.validate(&module) {
        Ok(info) => Ok((module, info)),
        Err(error) => {
            let mut message = error.as_inner().to_string();
            let mut next = error.as_inner().source();
            while let Some(source) = next {
                message = format!("{message}: {source}");
                next = source.source();
            }
            // Spans go from the whole function to the expression at fault: the shortest is the place to look.
            let place = error.spans().min_by_key(|(span, _)| span.to_range().map_or(usize::MAX, |range| range.len()));
            Err((place.map(|(span, _)| span.location(source).line_number as usize), one_line(&message)))
        }
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
