//! The search: successive halving over verified candidates, generation by generation, and a duel at the end.
//!
//! A generation is the best so far and some candidates never tried: those nearest to the best and, in turn, others from anywhere. Each is
//! verified before it is timed. The generation is timed in rounds, one sample of each candidate after the other so that what disturbs
//! the device disturbs all alike; after each round the slower half goes. A candidate's score is the mean over the problems of the
//! logarithm of its least time, so that a problem counts by ratios, whatever its size.
//!
//! What came out is held against the incumbent in a duel of paired samples. It takes the incumbent's place only if it is [`CLEAR`]ly
//! faster by the median of the pairs and by the least times, and still computes the right thing.

use std::collections::VecDeque;
use std::time::Duration;

/// What a challenger must gain on the incumbent, as a part of the incumbent's time.
pub const CLEAR: f64 = 0.03;
/// Candidates of a generation, the best so far among them.
const GENERATION: usize = 12;
/// Samples of each candidate in the first round of a generation; each round after it takes one more.
const FIRST_SAMPLES: usize = 2;
/// One that took this many times as long as the fastest of its generation in the first sample gets no second one.
const HOPELESS: f64 = 2.0;
/// Generations in a row without a new best that end the search.
const PATIENCE: usize = 3;
/// Pairs of a duel: at least, and at most.
const PAIRS: (usize, usize) = (5, 25);
/// Share of the budget after which no candidate is verified any more, and after which no round of a generation begins.
const SHARES: (f64, f64) = (0.7, 0.85);

/// Verifies and times candidates. What a candidate is at fault for drops it, with a reason; an error ends the search.
pub trait Measure<T> {
    /// What ends the search.
    type Error;

    /// Computes every problem with a candidate and holds the results against the reference.
    ///
    /// # Errors
    /// What is no candidate's fault.
    fn verify(&mut self, candidate: &T) -> Result<Result<(), String>, Self::Error>;

    /// One sample: nanoseconds for each problem, in an order that is always the same.
    ///
    /// # Errors
    /// What is no candidate's fault.
    fn time(&mut self, candidate: &T) -> Result<Result<Vec<f64>, String>, Self::Error>;

    /// Time spent since the search began.
    fn elapsed(&self) -> Duration;

    /// Told what the search has come to: candidates verified so far, and the best of them.
    fn progress(&mut self, verified: usize, best: &T) {
        let _ = (verified, best);
    }
}

/// What there is to try, in the order it is tried.
#[derive(Debug, Clone)]
pub struct Candidates<T> {
    first: VecDeque<T>,
    rest: Vec<T>,
    distance: fn(&T, &T) -> u32,
    near: bool,
}

impl<T: PartialEq> Candidates<T> {
    /// Those likely to be good first, the `rest` in an order without a pattern; `distance` says how much two of them differ.
    pub fn new(first: Vec<T>, rest: Vec<T>, distance: fn(&T, &T) -> u32) -> Self {
        Self { first: first.into(), rest, distance, near: false }
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn next(&mut self, best: &T) -> Option<T> {
        if let Some(first) = self.first.pop_front() {
            self.rest.retain(|other| *other != first);
            return Some(first);
        }
        self.near = !self.near;
        let nearest = |rest: &[T]| (0..rest.len()).min_by_key(|&i| (self.distance)(&rest[i], best));
        let index = if self.near { nearest(&self.rest)? } else { 0 };
        (index < self.rest.len()).then(|| self.rest.remove(index))
    }
}

/// How long a search may take.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// All of it. A duel that has begun gets its least number of pairs.
    pub budget: Duration,
}

/// A candidate that did not survive, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<T> {
    /// The candidate.
    pub candidate: T,
    /// Why: what is wrong in its result, how its process died.
    pub reason: String,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything was tried.
    Exhausted,
    /// Several generations brought nothing better.
    Settled,
    /// The time was spent.
    BudgetSpent,
}

/// A candidate with its times in the duel.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed<T> {
    /// The candidate.
    pub candidate: T,
    /// Median nanoseconds of each problem.
    pub medians: Vec<f64>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<T> {
    /// What to take from now on: the incumbent, unless another is clearly faster. None if nothing computes the right thing.
    pub winner: Option<T>,
    /// The incumbent, where it was timed.
    pub before: Option<Timed<T>>,
    /// The best of the others, where it met the incumbent.
    pub challenger: Option<Timed<T>>,
    /// How many times as fast as the incumbent the challenger is.
    pub speedup: Option<f64>,
    /// Candidates that were verified, the incumbent among them.
    pub verified: usize,
    /// Those that did not survive.
    pub dropped: Vec<Dropped<T>>,
    /// Why it ended.
    pub end: End,
}

