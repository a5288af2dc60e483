//! The expressions that our figures are computed by: minijinja's, without its own functions and filters, with those of [`FUNCTIONS`].
//!
//! An expression has no loops and a ration of fuel, so it ends. As minijinja computes what is constant when it compiles, where no fuel is
//! counted, numbers are handed to it as variables. Its value is a number, or names with numbers (`{'a': 1, 'b': 2}`), of
//! which the one that fits best is taken.

use super::measured::{Measurements, Stop};
use super::{closed, measured};
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use std::collections::BTreeMap;
use std::error::Error as _;
use std::ops::Range;
use std::sync::Arc;

/// Characters of the longest expression.
const LONGEST: usize = 4000;
/// Steps of the longest evaluation.
const FUEL: u64 = 100_000;
/// Names in a value, and pairs in a list, at most.
pub(super) const MOST: usize = 1000;

/// What there is to call, for help and documentation: the form, and what it gives.
pub const FUNCTIONS: &[(&str, &str)] = &[
    ("parameters(conv, type='f32')", "bytes of the weights"),
    ("weights(conv)", "number of weights"),
    ("input(conv, type='f32')", "bytes of the input"),
    ("output(conv, type='f32')", "bytes of the output"),
    ("activations(conv, type='f32')", "bytes of input and output"),
    ("operations(conv)", "operations of the direct method"),
    ("workspace(case, conv, type='f32')", "bytes of an algorithm's workspace by closed form; case as 'im2col:batch'"),
    ("workspaces(conv)", "the same of every algorithm and variant, by name"),
    ("total(case, conv)", "bytes of all three ledgers"),
    ("batch(conv, n)", "the convolution over n images"),
    (
        "network(suite, what, batch=1, size=none, align=1)",
        "parameters, weights, channels (of outputs), outputs, activations or operations of a built-in suite, times its counts",
    ),
    (
        "training(parameters, gradients=true, optimizer='adam', precision='f32')",
        "bytes of weights with gradients and the state of sgd (none), momentum, adam or adagrad; in mixed precision with master weights",
    ),
    ("checkpoints(n)", "activations held at once by the best equal segments of a chain of n layers"),
    (
        "recomputed(suite, every=none)",
        "operations that checkpoints every so many layers run again; without a number those with the fewest bytes",
    ),
    ("align(bytes, to)", "rounded up to a multiple"),
    ("fit_exponent([[x, y], ...])", "the exponent b of y = a*x**b by least squares in logarithms"),
    ("growth(before, after)", "the change in percent"),
    ("minimum(values)", "of a list or of names with numbers"),
    ("maximum(values)", "the same"),
    ("measured_time(case, conv)", "median nanoseconds in the run; a case without variant is the fastest of its variants"),
    ("measured_workspace(case, conv)", "bytes that the run's device handed out as workspace"),
    (
        "measured_contexts(arrangement, column)",
        "a column of contexts.csv in the run's folder, over the processes of one, two_plans, two_devices or two_processes (`experiment contexts`)",
    ),
    ("measured_workspaces(conv)", "the same of every case of the run, by name"),
    ("measured_activations(case, conv)", "the same as input and output"),
    ("measured_parameters(case, conv)", "the same as weights"),
    ("fastest(conv, limit=none)", "the fastest case in the run, of those with no more workspace than a limit"),
    (
        "measured_network(suite, what, case=none, limit=none)",
        "time of a network's layers in sequence, or the largest workspace among them, with one case or each layer's fastest",
    ),
];

/// What an expression comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// Figures to choose from, with their names; a single one without.
    Figures(Vec<(String, f64)>),
    /// What it needs is not there, and is no matter of measuring.
    NotTestable(String),
    /// What it needs was not measured.
    NotMeasured(String),
}

/// What is wrong with an expression, and where in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub(super) problem: String,
    pub(super) range: Option<Range<usize>>,
}

