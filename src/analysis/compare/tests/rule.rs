//! The rule that turns samples into verdicts, fed with distributions whose truth is known.

use crate::analysis::compare::mean::of_logarithms;
use crate::analysis::compare::{Doubt, Evidence, Judgement, Ratio, Threshold, Verdict, of_intervals, of_samples};
use crate::stats::Samples;
use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

fn samples(values: Vec<f64>) -> Samples {
    Samples::new(values).expect("samples")
}

fn percent(text: &str) -> Threshold {
    text.parse().expect(text)
}

/// A ratio with an interval and nothing against it.
fn ratio(value: f64, ci95: Option<(f64, f64)>) -> Ratio {
    Ratio { value, ci95, evidence: Evidence::Samples, drift: 1.0, repeats: 1.0, throttled: false, same_clock: true, contradicted: false }
}

fn verdict(ratio: &Ratio) -> (Verdict, Option<Doubt>) {
    let Judgement { verdict, doubt } = ratio.judge(percent("5%"));
    (verdict, doubt)
}

fn of(a: &Samples, b: &Samples) -> Ratio {
    ratio(b.median() / a.median(), of_samples(a, b))
}

/// Draws times whose logarithms scatter by `sigma` around `median`, skewed as times are, and counts verdicts.
fn verdicts(seed: u64, trials: usize, n: usize, sigma: f64, factor: f64) -> impl Fn(Verdict) -> usize {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (a, b) = (LogNormal::new(0.0, sigma).expect("a distribution"), LogNormal::new(factor.ln(), sigma).expect("a distribution"));
    let told: Vec<Verdict> = (0..trials)
        .map(|_| {
            let mut draw = |times: &LogNormal<f64>| samples(times.sample_iter(&mut rng).take(n).collect());
            of(&draw(&a), &draw(&b)).judge(percent("5%")).verdict
        })
        .collect();
    move |verdict| told.iter().filter(|&&v| v == verdict).count()
}

#[test]
fn equal_distributions_are_hardly_ever_told_apart() {
    // FASTER and SLOWER together: in less than 1 of 100 where the noise is as usual; where it is many times the threshold and the samples
    // are few, no more often than a 95 % interval errs.
    for (seed, n, sigma, most) in [(1, 6, 0.02, 3), (2, 10, 0.05, 3), (3, 10, 0.2, 15), (4, 30, 0.1, 3), (5, 100, 0.2, 3)] {
        let count = verdicts(seed, 300, n, sigma, 1.0);
        let wrong = count(Verdict::Faster) + count(Verdict::Slower);
        assert!(wrong <= most, "{n} samples of {sigma}: {wrong} of 300");
    }
    // Noise that is small beside the threshold leaves no doubt either.
    assert_eq!(verdicts(6, 300, 20, 0.02, 1.0)(Verdict::Same), 300);
}

#[test]
fn a_shift_of_a_tenth_is_found_in_noise_of_a_fiftieth() {
    for (seed, factor, verdict) in [(7, 1.1, Verdict::Slower), (8, 1.0 / 1.1, Verdict::Faster)] {
        let found = verdicts(seed, 200, 20, 0.02, factor)(verdict);
        assert!(found >= 196, "{verdict:?}: {found} of 200");
    }
}

/// A shift of exactly the threshold is on the edge: it must not be called beyond it more often than the interval errs.
#[test]
fn a_shift_of_the_threshold_is_seldom_called_beyond_it() {
    let count = verdicts(9, 400, 30, 0.02, 1.05);
    assert!(count(Verdict::Slower) <= 20, "{} of 400", count(Verdict::Slower));
    assert_eq!(count(Verdict::Faster), 0);
}

#[test]
fn the_interval_holds_the_ratio_as_often_as_it_says() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(10);
    let times = LogNormal::new(0.0, 0.1).expect("a distribution");
    for (n, least) in [(6, 0.86), (10, 0.90), (30, 0.92), (101, 0.92)] {
        let trials = 500;
        let mut draw = || samples(times.sample_iter(&mut rng).take(n).collect());
        let held = (0..trials)
            .filter(|_| {
                let (low, high) = of_samples(&draw(), &draw()).expect("enough");
                low <= 1.0 && 1.0 <= high
            })
            .count();
        let share = held as f64 / f64::from(trials);
        assert!(share >= least, "{n} samples: {share}");
    }
}