/// A candidate in a generation, with the least time of each problem so far.
struct Entry<T> {
    candidate: T,
    least: Vec<f64>,
}

impl<T> Entry<T> {
    fn new(candidate: T) -> Self {
        Self { candidate, least: Vec::new() }
    }

    fn take(&mut self, times: &[f64]) {
        if self.least.is_empty() {
            self.least = times.to_vec();
        }
        self.least.iter_mut().zip(times).for_each(|(least, &time)| *least = least.min(time));
    }

    /// Mean logarithm of its times; more than any other without times.
    fn score(&self) -> f64 {
        if self.least.is_empty() { f64::INFINITY } else { mean(self.least.iter().map(|time| time.ln())) }
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}

struct Search<'a, T, M> {
    measure: &'a mut M,
    rules: Rules,
    verified: usize,
    dropped: Vec<Dropped<T>>,
}

/// Looks for something faster than the incumbent.
///
/// # Errors
/// The measurer's own, at once.
pub fn search<T: Clone + PartialEq, M: Measure<T>>(
    incumbent: &T,
    mut candidates: Candidates<T>,
    measure: &mut M,
    rules: Rules,
) -> Result<Found<T>, M::Error> {
    let mut search = Search { measure, rules, verified: 0, dropped: Vec::new() };
    let mut best = search.verify(incumbent)?.then(|| incumbent.clone());
    let mut idle = 0;
    let end = loop {
        let mut pool: Vec<Entry<T>> = best.iter().cloned().map(Entry::new).collect();
        let held = pool.len();
        // However short the time, one other is tried.
        while pool.len() < GENERATION && (search.verified < 2 || !search.is_past(SHARES.0)) {
            let Some(candidate) = candidates.next(best.as_ref().unwrap_or(incumbent)) else { break };
            if candidate != *incumbent && search.verify(&candidate)? {
                pool.push(Entry::new(candidate));
            }
        }
        if pool.len() == held {
            break if candidates.is_empty() { End::Exhausted } else { End::BudgetSpent };
        }
        let survivor = search.halve(pool)?;
        idle = if survivor.is_some() && survivor == best { idle + 1 } else { 0 };
        best = survivor;
        if let Some(best) = &best {
            search.measure.progress(search.verified, best);
        }
        if idle == PATIENCE && !candidates.is_empty() {
            break End::Settled;
        }
    };
    search.decide(incumbent, best, end)
}

