use super::*;
use crate::conv::ElementType;
use crate::plan::{Constant, Kernel};
use std::collections::BTreeMap;

fn kernel(constants: &[(&str, Constant)]) -> Kernel {
    Kernel {
        shader: "main".into(),
        element: ElementType::F32,
        constants: constants.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        overrides: BTreeMap::new(),
        folded: BTreeMap::new(),
        tile: None,
        workgroup: [64, 1, 1],
        workgroup_bytes: 0,
        problem_fields: vec!["count".into()],
    }
}

fn compose_files(files: &[(&str, &str)], kernel: &Kernel) -> Result<Composed, ShaderError> {
    Library::new(files.iter().copied()).compose(kernel)
}

/// The error of a library whose `main.wgsl` is composed, as a person sees it.
fn error(files: &[(&str, &str)]) -> String {
    compose_files(files, &kernel(&[])).expect_err("should fail").to_string()
}

/// Where each line of the text came from, as `file:line text`.
fn listing(composed: &Composed) -> Vec<String> {
    let lines = composed.source.lines().enumerate();
    lines
        .map(|(index, line)| match composed.origin(index + 1) {
            Some(origin) => format!("{}:{} {}", origin.file, origin.line, line.trim()),
            None => format!("- {}", line.trim()),
        })
        .collect()
}