impl Fault {
    fn of(error: &Error) -> Self {
        let problem = match error.detail() {
            Some(detail) if matches!(error.kind(), ErrorKind::InvalidOperation | ErrorKind::SyntaxError) => detail.to_owned(),
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self { problem, range: error.range() }
    }
}

/// A place for evaluating expressions, with what was measured.
pub(super) struct Evaluator(Environment<'static>);

impl Evaluator {
    /// With measurements to ask.
    pub(super) fn new(measurements: &Arc<dyn Measurements>) -> Self {
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_debug(true);
        environment.set_fuel(Some(FUEL));
        closed::add(&mut environment);
        measured::add(&mut environment, measurements);
        Self(environment)
    }

    /// Evaluates an expression with some names set.
    pub(super) fn evaluate(&self, text: &str, names: &BTreeMap<String, Value>) -> Result<Answer, Fault> {
        let plain = |problem: String| Fault { problem, range: None };
        if text.chars().count() > LONGEST {
            return Err(plain(format!("the expression has more than {LONGEST} characters")));
        }
        let lifted = self.lift(text)?;
        let fault = |error: &Error| {
            let Fault { problem, range } = Fault::of(error);
            Fault { problem, range: range.map(|range| lifted.place(range.start)..lifted.place(range.end)) }
        };
        let compiled = self.0.compile_expression(&lifted.text).map_err(|error| fault(&error))?;
        let mut names = names.clone();
        names.extend(lifted.numbers.iter().cloned());
        match compiled.eval(Value::from_pairs(names)) {
            Ok(value) => figures(&value).map(Answer::Figures).map_err(plain),
            Err(error) => match error.source().and_then(|source| source.downcast_ref::<Stop>()) {
                Some(Stop::NotHere(why)) => Ok(Answer::NotTestable(why.clone())),
                Some(Stop::NotMeasured(why)) => Ok(Answer::NotMeasured(why.clone())),
                Some(Stop::Wrong(_)) | None => Err(fault(&error)),
            },
        }
    }

    /// Takes the numbers out of an expression.
    fn lift(&self, text: &str) -> Result<Lifted, Fault> {
        let mut lifted = Lifted { text: String::with_capacity(text.len()), numbers: Vec::new(), moved: Vec::new() };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let at = text.len() - rest.len();
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let length = match first {
                '\'' | '"' => quoted(rest),
                '0'..='9' => number_length(rest),
                c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            let (token, after) = rest.split_at(length);
            rest = after;
            if !first.is_ascii_digit() {
                lifted.text += token;
                continue;
            }
            let whole = || Some(at..at + length);
            let value = self.0.compile_expression(token).and_then(|number| number.eval(()));
            let value = value.map_err(|error| Fault { range: whole(), ..Fault::of(&error) })?;
            let name = format!("__{}", lifted.numbers.len());
            lifted.text += &name;
            lifted.moved.push((lifted.text.len(), at + length));
            lifted.numbers.push((name, value));
        }
        Ok(lifted)
    }
}

/// An expression with names in the place of its numbers.
struct Lifted {
    text: String,
    numbers: Vec<(String, Value)>,
    /// Where each name ends, and where its number ended.
    moved: Vec<(usize, usize)>,
}

impl Lifted {
    /// The place in the expression as it was of one in `text`; of one in a name, near its number.
    fn place(&self, at: usize) -> usize {
        let before = self.moved.iter().rev().find(|(end, _)| *end <= at);
        before.map_or(at, |(end, was)| was + (at - end))
    }
}

/// Bytes of the quoted text that `text` begins with; all where it does not end.
fn quoted(text: &str) -> usize {
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, c)| c);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            c if Some(c) == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Bytes of the number that `text` begins with, such as `1_000`, `0.5`, `1e-3`, `0x10`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(&byte) = bytes.get(end) {
        let follows = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        let signed = matches!(byte, b'+' | b'-')
            && matches!(bytes.get(end.wrapping_sub(1)), Some(b'e' | b'E'))
            && follows
            && !text.starts_with("0x");
        if byte.is_ascii_alphanumeric() || byte == b'_' || (byte == b'.' && follows) || signed {
            end += 1;
        } else {
            break;
        }
    }
    end
}