/// Samples that resemble their neighbours (an autoregression with φ = 0.7) are worth fewer than they are. Blocks know of it.
#[test]
fn neighbours_that_resemble_each_other_widen_the_interval() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut walk = || {
        let mut state = 0.0;
        let mut step = || {
            let shock: f64 = StandardNormal.sample(&mut rng);
            state = 0.7 * state + 0.02 * shock;
            f64::exp(state)
        };
        (0..100).map(|_| step()).collect::<Vec<_>>()
    };
    let width = |a: &Samples, b: &Samples| of_samples(a, b).map(|(low, high)| high - low).expect("enough");
    let wider = (0..40)
        .filter(|_| {
            let (a, b) = (walk(), walk());
            // The same numbers without the order that makes neighbours alike.
            let shuffled = |values: &[f64]| samples((0..values.len()).map(|i| values[i * 37 % values.len()]).collect());
            width(&samples(a.clone()), &samples(b.clone())) > width(&shuffled(&a), &shuffled(&b))
        })
        .count();
    assert!(wider >= 36, "{wider} of 40");
}

#[test]
fn swapping_the_runs_swaps_the_verdict() {
    let swapped = |(low, high): (f64, f64)| (1.0 / high, 1.0 / low);
    for (interval, told, back) in [
        ((1.051, 1.2), Verdict::Slower, Verdict::Faster),
        ((0.8, 0.951), Verdict::Faster, Verdict::Slower),
        ((0.96, 1.049), Verdict::Same, Verdict::Same),
        ((0.96, 1.06), Verdict::Unsure, Verdict::Unsure),
        ((0.94, 1.0), Verdict::Unsure, Verdict::Unsure),
        ((0.5, 2.0), Verdict::Unsure, Verdict::Unsure),
    ] {
        assert_eq!(verdict(&ratio(1.0, Some(interval))).0, told, "{interval:?}");
        assert_eq!(verdict(&ratio(1.0, Some(swapped(interval)))).0, back, "{interval:?} swapped");
    }
}

#[test]
fn one_sample_no_scatter_and_no_interval() {
    let (one, five, six) = (samples(vec![5.0]), samples(vec![5.0; 5]), samples(vec![5.0; 6]));
    assert_eq!(of_samples(&one, &six), None);
    assert_eq!(of_samples(&six, &five), None);
    // Times all on one tick: the interval is a point, and that is no error.
    assert_eq!(of_samples(&six, &samples(vec![6.0; 9])), Some((1.2, 1.2)));
    assert_eq!(verdict(&of(&six, &samples(vec![6.0; 9]))), (Verdict::Slower, None));
    assert_eq!(verdict(&of(&six, &six)), (Verdict::Same, None));
    assert_eq!(verdict(&of(&one, &samples(vec![50.0]))), (Verdict::Unsure, Some(Doubt::NoInterval)), "ten times, but who knows");
}

#[test]
fn recorded_intervals_add_as_squares_of_logarithms() {
    // Twice as long; ±3 % and ±4 % make ±5 %.
    let (low, high) =
        of_intervals((1.0, Some((f64::exp(-0.03), f64::exp(0.03)))), (2.0, Some((2.0 * f64::exp(-0.04), 2.0 * f64::exp(0.04)))))
            .expect("both");
    assert!((low - 2.0 * f64::exp(-0.05)).abs() < 1e-12 && (high - 2.0 * f64::exp(0.05)).abs() < 1e-12, "{low} {high}");
    // A lopsided interval stays lopsided: what the baseline may be above it makes the ratio smaller.
    let (low, high) = of_intervals((1.0, Some((1.0, 1.1))), (1.0, Some((1.0, 1.0)))).expect("both");
    assert!((low - 1.0 / 1.1).abs() < 1e-12 && (high - 1.0).abs() < 1e-12, "{low} {high}");
    // A missing interval, and ones that cannot be.
    let sound = (1.0, Some((0.9, 1.1)));
    for broken in [None, Some((1.05, 1.1)), Some((0.0, 2.0)), Some((-1.0, 2.0)), Some((0.9, f64::INFINITY))] {
        assert_eq!(of_intervals((1.0, broken), sound), None, "{broken:?}");
        assert_eq!(of_intervals(sound, (1.0, broken)), None, "{broken:?}");
    }
}

