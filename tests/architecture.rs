//! Holds the source to its architecture: modules use only those above them, one module knows the device library, one prints.
//!
//! The sources are read as Rust tokens (`proc-macro2`'s lexer), so comments, strings and doc examples do not count; code under
//! `#[cfg(test)]` may use anything.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The modules from the top down, as in the documentation of `src/lib.rs`: each may use itself and those before it.
const LAYERS: [&str; 26] = [
    "units",
    "conv",
    "suite",
    "ledger",
    "plan",
    "algorithm",
    "shader",
    "inspect",
    "device",
    "reference",
    "verify",
    "stats",
    "measure",
    "peak",
    "cost",
    "tune",
    "record",
    "account",
    "experiment",
    "runner",
    "analysis",
    "claims",
    "chart",
    "report",
    "demo",
    "cli",
];
/// The libraries that drive devices, each with the only modules that may name it.
const DEVICE_LIBRARIES: [(&str, &[&str]); 2] = [("wgpu", &["device"]), ("ash", &["inspect", "device"])];
/// The only module that prints.
const PRINTER: &str = "cli";
const PRINTING: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
/// A file longer than this is more than one thing.
const LONGEST_FILE: usize = 500;

#[test]
fn modules_use_only_those_above_them() {
    assert_none(&violations_of_sources(|v| matches!(v, Violation::Layer { .. } | Violation::Unknown { .. })));
}

#[test]
fn one_module_knows_each_device_library() {
    assert_none(&violations_of_sources(|v| matches!(v, Violation::DeviceLibrary { .. })));
}

#[test]
fn only_cli_prints() {
    assert_none(&violations_of_sources(|v| matches!(v, Violation::Prints { .. })));
}

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .iter()
        .filter(|source| source.text.lines().count() > LONGEST_FILE)
        .map(|source| format!("{}: {} lines, more than {LONGEST_FILE}", source.path.display(), source.text.lines().count()))
        .collect();
    assert_none(&long);
}

#[test]
fn the_table_is_the_list_in_the_documentation_and_the_modules_there_are() {
    let library = std::fs::read_to_string(root().join("src/lib.rs")).expect("src/lib.rs is readable");
    let list = library.split("```text").nth(1).and_then(|rest| rest.split("```").next()).expect("src/lib.rs documents a list");
    let documented: Vec<&str> = list.lines().filter_map(|line| line.trim_start_matches("//!").split_whitespace().next()).collect();
    assert_eq!(documented, LAYERS);

    let declared: BTreeSet<&str> = library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert_eq!(declared, BTreeSet::from(LAYERS));
    for source in sources() {
        let module = source.module();
        assert!(module.is_none_or(|m| LAYERS.contains(&m)), "{} is in no module of the list", source.path.display());
    }
}

#[test]
fn every_module_has_sources_to_check() {
    let found: BTreeSet<String> = sources().iter().filter_map(|source| source.module().map(str::to_owned)).collect();
    assert_eq!(found, LAYERS.iter().map(|&m| m.to_owned()).collect());
}

#[test]
fn the_checker_sees_what_is_wrong() {
    let bad = r#"
        use crate::{units::Bytes, record::Row, nonsense};
        use super::super::cli;
        fn f() {
            let _ = format!("{}", crate::device::name());
            println!("{}", super::super::runner::RUNS);
        }
        mod inner { use super::super::super::measure::Session; }
        pub struct Queue(wgpu::Queue);
        use ash::vk;
    "#;
    let expected = [
        (2, layer("record")),
        (2, Violation::Unknown { name: "nonsense".into() }),
        (3, layer("cli")),
        (5, layer("device")),
        (6, Violation::Prints { name: "println".into() }),
        (6, layer("runner")),
        (8, layer("measure")),
        (9, Violation::DeviceLibrary { library: "wgpu", owners: &["device"] }),
        (10, Violation::DeviceLibrary { library: "ash", owners: &["inspect", "device"] }),
    ];
    let found = check(&Source { path: "src/plan/kernel.rs".into(), text: bad.into() });
    assert_eq!(found, expected);
}

#[test]
fn the_checker_lets_pass_what_is_right() {
    let good = r##"
        //! See [`crate::cli`]; `println!` and `wgpu` are only words here.
        use crate::conv::{Conv, device};
        use super::Plan;
        pub(in crate::plan) const TEXT: &str = "crate::cli::run() println!(wgpu)";
        const RAW: &str = r#"use crate::cli; "#;
        /* use crate::cli; /* nested */ */
        pub(crate) fn quoted<'a>(_: &'a str) -> char { '"' }
        #[cfg(test)]
        use crate::cli::Cli;
        #[cfg(test)]
        #[allow(unused)]
        mod tests { use crate::runner::Runner; fn f() { println!(); } }
        mod inner { use super::super::Plan; }
    "##;
    assert_eq!(check(&Source { path: "src/plan/kernel.rs".into(), text: good.into() }), []);
}

