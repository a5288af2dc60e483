//! `convledger algorithms`: what there is to compare.

use super::table::{lines, table};
use super::{Outcome, print};
use crate::algorithm::ALGORITHMS;

#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    let rows = ALGORITHMS.iter().map(|a| {
        let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        let types = a.elements().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        vec![a.id().to_owned(), types, or_dash(a.knobs().join(", ")), a.workspace_formula().to_owned(), a.summary().to_owned()]
    });
    let text = lines(&table(&["algorithm", "types", "variants", "workspace (elements)", "method"], rows));
    let legend = "N batch, C/K input/output channels, g groups, T*R*S kernel, O*P*Q output; elements of 4 bytes in f32.\n\
        In f16 elements of 2 bytes, but those of split=s and of Winograd's methods stay f32.";
    print(&format!("{text}\n{legend}\n"))?;
    Ok(Outcome::Good)
}
