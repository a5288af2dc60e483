//! From claims and a run's rows to the rows of `claims.csv`; and from claims to what a run must measure for them.

use super::claimed::{Judgement, is_of_bytes, judge};
use super::expression::{Answer, Evaluator, Fault};
use super::file::{Claim, Figure, Ours};
use super::measured::{Book, Measurements, Needs, Want};
use super::{ClaimError, Contexts, Row, Source, Verdict};
use crate::plan::DeviceClass;
use crate::record::Measurement;
use crate::suite::{Layer, Suite};
use globset::Glob;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// The claims whose id matches one of the patterns; all where there is none.
///
/// # Errors
/// [`ClaimError::Pattern`] for what is not a glob, [`ClaimError::NoSuchClaim`] for a pattern that matches no id.
pub fn select(claims: Vec<Claim>, patterns: &[String]) -> Result<Vec<Claim>, ClaimError> {
    let mut kept = vec![patterns.is_empty(); claims.len()];
    for pattern in patterns {
        let wrong = |problem: String| ClaimError::Pattern { pattern: pattern.clone(), problem };
        let glob = Glob::new(pattern).map_err(|error| wrong(error.kind().to_string()))?.compile_matcher();
        let mut found = false;
        for (claim, kept) in claims.iter().zip(&mut kept) {
            let matches = glob.is_match(&claim.id);
            found |= matches;
            *kept |= matches;
        }
        if !found {
            let known = claims.iter().map(|claim| claim.id.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ClaimError::NoSuchClaim { pattern: pattern.clone(), known });
        }
    }
    Ok(claims.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(claim, _)| claim).collect())
}

/// What measured figures are taken from.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Rows of a run.
    pub rows: &'a [Measurement],
    /// The class of its device.
    pub class: DeviceClass,
    /// What was measured of several models at once.
    pub contexts: &'a Contexts,
}

/// A row for each figure of each claim, in order; measured ones from the evidence, where there is some.
/// Times of a software driver decide nothing.
///
/// # Errors
/// [`ClaimError::Content`] names the place of an expression that goes wrong with what was measured.
pub fn audit(claims: &[Claim], evidence: Option<Evidence<'_>>) -> Result<Vec<Row>, ClaimError> {
    let book = evidence.map(|evidence| Evaluator::new(&(Arc::new(Book::new(&evidence)) as Arc<dyn Measurements>)));
    let mut rows = Vec::new();
    for claim in claims {
        let first = rows.len();
        for figure in &claim.figures {
            rows.push(row(claim, figure, book.as_ref())?);
        }
        let verdict = overall(&rows[first..]);
        rows[first..].iter_mut().for_each(|row| row.claim_verdict = verdict);
    }
    Ok(rows)
}

/// The verdict on a claim as a whole: the worst among its figures by closed form and those that were measured. Figures that could not
/// be measured count only where the claim has none by closed form.
pub fn overall(rows: &[Row]) -> Verdict {
    let closed = rows.iter().any(|row| row.source == Source::ClosedForm);
    let counts = |row: &&Row| !closed || row.source == Source::ClosedForm || row.verdict.is_decided();
    rows.iter().filter(counts).map(|row| row.verdict).min().unwrap_or(Verdict::NotMeasured)
}