#[test]
fn test_modules_in_files_of_their_own_are_found() {
    let parent = "mod real; #[cfg(test)] mod tests; #[cfg(test)] pub(crate) mod mock;";
    let source = Source { path: "src/plan/mod.rs".into(), text: parent.into() };
    assert_eq!(source.test_modules(), [PathBuf::from("src/plan/tests"), PathBuf::from("src/plan/mock")]);
    let source = Source { path: "src/plan.rs".into(), text: parent.into() };
    assert_eq!(source.test_modules(), [PathBuf::from("src/plan/tests"), PathBuf::from("src/plan/mock")]);
}

/// What is wrong at one place.
#[derive(Debug, PartialEq, Eq)]
enum Violation {
    /// A module further down is used.
    Layer { used: String },
    /// A path from the crate's root names no module of the list.
    Unknown { name: String },
    /// A device library is named outside its module.
    DeviceLibrary { library: &'static str, owners: &'static [&'static str] },
    /// A printing macro outside the command line's module.
    Prints { name: String },
}

fn layer(used: &str) -> Violation {
    Violation::Layer { used: used.into() }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Layer { used } => write!(f, "uses `{used}`, which is below it in the list of src/lib.rs"),
            Self::Unknown { name } => write!(f, "`crate::{name}` is no module of the list in src/lib.rs"),
            Self::DeviceLibrary { library, owners } => write!(f, "names `{library}`; only `{}` may", owners.join("` and `")),
            Self::Prints { name } => write!(f, "`{name}!`: only `{PRINTER}` prints"),
        }
    }
}

/// One source file of the library.
struct Source {
    /// From the repository's root.
    path: PathBuf,
    text: String,
}

impl Source {
    /// The module of the list that the file belongs to; none for the roots of the library and the binary.
    fn module(&self) -> Option<&str> {
        match self.path.iter().nth(1)?.to_str()?.trim_end_matches(".rs") {
            "lib" | "main" => None,
            name => Some(name),
        }
    }

    /// How many `super`s lead from the file's top level to the crate's root.
    fn depth(&self) -> usize {
        self.path.iter().count() - 1 - usize::from(self.path.ends_with("mod.rs"))
    }

    /// Where the modules that are compiled for tests only lie, without `.rs`.
    fn test_modules(&self) -> Vec<PathBuf> {
        let directory = if self.path.ends_with("mod.rs") { self.path.with_file_name("") } else { self.path.with_extension("") };
        let mut tokens = tokens_of(&self.text, &self.path).peekable();
        let mut found = vec![];
        while let Some(token) = tokens.next() {
            if is_punct(&token, '#') && tokens.peek().is_some_and(is_cfg_test) {
                let item: Vec<String> = rest_of_item(&mut tokens).iter().map(ToString::to_string).collect();
                if let [.., keyword, name, end] = &item[..]
                    && (keyword == "mod" && end == ";")
                {
                    found.push(directory.join(name));
                }
            }
        }
        found
    }
}

/// Every file of `src/` that is not for tests only.
fn sources() -> Vec<Source> {
    let mut paths = vec![];
    collect(&root().join("src"), &mut paths);
    paths.sort();
    let read = |path: &PathBuf| Source {
        path: path.strip_prefix(root()).expect("lies below the root").into(),
        text: std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
    };
    let all: Vec<Source> = paths.iter().map(read).collect();
    let tests: Vec<PathBuf> = all.iter().flat_map(Source::test_modules).collect();
    all.into_iter().filter(|source| !tests.iter().any(|test| source.path.with_extension("").starts_with(test))).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("src/ is readable") {
        let path = entry.expect("src/ is readable").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|e| e == "rs") {
            paths.push(path);
        }
    }
}

fn violations_of_sources(which: impl Fn(&Violation) -> bool) -> Vec<String> {
    let mut lines = vec![];
    for source in sources() {
        let found = check(&source).into_iter().filter(|(_, violation)| which(violation));
        lines.extend(found.map(|(line, violation)| format!("{}:{line}: {violation}", source.path.display())));
    }
    lines
}

fn assert_none(lines: &[String]) {
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}

/// What is wrong in a file, with line numbers.
fn check(source: &Source) -> Vec<(usize, Violation)> {
    let mut checker = Checker { module: source.module(), found: vec![] };
    checker.walk(tokens_of(&source.text, &source.path), source.depth());
    checker.found
}

