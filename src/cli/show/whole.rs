//! What is shown of the whole run: limits, accuracy, what failed, surroundings.

use super::{Shown, heading, wrapped};
use crate::analysis::LayerRows;
use crate::analysis::budget::{LIMITS, WorkspaceLimit, budgets, within};
use crate::cli::summary::shortened;
use crate::cli::table::clean;
use crate::record::{Cache, Measurement, Status};
use crate::report::facts;
use std::collections::BTreeMap;
use std::fmt::Write;

/// So many results furthest from the reference.
const WORST: usize = 10;

impl Shown<'_> {
    /// Per layer and per suite, the time within each limit over that of the fastest case.
    pub(super) fn limits(&self) -> String {
        let timed: Vec<&LayerRows<'_>> = self.layers.iter().filter(|layer| layer.fastest().is_some()).collect();
        if timed.is_empty() {
            return String::new();
        }
        let name = |limit: &WorkspaceLimit| format!(">{limit}");
        let header: Vec<String> = ["layer".to_owned()].into_iter().chain(LIMITS.iter().map(name)).collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let slowdown = |slowdown: Option<f64>| slowdown.map_or_else(|| "-".to_owned(), |slowdown| format!("{slowdown:.2}x"));
        let mut rows: Vec<Vec<String>> = timed
            .iter()
            .map(|layer| {
                [self.name(layer)].into_iter().chain(LIMITS.iter().map(|&limit| slowdown(within(layer, limit).slowdown))).collect()
            })
            .collect();
        for suite in budgets(&self.layers, &LIMITS).chunk_by(|a, b| (a.suite, a.cache) == (b.suite, b.cache)) {
            let cold = if suite[0].cache == Cache::Cold { " (cold)" } else { "" };
            let whole = shortened(&clean(&format!("all of {}{cold}", suite[0].suite)));
            rows.push([whole].into_iter().chain(suite.iter().map(|budget| slowdown(budget.slowdown))).collect());
            let time = |time: Option<crate::units::Nanoseconds>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
            rows.push([String::new()].into_iter().chain(suite.iter().map(|budget| time(budget.time))).collect());
        }
        let what = "Time of the fastest case whose workspace keeps to a limit, over that of the fastest of all.";
        format!("{}{}\n{}", heading("Limits on the workspace"), wrapped(what, "", "", self.width), self.table(&header, rows))
    }

    /// The results that came nearest to the tolerance, or past it.
    pub(super) fn accuracy(&self) -> String {
        let share = |row: &Measurement| {
            Some(row.error_rel_l2? / row.tolerance.filter(|tolerance| *tolerance > 0.0)?).filter(|share| share.is_finite())
        };
        let mut checked: Vec<(&Measurement, f64)> = self.run.measurements.iter().filter_map(|row| Some((row, share(row)?))).collect();
        if checked.is_empty() {
            return String::new();
        }
        checked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let count = checked.len();
        // Variants of an algorithm round alike.
        let mut worst: Vec<(&Measurement, f64)> = Vec::new();
        for (row, share) in checked {
            let same = |(known, _): &(&Measurement, f64)| (known.case.conv, &known.case.algorithm) == (row.case.conv, &row.case.algorithm);
            if worst.len() < WORST && !worst.iter().any(same) {
                worst.push((row, share));
            }
        }
        let rows = worst.into_iter().map(|(row, share)| {
            let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.2e}"));
            let case = &row.case;
            vec![
                self.named(&case.suite, &case.layer, case.cache),
                clean(&case.variant.qualify(&case.algorithm)),
                number(row.error_rel_l2),
                number(row.tolerance),
                format!("{share:.2}"),
                number(row.error_max_abs),
                row.status.name().to_owned(),
            ]
        });
        let header = ["layer", "algorithm", ">relative L2 error", ">allowed", ">share", ">largest error", "status"];
        let which = format!("Of {count} results those furthest from the f64 reference, the worst variant of each algorithm and layer.");
        let which = wrapped(&which, "", "", self.width);
        format!("{}{which}\n{}", heading("Accuracy"), self.table(&header, rows))
    }

    /// Every failure with its reason; what did not run, by reason.
    pub(super) fn failed(&self) -> String {
        let mut text = String::new();
        let failed: Vec<Vec<String>> =
            self.run.measurements.iter().filter(|row| row.status.is_failure()).map(|row| self.reasoned(row)).collect();
        if !failed.is_empty() {
            text += &heading("Failed");
            text += &self.table(&["layer", "algorithm", "status", "reason"], failed);
        }
        // By status and algorithm, each with its reasons.
        let mut others: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
        for row in self.run.measurements.iter().filter(|row| row.status != Status::Ok && !row.status.is_failure()) {
            let key = (row.status.name(), clean(&row.case.variant.qualify(&row.case.algorithm)));
            others.entry(key).or_default().push(clean(&row.reason));
        }
        if !others.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            let row = |((status, algorithm), reasons): ((&str, String), Vec<String>)| {
                let mut told: Vec<&str> = Vec::new();
                for reason in &reasons {
                    if !told.contains(&reason.as_str()) {
                        told.push(reason);
                    }
                }
                let more = if told.len() > 1 && !self.chosen { format!("; {} more with --layer", told.len() - 1) } else { String::new() };
                let text = if self.chosen { told.join("; ") } else { format!("{}{more}", told[0]) };
                vec![status.to_owned(), algorithm, reasons.len().to_string(), text]
            };
            let _ = write!(text, "{gap}{}", heading("Not run"));
            text += &self.table(&["status", "algorithm", ">cases", "reason"], others.into_iter().map(row));
        }
        text
    }

    fn reasoned(&self, row: &Measurement) -> Vec<String> {
        let case = &row.case;
        let algorithm = clean(&case.variant.qualify(&case.algorithm));
        vec![self.named(&case.suite, &case.layer, case.cache), algorithm, row.status.name().to_owned(), clean(&row.reason)]
    }

    pub(super) fn environment(&self) -> String {
        let mut facts = facts(&self.run.environment);
        if !self.asked {
            // As many as there are, and of little use to people.
            facts.retain(|(name, _)| name != "features");
        }
        let longest = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(28);
        let line = |(name, value): &(String, String)| {
            let (name, rest) = (format!("{:<longest$}  ", clean(name)), " ".repeat(longest + 2));
            wrapped(&clean(value), &name, &rest, self.width)
        };
        heading("Environment") + &facts.iter().map(line).collect::<String>()
    }
}
