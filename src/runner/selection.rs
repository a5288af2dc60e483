//! Which algorithms and variants a run is about: the `--algorithm` patterns.
//!
//! A pattern is a glob on an id (`winograd*`), or on an id and a variant (`im2col:strip=*`); `!` in front leaves out what
//! it matches. `im2col:strip=3`, written without glob characters, asks for that very variant, whether or not the algorithm
//! would propose it. `auto` asks for the one case of each layer that the cost model chooses, among all that are not left out.

use super::RunnerError;
use crate::algorithm::{Algorithm, Variant, VariantError};
use crate::record::CaseKey;
use globset::{Glob, GlobMatcher};

/// The pattern that is no pattern.
const AUTO: &str = "auto";

/// The algorithms and variants to run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Of each layer the case that the cost model chooses, beside those wanted.
    auto: bool,
    /// Empty: every algorithm.
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    id: GlobMatcher,
    variant: Option<VariantPattern>,
}

#[derive(Debug, Clone)]
enum VariantPattern {
    Exactly(Variant),
    Glob(GlobMatcher),
}

impl Selection {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Reads patterns; none select everything, and so does a list that only leaves out.
    ///
    /// # Errors
    /// [`RunnerError::Pattern`] for what is not a glob or not a variant, [`RunnerError::UnknownAlgorithm`] for a pattern whose
    /// id part matches no algorithm.
    pub fn parse(patterns: &[String], algorithms: &[&dyn Algorithm]) -> Result<Self, RunnerError> {
        let mut selection = Self::default();
        for text in patterns {
            if text == AUTO {
                selection.auto = true;
                continue;
            }
            let (list, rest) = match text.strip_prefix('!') {
                Some(rest) => (&mut selection.unwanted, rest),
                None => (&mut selection.wanted, text.as_str()),
            };
            list.push(Pattern::parse(text, rest, algorithms)?);
        }
        Ok(selection)
    }

    /// Whether a layer's case is to be chosen by the cost model.
    pub fn is_auto(&self) -> bool {
        self.auto
    }

    /// Whether a pattern beside `auto` asks for a case.
    pub(super) fn names(&self, case: &CaseKey) -> bool {
        self.wanted.iter().any(|p| p.matches(&case.algorithm, &case.variant))
    }

    /// Every case is a candidate where no pattern asks for any, and where one is to be chosen.
    fn wants_all(&self) -> bool {
        self.auto || self.wanted.is_empty()
    }

    /// Whether some of the algorithm's variants may be selected.
    pub(super) fn wants(&self, id: &str) -> bool {
        let wanted = self.wants_all() || self.wanted.iter().any(|p| p.id.is_match(id));
        wanted && !self.unwanted.iter().any(|p| p.variant.is_none() && p.id.is_match(id))
    }

    /// What is selected of the variants that an algorithm proposes, followed by those asked for by name.
    pub(super) fn choose(&self, id: &str, proposed: Vec<Variant>) -> Vec<Variant> {
        let wanted = |variant: &Variant| self.wants_all() || self.wanted.iter().any(|p| p.matches(id, variant));
        let mut chosen: Vec<Variant> = proposed.into_iter().filter(wanted).collect();
        for pattern in self.wanted.iter().filter(|p| p.id.is_match(id)) {
            match &pattern.variant {
                Some(VariantPattern::Exactly(variant)) if !chosen.contains(variant) => chosen.push(variant.clone()),
                _ => {}
            }
        }
        chosen.retain(|variant| !self.unwanted.iter().any(|p| p.matches(id, variant)));
        chosen
    }

    /// Holds the selection against the cases it led to: a pattern that selects nothing is a mistake to be told of. `cases` are
    /// the cases, each with whether it stands for the whole algorithm.
    ///
    /// # Errors
    /// [`RunnerError::NothingSelected`] names the first pattern without a case, [`RunnerError::NothingLeft`] the last one that
    /// leaves out, where no case is left.
    pub(super) fn check(&self, cases: &[(&CaseKey, bool)]) -> Result<(), RunnerError> {
        let idle =
            |pattern: &&Pattern| {
                !cases.iter().any(|&(case, whole)| {
                    if whole { pattern.id.is_match(&case.algorithm) } else { pattern.matches(&case.algorithm, &case.variant) }
                })
            };
        match (self.wanted.iter().find(idle), self.unwanted.last()) {
            (Some(pattern), _) => Err(RunnerError::NothingSelected { pattern: pattern.text.clone() }),
            (None, Some(pattern)) if cases.is_empty() => Err(RunnerError::NothingLeft { pattern: pattern.text.clone() }),
            (None, _) => Ok(()),
        }
    }
}

impl Pattern {
    fn parse(text: &str, pattern: &str, algorithms: &[&dyn Algorithm]) -> Result<Self, RunnerError> {
        let error = |problem: String| RunnerError::Pattern { pattern: text.to_owned(), problem };
        let glob = |part: &str| Glob::new(part).map(|g| g.compile_matcher()).map_err(|e| error(e.kind().to_string()));
        let (id, variant) = match pattern.split_once(':') {
            Some((id, variant)) => (id, Some(variant)),
            None => (pattern, None),
        };
        let matcher = glob(id)?;
        if !algorithms.iter().any(|a| matcher.is_match(a.id())) {
            let known = algorithms.iter().map(|a| a.id()).collect::<Vec<_>>().join(", ");
            return Err(RunnerError::UnknownAlgorithm { pattern: text.to_owned(), known });
        }
        let is_glob = pattern.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let variant = match variant {
            None => None,
            Some(part) if is_glob => Some(VariantPattern::Glob(glob(part)?)),
            Some(part) => Some(VariantPattern::Exactly(part.parse().map_err(|e: VariantError| error(e.to_string()))?)),
        };
        Ok(Self { text: text.to_owned(), id: matcher, variant })
    }

    fn matches(&self, id: &str, variant: &Variant) -> bool {
        self.id.is_match(id)
            && match &self.variant {
                None => true,
                Some(VariantPattern::Exactly(exactly)) => exactly == variant,
                Some(VariantPattern::Glob(glob)) => glob.is_match(variant.to_string()),
            }
    }
}