fn figures(value: &Value) -> Result<Vec<(String, f64)>, String> {
    if value.kind() == ValueKind::Map {
        let pairs = named(value)?;
        return if pairs.is_empty() { Err("the expression gives no figure at all".into()) } else { Ok(pairs) };
    }
    Ok(vec![(String::new(), number(value)?)])
}

/// The names and numbers of a map.
pub(super) fn named(map: &Value) -> Result<Vec<(String, f64)>, String> {
    let keys = map.try_iter().map_err(|error| error.to_string())?;
    let mut pairs = Vec::new();
    for key in keys.take(MOST) {
        let value = map.get_item(&key).map_err(|error| error.to_string())?;
        pairs.push((key.to_string(), number(&value)?));
    }
    Ok(pairs)
}

/// A finite number.
pub(super) fn number(value: &Value) -> Result<f64, String> {
    if value.kind() != ValueKind::Number {
        let what = if value.is_undefined() {
            "nothing: a name in it is not known".into()
        } else {
            format!("a {}, not a number or names with numbers", value.kind())
        };
        return Err(format!("the expression gives {what}"));
    }
    let number = f64::try_from(value.clone()).map_err(|error| error.to_string())?;
    if number.is_finite() { Ok(number) } else { Err(format!("the expression gives {number}, which is no figure")) }
}

#[cfg(test)]
mod tests {
    use super::super::measured::Needs;
    use super::*;

    fn evaluate(text: &str) -> Result<Answer, Fault> {
        Evaluator::new(&(Arc::new(Needs::default()) as Arc<dyn Measurements>))
            .evaluate(text, &BTreeMap::from([("c".to_owned(), Value::from("n1c3h8w8_k4r3s3_p1"))]))
    }

    #[track_caller]
    fn value(text: &str) -> f64 {
        match evaluate(text) {
            Ok(Answer::Figures(figures)) if figures.len() == 1 => figures[0].1,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "all are whole numbers and exact")]
    fn closed_forms_are_those_of_the_ledger() {
        assert_eq!(value("parameters(c)"), 432.0);
        assert_eq!(value("parameters(c, type='int8')"), 108.0);
        assert_eq!(value("[weights(c), 1][0]"), 108.0);
        assert_eq!(value("input(c) + output(c) - activations(c)"), 0.0);
        assert_eq!(value("workspace('im2col:batch', c)"), 3.0 * 9.0 * 64.0 * 4.0);
        assert_eq!(value("workspaces(batch(c, 2))['im2col:image']"), 3.0 * 9.0 * 64.0 * 4.0);
        assert_eq!(value("total('direct', c)"), 432.0 + 768.0 + 1024.0);
        assert_eq!(value("network('resnet50', 'weights')"), 23_454_912.0);
        assert_eq!(value("network('resnet18', 'weights')"), 11_166_912.0);
        assert_eq!(value("align(129, 128) + align(128, 128)"), 384.0);
        assert_eq!(value("training(10) + training(10, gradients=false) + training(10, gradients=false, optimizer='sgd')"), 320.0);
        assert_eq!(value("training(1, optimizer='momentum', precision='mixed')"), 12.0);
        assert_eq!(value("checkpoints(100)"), 20.0);
        assert_eq!(value("recomputed('resnet50', every=1)"), 0.0);
        assert!((0.5..1.0).contains(&value("recomputed('resnet50') / network('resnet50', 'operations')")));
        assert_eq!(value("growth(4, 3)"), -25.0);
        assert_eq!(value("maximum({'a': 1, 'b': 7}) + minimum([3, 2])"), 9.0);
        assert!((value("fit_exponent([[1, 3], [2, 12], [4, 48]])") - 2.0).abs() < 1e-12);
    }

