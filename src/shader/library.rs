//! The shader files, and the template engine set up so that a file still reads as WGSL.
//!
//! Statements are comment lines (`//% for i in range(4)`), values are `${name}`; there is no other notation. `${-x}` would trim
//! white space, as in Jinja: write `${(-x)}`.
//!
//! Before the engine sees a file, every line that is not a statement gets a marker with its file and number at its end. Markers go
//! through loops, macros and includes like any text, so the rendered text tells where each of its lines came from.

use super::{Origin, ShaderError};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Begins a marker; no WGSL file holds this character.
const MARK: char = '\u{1}';
/// Begins a template statement.
const STATEMENT: &str = "//%";

/// A set of shader files that include each other.
#[derive(Debug)]
pub struct Library {
    files: Arc<BTreeMap<String, String>>,
    engine: Environment<'static>,
}

impl Library {
    /// The files below `shaders/`, as they were when the binary was built.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Library> = LazyLock::new(|| Library::new(include!(concat!(env!("OUT_DIR"), "/shaders.rs"))));
        &BUILTIN
    }

    /// Files given by name below `shaders/`, such as `gemm.wgsl`, and text.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let files: BTreeMap<String, String> = files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let files = Arc::new(files);
        let mut engine = Environment::new();
        engine.set_syntax(syntax());
        engine.set_undefined_behavior(UndefinedBehavior::Strict);
        engine.set_debug(true); // errors then say which name is undefined
        let shared = Arc::clone(&files);
        engine.set_loader(move |name| Ok(shared.get(name).map(|text| mark(index_of(&shared, name), text))));
        Self { files, engine }
    }

    /// Every file by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Names a kernel can ask for: the files that are not in a folder, without their ending.
    pub fn shaders(&self) -> impl Iterator<Item = &str> {
        self.files.keys().filter(|name| !name.contains('/')).filter_map(|name| name.strip_suffix(".wgsl"))
    }

    pub(super) fn contains(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    pub(super) fn engine(&self) -> &Environment<'static> {
        &self.engine
    }

    /// Follows the include and import statements from a file on, so that one that cannot work is an error even where no
    /// condition reaches it.
    pub(super) fn check_includes(&self, file: &str) -> Result<(), ShaderError> {
        self.visit(file, &mut vec![file.to_owned()])
    }

    fn visit(&self, file: &str, path: &mut Vec<String>) -> Result<(), ShaderError> {
        let text = self.files.get(file).map_or("", String::as_str);
        for (line, name) in references(text) {
            let at = Origin { file: file.to_owned(), line };
            if !self.contains(name) {
                return Err(ShaderError::UnknownInclude { at, name: name.to_owned() });
            }
            let known = path.iter().position(|visited| visited == name);
            path.push(name.to_owned());
            if let Some(first) = known {
                return Err(ShaderError::IncludeCycle { at, cycle: path[first..].join(" -> ") });
            }
            self.visit(name, path)?;
            path.pop();
        }
        Ok(())
    }

    /// Takes the markers out of a rendered text: its lines beside where each came from. A line put together from several, such
    /// as one with a macro's text inside, belongs to the outermost.
    pub(super) fn unmark(&self, rendered: &str) -> (String, Vec<Option<Origin>>) {
        let names: Vec<&String> = self.files.keys().collect();
        let origin = |mark: &str| {
            let (file, line) = mark.split_once(':')?;
            Some(Origin { file: (*names.get(file.parse::<usize>().ok()?)?).clone(), line: line.parse().ok()? })
        };
        let mut source = String::with_capacity(rendered.len());
        let mut origins = Vec::new();
        for line in rendered.lines() {
            let mut pieces = line.split(MARK);
            source.push_str(pieces.next().unwrap_or_default());
            let mut last = None;
            for piece in pieces {
                let end = piece.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(piece.len());
                last = origin(&piece[..end]).or(last);
                source.push_str(&piece[end..]);
            }
            source.push('\n');
            origins.push(last);
        }
        (source, origins)
    }
}

fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder
        .line_statement_prefix(STATEMENT)
        .variable_delimiters("${", "}")
        // The engine insists on delimiters for blocks and comments too: control characters, which no file holds.
        .block_delimiters("\u{2}", "\u{3}")
        .comment_delimiters("\u{4}", "\u{5}")
        .keep_trailing_newline(true);
    builder.build().expect("delimiters are distinct and not empty")
}

fn index_of(files: &BTreeMap<String, String>, name: &str) -> usize {
    files.keys().take_while(|key| *key != name).count()
}

fn mark(file: usize, text: &str) -> String {
    let line = |(index, line): (usize, &str)| {
        if line.trim_start().starts_with(STATEMENT) { format!("{line}\n") } else { format!("{line}{MARK}{file}:{}\n", index + 1) }
    };
    text.lines().enumerate().map(line).collect()
}

/// Line and file of every include and import statement.
fn references(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let statement = line.trim_start().strip_prefix(STATEMENT).unwrap_or_default().trim_start();
        let keyword = statement.split(char::is_whitespace).next().unwrap_or_default();
        let refers = matches!(keyword, "include" | "import" | "from" | "extends");
        // Every second piece between quotes is inside them.
        let names = statement.split(['"', '\'']).skip(1).step_by(2);
        names.filter(move |_| refers).map(move |name| (index + 1, name))
    })
}
