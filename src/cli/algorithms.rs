//! `convledger algorithms`: what there is to compare.

use super::compare::markdown;
use super::table::{lines, table};
use super::{Outcome, print};
use crate::algorithm::{ALGORITHMS, Algorithm};
use crate::conv::Pass;

#[derive(clap::Args)]
pub(super) struct Args {
    /// A table for terminals, or one for documents
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Markdown,
}

const HEADER: [&str; 6] = ["algorithm", "types", "passes", "variants", "workspace (elements)", "method"];

const LEGEND: &str = "N batch, C/K input/output channels, g groups, D*H*W input, T*R*S kernel, O*P*Q output; elements of 4 bytes in f32.";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match args.format {
        Format::Table => {
            let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
            let rows = ALGORITHMS.iter().map(|a| {
                let [id, types, passes, summary] = texts(*a);
                vec![id, types, passes, or_dash(a.knobs().join(", ")), a.workspace_formula().to_owned(), summary]
            });
            print(&format!("{}\n{LEGEND}\n", lines(&table(&HEADER, rows))))?;
        }
        Format::Markdown => {
            let code = |text: &str| format!("`{text}`");
            let rows: Vec<Vec<String>> = ALGORITHMS
                .iter()
                .map(|a| {
                    let [id, types, passes, summary] = texts(*a);
                    let knobs: Vec<String> = a.knobs().iter().map(|knob| code(knob)).collect();
                    vec![code(&id), types, passes, knobs.join(", "), code(a.workspace_formula()), summary]
                })
                .collect();
            print(&markdown::table(&HEADER, &rows))?;
        }
    }
    Ok(Outcome::Good)
}

/// Id, element types, passes and method.
fn texts(algorithm: &dyn Algorithm) -> [String; 4] {
    let types = algorithm.elements().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let passes = if algorithm.passes() == Pass::ALL {
        "all".to_owned()
    } else {
        algorithm.passes().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    [algorithm.id().to_owned(), types, passes, algorithm.summary().to_owned()]
}
