use super::fakes::ALL;
use crate::algorithm::Variant;
use crate::runner::{RunnerError, Selection};
use insta::assert_snapshot;

fn parse(patterns: &[&str]) -> Result<Selection, RunnerError> {
    Selection::parse(&patterns.iter().map(|&p| p.to_owned()).collect::<Vec<_>>(), ALL)
}

/// What is left of `strip=1`, `image`, `batch`, and what is added.
fn columns(patterns: &[&str]) -> Vec<String> {
    let proposed = vec![Variant::knob("strip", 1), Variant::word("image"), Variant::word("batch")];
    let chosen = parse(patterns).expect("patterns").choose("columns", proposed);
    chosen.iter().map(Variant::to_string).collect()
}

#[test]
fn patterns_choose_variants() {
    for (patterns, expected) in [
        (&[][..], &["strip=1", "image", "batch"][..]),
        (&["columns"], &["strip=1", "image", "batch"]),
        (&["c*"], &["strip=1", "image", "batch"]),
        (&["direct"], &[]),
        (&["columns:*a*"], &["image", "batch"]),
        (&["*:image"], &["image"]),
        (&["columns:{image,batch}"], &["image", "batch"]),
        (&["columns:strip=3"], &["strip=3"]),
        (&["columns", "columns:strip=3"], &["strip=1", "image", "batch", "strip=3"]),
        (&["columns:image", "columns:image"], &["image"]),
        (&["!columns:image"], &["strip=1", "batch"]),
        (&["!columns"], &[]),
        (&["columns:*", "!*:strip=*"], &["image", "batch"]),
        (&["columns:strip=3", "!*:strip=*"], &[]),
    ] {
        assert_eq!(columns(patterns), expected, "{patterns:?}");
    }
}

#[test]
fn an_algorithm_is_wanted_when_one_of_its_variants_may_be() {
    for (patterns, direct, columns) in [
        (&[][..], true, true),
        (&["direct"], true, false),
        (&["columns:image"], false, true),
        (&["!direct"], false, true),
        (&["!columns:image"], true, true),
        (&["*", "!direct"], false, true),
    ] {
        let selection = parse(patterns).expect("patterns");
        assert_eq!((selection.wants("direct"), selection.wants("columns")), (direct, columns), "{patterns:?}");
    }
}

#[test]
fn mistakes_are_named() {
    let message = |pattern| parse(&["direct", pattern]).expect_err(pattern).to_string();
    assert_snapshot!(message("fft*"), @"algorithm pattern 'fft*' matches none of the algorithms: direct, columns, three");
    assert_snapshot!(message("!fft:strip=2"), @"algorithm pattern '!fft:strip=2' matches none of the algorithms: direct, columns, three");
    assert_snapshot!(message("col[umns"), @"algorithm pattern 'col[umns': unclosed character class; missing ']'");
    assert_snapshot!(message("columns:strip=many"), @"algorithm pattern 'columns:strip=many': 'strip=many' is not a variant: write a word such as batch, or a word with a number such as strip=8");
    assert_snapshot!(message(""), @"algorithm pattern '' matches none of the algorithms: direct, columns, three");
}