    #[test]
    fn every_function_listed_is_there() {
        for (form, _) in FUNCTIONS {
            let name = form.split('(').next().expect("a name");
            let fault = evaluate(&format!("{name}(nothing=1)")).expect_err(form);
            assert!(!fault.problem.contains("unknown function"), "{form}: {fault:?}");
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "all are whole numbers or halves and exact")]
    fn numbers_are_what_they_were() {
        assert_eq!(value("1_000 + 0x10 - 2.5e1 * 4e-1 + 5 // 2 - 2**3"), 1000.0 + 16.0 - 10.0 + 2.0 - 8.0);
        assert_eq!(value("{'a1': 7, \"2\": 1}['a1'] + [1, 2, 3][2] - -1"), 11.0);
        let fault = evaluate("10 + 20 + nonsense(30)").expect_err("unknown");
        assert_eq!(fault.range.expect("a place").start, 10);
        assert!(evaluate("12monkeys").is_err() && evaluate("1.2.3").is_err());
    }

    #[test]
    fn what_is_not_there_yet_is_no_fault() {
        let Ok(Answer::NotTestable(why)) = evaluate("workspace('quantum:batch', c)") else { panic!("an answer") };
        assert_eq!(why, "no algorithm quantum here");
        let Ok(Answer::NotTestable(why)) = evaluate("workspace('direct', c, type='int8')") else { panic!("an answer") };
        assert_eq!(why, "no kernels in int8 here");
    }

    #[test]
    fn faults_are_told_and_nothing_runs_for_ever() {
        let faults = [
            ("1 +", "unexpected end of input, expected expression"),
            ("parameters('x')", "'x', character 1: expected 'n'"),
            ("parameters()", "missing argument"),
            ("parameters(c, kind='f32')", "too many arguments: unknown keyword argument 'kind'"),
            ("parameters(c, type='f33')", "type 'f33' is not one of f64, f32, bf16, f16, int8"),
            ("nonsense(c)", "unknown function: nonsense is unknown"),
            ("c", "the expression gives a string, not a number or names with numbers"),
            ("{}", "the expression gives no figure at all"),
            ("unknown", "the expression gives nothing: a name in it is not known"),
            ("2.0 ** 5000", "the expression gives inf, which is no figure"),
            ("1 / 0", "unable to calculate 1 / 0"),
            (
                "network('resnet50', 'mood')",
                "'mood' of a network is not one of weights, parameters, channels, outputs, activations, operations",
            ),
            (
                "network('resnet50', 'weights', size=225)",
                "resnet50 at 225: layer 'conv1': an output of 112 at 224 is no whole number of points then",
            ),
            ("training(1, optimizer='lion')", "optimizer 'lion' is not one of sgd, momentum, adam, adagrad"),
            ("training(1, precision='f8')", "precision 'f8' is not one of f32, mixed"),
            ("recomputed('resnet50', every=0)", "recomputed: every is 0, must be at least 1"),
            ("fit_exponent([[1, 2]])", "fit_exponent: fewer than two different points"),
            ("fit_exponent([[1, 0], [2, 0]])", "fit_exponent: 0 is not above 0"),
            ("fit_exponent([[1, 1]] * 100000000)", "fit_exponent: fewer than two different points"),
            ("'a' * 90000000", "engine ran out of fuel"),
            ("('a' * (9 * 10 ** 7)) ~ ('a' * (9 * 10 ** 7))", "engine ran out of fuel"),
            ("([1] * 100000000) == ([1] * 100000000)", "engine ran out of fuel"),
            ("{{ 1 }}", "unexpected"),
        ];
        for (text, problem) in faults {
            let fault = evaluate(text).expect_err(text);
            assert!(fault.problem.contains(problem), "{text}: {}", fault.problem);
        }
        assert!(evaluate(&"(".repeat(3000)).is_err() && evaluate(&"1+".repeat(3000)).is_err());
    }
}