impl<T: Clone + PartialEq, M: Measure<T>> Search<'_, T, M> {
    fn is_past(&self, share: f64) -> bool {
        self.measure.elapsed() >= self.rules.budget.mul_f64(share)
    }

    /// Whether a candidate computes the right thing; one that does not is dropped.
    fn verify(&mut self, candidate: &T) -> Result<bool, M::Error> {
        self.verified += 1;
        let verdict = self.measure.verify(candidate)?;
        Ok(self.kept(candidate, verdict).is_some())
    }

    fn time(&mut self, candidate: &T) -> Result<Option<Vec<f64>>, M::Error> {
        let times = self.measure.time(candidate)?;
        let usable = times.and_then(|times| match times.iter().find(|time| !(time.is_finite() && **time > 0.0)) {
            Some(time) => Err(format!("the clock showed {time} ns")),
            None => Ok(times),
        });
        Ok(self.kept(candidate, usable))
    }

    fn kept<V>(&mut self, candidate: &T, outcome: Result<V, String>) -> Option<V> {
        outcome.map_err(|reason| self.dropped.push(Dropped { candidate: candidate.clone(), reason })).ok()
    }

    /// The fastest of a generation, if any survives.
    fn halve(&mut self, mut pool: Vec<Entry<T>>) -> Result<Option<T>, M::Error> {
        let mut samples = FIRST_SAMPLES;
        while pool.len() > 1 {
            for sample in 0..samples {
                // The first round is taken to its end: without it nothing is known of the generation.
                if self.is_past(SHARES.1) && (sample > 0 || samples > FIRST_SAMPLES) {
                    break;
                }
                self.round(&mut pool, sample)?;
                let best = pool.iter().map(Entry::score).fold(f64::INFINITY, f64::min);
                pool.retain(|entry| entry.score() <= best + HOPELESS.ln());
            }
            pool.sort_by(|a, b| a.score().total_cmp(&b.score()));
            pool.truncate(if self.is_past(SHARES.1) { 1 } else { pool.len().div_ceil(2) });
            samples += 1;
        }
        Ok(pool.pop().map(|entry| entry.candidate))
    }

    /// One sample of each, beginning with another one each time.
    fn round(&mut self, pool: &mut Vec<Entry<T>>, first: usize) -> Result<(), M::Error> {
        let count = pool.len();
        let mut faulty = Vec::new();
        for turn in 0..count {
            let index = (first + turn) % count;
            let candidate = pool[index].candidate.clone();
            match self.time(&candidate)? {
                Some(times) => pool[index].take(&times),
                None => faulty.push(index),
            }
        }
        faulty.sort_unstable();
        for index in faulty.into_iter().rev() {
            pool.remove(index);
        }
        Ok(())
    }

    /// Holds the best against the incumbent.
    fn decide(mut self, incumbent: &T, best: Option<T>, end: End) -> Result<Found<T>, M::Error> {
        let challenger = best.filter(|best| best != incumbent);
        let (mut before, mut after, mut speedup) = (None, None, None);
        let mut clear = false;
        if let Some(challenger) = &challenger {
            let pairs = if self.survives(incumbent) { self.duel(incumbent, challenger)? } else { Vec::new() };
            if !pairs.is_empty() {
                let ratio = ratio(&pairs);
                clear = ratio.median.max(ratio.least) <= (1.0 - CLEAR).ln();
                speedup = Some((-ratio.median).exp());
                before = Some(timed(incumbent, pairs.iter().map(|pair| &pair.0)));
                after = Some(timed(challenger, pairs.iter().map(|pair| &pair.1)));
            }
            // Once more from poisoned buffers: what it computes must not be a matter of luck.
            self.verify_again(challenger)?;
        }
        if before.is_none() && self.survives(incumbent) {
            before = self.alone(incumbent)?;
        }
        // Whatever works is better than an incumbent that does not.
        let challenger = challenger.filter(|challenger| self.survives(challenger) && (clear || !self.survives(incumbent)));
        let winner = challenger.or_else(|| Some(incumbent.clone()).filter(|incumbent| self.survives(incumbent)));
        let Self { verified, dropped, .. } = self;
        Ok(Found { winner, before, challenger: after, speedup, verified, dropped, end })
    }

    fn survives(&self, candidate: &T) -> bool {
        self.dropped.iter().all(|dropped| dropped.candidate != *candidate)
    }

    fn verify_again(&mut self, candidate: &T) -> Result<(), M::Error> {
        let verdict = self.measure.verify(candidate)?.map_err(|reason| format!("after it was timed: {reason}"));
        self.kept(candidate, verdict);
        Ok(())
    }

    /// Times of one that has nobody to be held against.
    fn alone(&mut self, candidate: &T) -> Result<Option<Timed<T>>, M::Error> {
        let mut samples = Vec::new();
        while samples.is_empty() || (samples.len() < PAIRS.0 && !self.is_past(1.0)) {
            match self.time(candidate)? {
                Some(times) => samples.push(times),
                None => return Ok(None),
            }
        }
        Ok(Some(timed(candidate, samples.iter())))
    }

    /// Samples of both, one right after the other, each first in turn. Ends where one of them fails, with nothing.
    fn duel(&mut self, incumbent: &T, challenger: &T) -> Result<Vec<Pair>, M::Error> {
        let mut pairs = Vec::new();
        while pairs.len() < PAIRS.0 || (pairs.len() < PAIRS.1 && !self.is_past(1.0)) {
            let order = if pairs.len() % 2 == 0 { [incumbent, challenger] } else { [challenger, incumbent] };
            let (Some(first), Some(second)) = (self.time(order[0])?, self.time(order[1])?) else { return Ok(Vec::new()) };
            pairs.push(if pairs.len() % 2 == 0 { (first, second) } else { (second, first) });
        }
        Ok(pairs)
    }
}

/// Times of the incumbent and of the challenger, problem by problem.
type Pair = (Vec<f64>, Vec<f64>);

/// Logarithm of the challenger's time over the incumbent's, mean over the problems.
struct Ratio {
    /// Median of the pairs.
    median: f64,
    /// Of the least times.
    least: f64,
}

fn ratio(pairs: &[Pair]) -> Ratio {
    let of = |(before, after): &Pair| mean(after.iter().zip(before).map(|(a, b)| (a / b).ln()));
    let (mut before, mut after) = (Entry::new(()), Entry::new(()));
    for pair in pairs {
        before.take(&pair.0);
        after.take(&pair.1);
    }
    Ratio { median: median(pairs.iter().map(of).collect()), least: after.score() - before.score() }
}

fn timed<'a, T: Clone>(candidate: &T, samples: impl Iterator<Item = &'a Vec<f64>>) -> Timed<T> {
    let samples: Vec<&Vec<f64>> = samples.collect();
    let problems = samples.first().map_or(0, |times| times.len());
    let medians = (0..problems).map(|problem| median(samples.iter().map(|times| times[problem]).collect())).collect();
    Timed { candidate: candidate.clone(), medians }
}