/// Medians' intervals of real samples, combined, are about as wide as the bootstrap's.
#[test]
fn both_kinds_of_evidence_agree() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
    let times = LogNormal::new(0.0, 0.1).expect("a distribution");
    let (mut by_samples, mut by_intervals) = (0.0, 0.0);
    for _ in 0..50 {
        let mut draw = || samples(times.sample_iter(&mut rng).take(40).collect());
        let (a, b) = (draw(), draw());
        let width = |ends: Option<(f64, f64)>| ends.map(|(low, high)| (high / low).ln()).expect("enough");
        by_samples += width(of_samples(&a, &b));
        by_intervals += width(of_intervals((a.median(), a.ci95_median()), (b.median(), b.ci95_median())));
    }
    let ratio = by_samples / by_intervals;
    assert!((0.75..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn drift_throttling_and_clocks_leave_room_for_doubt() {
    let slower = ratio(1.1, Some((1.08, 1.12)));
    assert_eq!(verdict(&slower), (Verdict::Slower, None));
    assert_eq!(verdict(&Ratio { drift: 1.06, ..slower.clone() }), (Verdict::Unsure, Some(Doubt::Drift)));
    assert_eq!(verdict(&Ratio { drift: 1.06, ..ratio(1.3, Some((1.2, 1.4))) }), (Verdict::Slower, None), "beyond threshold and drift");
    assert_eq!(verdict(&Ratio { drift: 1.06, ..ratio(1.0, Some((0.99, 1.01))) }), (Verdict::Unsure, Some(Doubt::Drift)));
    assert_eq!(verdict(&Ratio { repeats: 1.06, ..slower.clone() }), (Verdict::Unsure, Some(Doubt::Repeats)));
    assert_eq!(verdict(&Ratio { repeats: 1.02, ..slower.clone() }), (Verdict::Slower, None));
    assert_eq!(verdict(&Ratio { throttled: true, ..slower.clone() }), (Verdict::Unsure, Some(Doubt::Throttling)));
    assert_eq!(verdict(&Ratio { same_clock: false, ..ratio(9.0, Some((8.9, 9.1))) }), (Verdict::Unsure, Some(Doubt::Clocks)));
}

#[test]
fn thresholds_are_percentages() {
    for (text, shown) in [("5%", "5%"), ("0%", "0%"), ("2.5 %", "2.5%"), ("7%", "7%"), ("1000%", "1000%")] {
        assert_eq!(percent(text).to_string(), shown);
    }
    for text in ["", "5", "%", "-1%", "-0%", "NaN%", "inf%", "1001%", "5%%", "five%"] {
        assert_eq!(
            text.parse::<Threshold>().expect_err(text).to_string(),
            format!("'{text}' is not a percentage of 0% to 1000%, such as 5%")
        );
    }
}

#[test]
fn the_mean_is_geometric_and_its_interval_is_over_the_cases() {
    assert_eq!(of_logarithms(&[]), None);
    let mean = of_logarithms(&[0.5_f64.ln(), 2.0_f64.ln()]).expect("two");
    assert!((mean.value - 1.0).abs() < 1e-12 && mean.ci95.is_none() && mean.cases == 2);
    let same = of_logarithms(&[0.0; 8]).expect("eight");
    assert_eq!((same.value, same.ci95), (1.0, Some((1.0, 1.0))));
    let logs: Vec<f64> = (0..50).map(|i| 0.1 + 0.01 * f64::from(i % 5 - 2)).collect();
    let (low, high) = of_logarithms(&logs).and_then(|mean| mean.ci95).expect("fifty");
    // Standard error 0.01·√2/√50 = 0.002.
    assert!((low.ln() - 0.096).abs() < 1e-3 && (high.ln() - 0.104).abs() < 1e-3, "{low} {high}");
}