#[test]
fn constants_arrive_with_their_types() {
    let main = "\
//% if fast and not slow
const A = ${edge + 1};
//% endif
const B = ${word}(1.0);
//% for row in matrix
const ROW_${loop.index0} = vec2<${element}>(${row[0]}, ${row[1]});
//% endfor
//% set total = 2 * edge
const TOTAL = ${total // 4};
";
    let matrix = [["1.0", "-0.5"], ["0.25", "2.0"]].map(|row| row.map(String::from).to_vec()).to_vec();
    let constants = [
        ("fast", Constant::Flag(true)),
        ("slow", Constant::Flag(false)),
        ("edge", Constant::Size(8)),
        ("word", Constant::Word("f32".into())),
        ("matrix", Constant::Matrix(matrix)),
    ];
    let composed = compose_files(&[("main.wgsl", main)], &kernel(&constants)).expect("composes");
    let expected = "\
const A = 9;
const B = f32(1.0);
const ROW_0 = vec2<f32>(1.0, -0.5);
const ROW_1 = vec2<f32>(0.25, 2.0);
const TOTAL = 4;
";
    assert_eq!(composed.source, expected);
}

#[test]
fn f16_is_enabled_before_anything_else() {
    let half = Kernel { element: ElementType::F16, ..kernel(&[]) };
    let main = "const HALF: ${element} = 1.0;\n";
    let composed = compose_files(&[("main.wgsl", main)], &half).expect("composes");
    assert_eq!(listing(&composed), ["- enable f16;", "main.wgsl:1 const HALF: f16 = 1.0;"]);
}

#[test]
fn f16_stays_out_of_f32_kernels() {
    assert_eq!(
        error(&[("main.wgsl", "const A = 1.0;\nconst HALF: f16 = 1.0;\n")]),
        "shaders/main.wgsl:2: the `f16` enable extension is not enabled"
    );
}

#[test]
fn the_problem_struct_follows_the_kernel() {
    let problem = Library::builtin().files().find(|(name, _)| *name == "common/problem.wgsl").expect("is there").1;
    let main = "//% include \"common/problem.wgsl\"\n@compute @workgroup_size(1) fn main() { _ = problem.width; }\n";
    let fields = Kernel { problem_fields: vec!["height".into(), "width".into()], ..kernel(&[]) };
    let composed = compose_files(&[("main.wgsl", main), ("common/problem.wgsl", problem)], &fields).expect("composes");
    let text: Vec<&str> = composed.source.lines().filter(|line| !line.starts_with("//")).collect();
    let expected = [
        "struct Problem {",
        "    height: u32,",
        "    width: u32,",
        "}",
        "@group(0) @binding(0) var<uniform> problem: Problem;",
        "@compute @workgroup_size(1) fn main() { _ = problem.width; }",
    ];
    assert_eq!(text, expected);
}

#[test]
fn every_line_keeps_its_origin() {
    let main = "\
/* A comment
   of several lines. */
//% from \"common/macros.wgsl\" import square
//% include \"common/shared.wgsl\"
fn f(x: f32) -> f32 {
    var sum = 0.0;
//% for i in range(2)
    // tap ${i}
    sum +=
        ${square('x')|trim};
//% endfor
    return sum + unit;
}";
    let macros = "\
//% macro square(x)
(${x}
    * ${x})
//% endmacro
";
    let shared = "// shared\nconst unit = 1.0;";
    let files = [("main.wgsl", main), ("common/macros.wgsl", macros), ("common/shared.wgsl", shared)];
    let composed = compose_files(&files, &kernel(&[])).expect("composes");
    let expected = [
        "main.wgsl:1 /* A comment",
        "main.wgsl:2 of several lines. */",
        "common/shared.wgsl:1 // shared",
        "common/shared.wgsl:2 const unit = 1.0;",
        "main.wgsl:5 fn f(x: f32) -> f32 {",
        "main.wgsl:6 var sum = 0.0;",
        "main.wgsl:8 // tap 0",
        "main.wgsl:9 sum +=",
        "common/macros.wgsl:2 (x",
        "main.wgsl:10 * x);",
        "main.wgsl:8 // tap 1",
        "main.wgsl:9 sum +=",
        "common/macros.wgsl:2 (x",
        "main.wgsl:10 * x);",
        "main.wgsl:12 return sum + unit;",
        "main.wgsl:13 }",
    ];
    assert_eq!(listing(&composed), expected);
    assert!(!composed.source.contains('\u{1}'));
    assert_eq!(composed.origin(0), None);
    assert_eq!(composed.origin(expected.len() + 1), None);
}

#[test]
fn imported_macros_see_the_constants() {
    let main = "//% from \"m.wgsl\" import line\n${line()}";
    let macros = "//% macro line()\nconst A = ${edge};\n//% endmacro\n";
    let composed = compose_files(&[("main.wgsl", main), ("m.wgsl", macros)], &kernel(&[("edge", Constant::Size(3))])).expect("composes");
    assert_eq!(composed.source.trim(), "const A = 3;");
}

#[test]
fn unknown_shader_lists_the_known_ones() {
    let library = Library::new([("gemm.wgsl", ""), ("direct.wgsl", ""), ("common/problem.wgsl", "")]);
    let error = library.compose(&kernel(&[])).expect_err("should fail");
    assert_eq!(error.to_string(), "unknown shader 'main': known are direct, gemm");
}

#[test]
fn unknown_include_names_the_line() {
    let main = "const A = 1;\n\n//% include \"common/nope.wgsl\"\n";
    assert_eq!(error(&[("main.wgsl", main)]), "shaders/main.wgsl:3: unknown include 'common/nope.wgsl'");
}

#[test]
fn unknown_include_is_an_error_even_behind_a_false_condition() {
    let main = "//% include \"a.wgsl\"\n";
    let inner = "//% if false\n  //%   from 'nope.wgsl' import x\n//% endif\n";
    assert_eq!(error(&[("main.wgsl", main), ("a.wgsl", inner)]), "shaders/a.wgsl:2: unknown include 'nope.wgsl'");
}

#[test]
fn unknown_include_by_a_computed_name_names_the_line() {
    let main = "//% set name = 'no' ~ 'pe.wgsl'\n//% include name\n";
    assert_eq!(
        error(&[("main.wgsl", main)]),
        "shaders/main.wgsl:2: template not found: tried to include non-existing template 'nope.wgsl'"
    );
}

#[test]
fn include_cycle_shows_the_way() {
    let files = [
        ("main.wgsl", "//% include \"a.wgsl\"\n"),
        ("a.wgsl", "// a\n//% include \"b.wgsl\"\n"),
        ("b.wgsl", "//% import \"a.wgsl\" as a\n"),
    ];
    assert_eq!(error(&files), "shaders/b.wgsl:1: include cycle a.wgsl -> b.wgsl -> a.wgsl");
    assert_eq!(error(&[("main.wgsl", "//% include \"main.wgsl\"\n")]), "shaders/main.wgsl:1: include cycle main.wgsl -> main.wgsl");
}

#[test]
fn including_a_file_twice_is_no_cycle() {
    let main = "//% include \"a.wgsl\"\n//% include \"a.wgsl\"\nconst A = 1;\n";
    compose_files(&[("main.wgsl", main), ("a.wgsl", "// nothing\n")], &kernel(&[])).expect("composes");
}

#[test]
fn undefined_names_are_errors() {
    let value = [("main.wgsl", "const A = 1;\nconst B = ${sise};\n")];
    let condition = [("main.wgsl", "//% if fast\nconst A = 1;\n//% endif\n")];
    let included = [("main.wgsl", "\n//% include \"a.wgsl\"\n"), ("a.wgsl", "//% for i in rows\n//% endfor\n")];
    let argument =
        [("main.wgsl", "//% from \"a.wgsl\" import m\n\n${m(1)}\n"), ("a.wgsl", "//% macro m(x, y)\n${x}\n${y}\n//% endmacro\n")];
    let imported = [("main.wgsl", "\n//% from \"a.wgsl\" import load\n${load()}\n"), ("a.wgsl", "// nothing\n")];
    let expected = [
        "shaders/main.wgsl:2: undefined value: `sise` is undefined",
        "shaders/main.wgsl:1: undefined value: `fast` is undefined",
        "shaders/a.wgsl:1: undefined value: `rows` is undefined",
        "shaders/a.wgsl:3: undefined value",
        "shaders/main.wgsl:3: invalid operation: value of type undefined is not callable (`load` is undefined, from line 2)",
    ];
    assert_eq!([error(&value), error(&condition), error(&included), error(&argument), error(&imported)], expected);
}

#[test]
fn template_syntax_errors_name_the_line() {
    let statement = [("main.wgsl", "const A = 1;\n//% for in x\n")];
    let unclosed = [("main.wgsl", "const A = 1;\n//% if true\nconst B = 2;\n")];
    let value = [("main.wgsl", "//% include \"a.wgsl\"\n"), ("a.wgsl", "// one\nconst A = ${1 * };\n")];
    let unknown = [("main.wgsl", "//% fro i in x\n")];
    let expected = [
        "shaders/main.wgsl:2: syntax error: unexpected end of input, expected end of block",
        "shaders/main.wgsl:3: syntax error: unexpected end of input, expected end of block",
        "shaders/a.wgsl:2: syntax error: unexpected end of variable block",
        "shaders/main.wgsl:1: syntax error: unknown statement fro",
    ];
    assert_eq!([error(&statement), error(&unclosed), error(&value), error(&unknown)], expected);
}

#[test]
fn wgsl_parse_errors_name_the_original_line() {
    let main = "//% for i in range(100)\n// ${i}\n//% endfor\n//% include \"a.wgsl\"\n";
    let name = [("main.wgsl", main), ("a.wgsl", "const A = 1;\nconst B = nope;\n")];
    let token = [("main.wgsl", "fn f() {\n  let x = 1\n}\n")];
    let kind = [("main.wgsl", "fn f() {\n\n  let x: i32 = 1.5;\n}\n")];
    let expected = [
        "shaders/a.wgsl:2: no definition in scope for identifier: `nope`",
        "shaders/main.wgsl:3: expected `;`, found \"}\"",
        "shaders/main.wgsl:3: the type of `x` is expected to be `i32`, but got `{AbstractFloat}`",
    ];
    assert_eq!([error(&name), error(&token), error(&kind)], expected);
}

#[test]
fn wgsl_validation_errors_name_the_original_line() {
    let main = "\
//% if true
@compute @workgroup_size(1)
fn main() {
    broken(1u);
}
//% endif
//% include \"a.wgsl\"
";
    let a = "@group(0) @binding(0) var<storage> a: u32;\nfn broken(x: u32) {\n    a = x;\n}\n";
    let twice = "\
@group(0) @binding(0) var<storage> a: u32;
@group(0) @binding(0) var<storage> b: u32;
@compute @workgroup_size(1) fn main() { _ = a + b; }
";
    let expected = [
        "shaders/a.wgsl:3: Function [0] 'broken' is invalid: The pointer [1] doesn't relate to a valid destination for a store",
        "shaders/main.wgsl:2: Entry point main at Compute is invalid: Bindings for [1] conflict with other resource",
    ];
    assert_eq!([error(&[("main.wgsl", main), ("a.wgsl", a)]), error(&[("main.wgsl", twice)])], expected);
}

#[test]
fn a_constant_must_not_hide_what_every_template_has() {
    let kernel = kernel(&[("element", Constant::Word("u8".into()))]);
    let error = compose_files(&[("main.wgsl", "")], &kernel).expect_err("should fail");
    assert_eq!(error.to_string(), "shader 'main': constant 'element' has the name of a value every template has");
}

#[test]
fn the_builtin_library_holds_the_shader_folder() {
    let library = Library::builtin();
    assert!(library.files().any(|(name, _)| name == "common/problem.wgsl"));
    assert!(library.shaders().all(|name| !name.contains('/')));
}