fn row(claim: &Claim, figure: &Figure, book: Option<&Evaluator>) -> Result<Row, ClaimError> {
    let mut row = Row {
        id: claim.id.clone(),
        article: claim.article.clone(),
        statement: claim.statement.clone(),
        figure: figure.name.clone(),
        source: Source::Measured,
        claimed: figure.claimed.clone(),
        unit: figure.unit.clone(),
        ours: None,
        ours_unit: String::new(),
        reading: String::new(),
        ours_in_reading: None,
        deviation_percent: None,
        verdict: Verdict::NotTestableHere,
        claim_verdict: Verdict::NotTestableHere,
        how: String::new(),
        reason: String::new(),
    };
    let expression = match &figure.ours {
        Ours::Expression(expression) => expression,
        Ours::NotTestable(reason) => {
            row.reason.clone_from(reason);
            return Ok(row);
        }
    };
    row.how = how(claim, expression);
    let needs = Arc::new(Needs::default());
    let closed = evaluator(&needs).evaluate(expression, &claim.with);
    let measured = !needs.taken().is_empty() || expression.contains("measured_") || expression.contains("fastest(");
    if !measured {
        row.source = Source::ClosedForm;
    }
    let answer = match (measured, closed, book) {
        // What is not there needs no measuring to be told.
        (_, Ok(Answer::NotTestable(why)), _) => Answer::NotTestable(why),
        (false, answer, _) => answer.map_err(|fault| fault_at(figure, &fault))?,
        (true, _, Some(book)) => book.evaluate(expression, &claim.with).map_err(|fault| fault_at(figure, &fault))?,
        (true, _, None) => Answer::NotMeasured("measured with --measure, or taken from the run of --run".into()),
    };
    match answer {
        Answer::Figures(figures) => decide(&mut row, claim, figure, &figures),
        Answer::NotTestable(why) => row.reason = why,
        Answer::NotMeasured(why) => (row.verdict, row.reason) = (Verdict::NotMeasured, why),
    }
    Ok(row)
}

fn decide(row: &mut Row, claim: &Claim, figure: &Figure, figures: &[(String, f64)]) {
    let fit = |judgement: &Judgement| (judgement.verdict, judgement.distance());
    let judged = figures.iter().map(|(name, ours)| (name, *ours, judge(figure.value, &figure.unit, *ours)));
    let best = judged.reduce(|best, other| {
        let ((verdict, deviation), (best_verdict, best_deviation)) = (fit(&other.2), fit(&best.2));
        if verdict > best_verdict || (verdict == best_verdict && deviation < best_deviation) { other } else { best }
    });
    let Some((name, ours, judgement)) = best else { return };
    let mut reasons = Vec::new();
    if !name.is_empty() {
        reasons.push(format!("of {} the closest: {name}", figures.len()));
    }
    reasons.extend(judgement.note.map(str::to_owned));
    if !claim.note.is_empty() {
        reasons.push(claim.note.clone());
    }
    row.ours = Some(ours);
    row.ours_unit = if is_of_bytes(&figure.unit) { "B".into() } else { figure.unit.clone() };
    row.reading = judgement.reading;
    row.ours_in_reading = Some(judgement.ours);
    row.deviation_percent = judgement.deviation_percent;
    row.verdict = judgement.verdict;
    row.reason = reasons.join("; ");
}

/// A place for evaluating expressions that takes down what they need.
fn evaluator(needs: &Arc<Needs>) -> Evaluator {
    let needs: Arc<dyn Measurements> = Arc::<Needs>::clone(needs);
    Evaluator::new(&needs)
}

/// The expression, and what the names in it stand for.
fn how(claim: &Claim, expression: &str) -> String {
    let mut text = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    for (name, value) in &claim.with {
        let mut words = expression.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| word == name) {
            let _ = write!(text, "; {name} = {value}");
        }
    }
    text
}

fn fault_at(figure: &Figure, fault: &Fault) -> ClaimError {
    ClaimError::Content { place: figure.place.clone(), problem: crate::suite::printable(&fault.problem) }
}

/// What a run must measure for the claims: suites named `claims`, each with the patterns of the cases that its layers need.
pub fn needed(claims: &[Claim]) -> Vec<(Suite, Vec<String>)> {
    let needs = Arc::new(Needs::default());
    let evaluator = evaluator(&needs);
    for claim in claims {
        for figure in &claim.figures {
            if let Ours::Expression(expression) = &figure.ours {
                // Faults were told when the file was read, or are told when the claims are audited.
                let _ = evaluator.evaluate(expression, &claim.with);
            }
        }
    }
    let mut groups: BTreeMap<Want, Vec<Layer>> = BTreeMap::new();
    for (name, (conv, want)) in needs.taken() {
        groups.entry(want).or_default().push(Layer { name, conv, count: 1 });
    }
    let suite = |layers| Suite { name: "claims".into(), description: "what claims are held against".into(), layers };
    let patterns = |want| match want {
        Want::Cases(cases) => cases.into_iter().collect(),
        Want::All => vec!["!direct".to_owned()],
    };
    // What few cases answer comes first, should the time be short.
    groups.into_iter().map(|(want, layers)| (suite(layers), patterns(want))).collect()
}