struct Checker<'a> {
    module: Option<&'a str>,
    found: Vec<(usize, Violation)>,
}

impl Checker<'_> {
    /// Checks tokens that are `depth` modules below the crate's root.
    fn walk(&mut self, tokens: impl Iterator<Item = TokenTree>, depth: usize) {
        let mut tokens = tokens.peekable();
        let mut inside_module = false; // the next braces are those of `mod name { … }`
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(_) if is_punct(&token, '#') && tokens.peek().is_some_and(is_cfg_test) => {
                    rest_of_item(&mut tokens);
                }
                TokenTree::Group(group) => {
                    let braces = group.delimiter() == Delimiter::Brace;
                    self.walk(group.stream().into_iter(), depth + usize::from(inside_module && braces));
                    inside_module &= !braces;
                }
                TokenTree::Ident(name) => {
                    inside_module |= name == "mod";
                    self.check_name(&name, tokens.peek());
                    if leads_to_root(&name, &mut tokens, depth) {
                        self.check_root_path(&mut tokens);
                    }
                }
                TokenTree::Punct(punct) => inside_module &= punct.as_char() != ';',
                TokenTree::Literal(_) => {}
            }
        }
    }

    fn check_name(&mut self, name: &Ident, next: Option<&TokenTree>) {
        let foreign = |owners: &[&str]| self.module.is_none_or(|module| !owners.contains(&module));
        if let Some(&(library, owners)) = DEVICE_LIBRARIES.iter().find(|(library, owners)| name == library && foreign(owners)) {
            self.add(name, Violation::DeviceLibrary { library, owners });
        }
        let prints = PRINTING.iter().any(|p| name == p) && next.is_some_and(|t| is_punct(t, '!'));
        if prints && !matches!(self.module, None | Some(PRINTER)) {
            self.add(name, Violation::Prints { name: name.to_string() });
        }
    }

    /// Checks what follows `crate::`: one name, or a group of paths in braces.
    fn check_root_path(&mut self, tokens: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>) {
        match tokens.peek() {
            Some(TokenTree::Ident(name)) => self.check_use(&name.clone()),
            Some(TokenTree::Group(group)) => {
                let mut first = true;
                for token in group.stream() {
                    if let (TokenTree::Ident(name), true) = (&token, first) {
                        self.check_use(name);
                    }
                    first = is_punct(&token, ',');
                }
            }
            Some(other) => self.found.push((other.span().start().line, Violation::Unknown { name: other.to_string() })),
            None => {}
        }
    }

    fn check_use(&mut self, name: &Ident) {
        let place = |module: &str| LAYERS.iter().position(|&layer| layer == module);
        match (place(&name.to_string()), self.module.and_then(place)) {
            (None, _) => self.add(name, Violation::Unknown { name: name.to_string() }),
            (Some(callee), Some(own)) if callee > own => self.add(name, layer(&name.to_string())),
            _ => {}
        }
    }

    fn add(&mut self, at: &Ident, violation: Violation) {
        self.found.push((at.span().start().line, violation));
    }
}

fn tokens_of(text: &str, path: &Path) -> impl Iterator<Item = TokenTree> {
    let stream: TokenStream = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    stream.into_iter()
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Is this the `[cfg(test)]` of an attribute?
fn is_cfg_test(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let text: String = group.stream().into_iter().map(|t| t.to_string()).collect();
    group.delimiter() == Delimiter::Bracket && text == "cfg(test)"
}

/// Takes the rest of the item after an attribute's `#`, to its `;` or its braces.
fn rest_of_item(tokens: &mut impl Iterator<Item = TokenTree>) -> Vec<TokenTree> {
    let mut item = vec![];
    for token in tokens {
        let last = is_punct(&token, ';') || matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        item.push(token);
        if last {
            break;
        }
    }
    item
}

/// Do this name and the `::` and `super`s after it, which are taken, lead from `depth` modules down to the crate's root?
fn leads_to_root(name: &Ident, tokens: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>, depth: usize) -> bool {
    if name == "crate" {
        return next_is_path(tokens);
    }
    let is_super = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "super");
    let mut supers = usize::from(name == "super");
    while supers > 0 && next_is_path(tokens) {
        if tokens.next_if(is_super).is_none() {
            return supers == depth;
        }
        supers += 1;
    }
    false
}

/// Takes `::` if it is next.
fn next_is_path(tokens: &mut std::iter::Peekable<impl Iterator<Item = TokenTree>>) -> bool {
    tokens.next_if(|t| is_punct(t, ':')).is_some() && tokens.next_if(|t| is_punct(t, ':')).is_some()
}
