//! The search with a measurer made up, the targets without a device, the file as text.

use super::*;
use crate::device::Identity;
use crate::plan::{DeviceClass, Limits, ShapeClass, TiledKernel, Tuning, TuningFile};
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

/// Candidates are numbers; a number's time is what `time` says, times noise, and each call takes a second.
struct Fake {
    time: fn(u32) -> f64,
    /// Largest part by which a sample is off, and the state of the noise.
    noise: f64,
    state: u64,
    wrong: HashMap<u32, &'static str>,
    /// Fail when timed so many times.
    dies: HashMap<u32, usize>,
    /// Wrong from so many verifications on.
    fickle: HashMap<u32, usize>,
    calls: u64,
    verified: HashMap<u32, usize>,
    timed: Vec<u32>,
}

impl Fake {
    fn new(time: fn(u32) -> f64) -> Self {
        let empty = HashMap::new;
        Self {
            time,
            noise: 0.0,
            state: 1,
            wrong: HashMap::new(),
            dies: HashMap::new(),
            fickle: HashMap::new(),
            calls: 0,
            verified: empty(),
            timed: Vec::new(),
        }
    }

    /// From -1 to 1.
    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    }
}

impl Measure<u32> for Fake {
    type Error = Infallible;

    fn verify(&mut self, candidate: &u32) -> Result<Result<(), String>, Infallible> {
        self.calls += 1;
        let count = self.verified.entry(*candidate).or_default();
        *count += 1;
        if self.fickle.get(candidate).is_some_and(|most| *count > *most) {
            return Ok(Err("wrong this time".to_owned()));
        }
        Ok(self.wrong.get(candidate).map_or(Ok(()), |reason| Err((*reason).to_owned())))
    }

    fn time(&mut self, candidate: &u32) -> Result<Result<Vec<f64>, String>, Infallible> {
        assert!(self.verified.contains_key(candidate), "{candidate} is timed before it is verified");
        assert!(!self.wrong.contains_key(candidate), "{candidate} is timed although it is wrong");
        self.calls += 1;
        self.timed.push(*candidate);
        if let Some(left) = self.dies.get_mut(candidate) {
            if *left == 0 {
                return Ok(Err("no answer within 20 s while measuring".to_owned()));
            }
            *left -= 1;
        }
        let noise = self.noise * self.random();
        let time = (self.time)(*candidate) * (1.0 + noise);
        // Two problems, one a thousand times as long as the other.
        Ok(Ok(vec![time, 1000.0 * time]))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.calls)
    }
}

const LONG: Rules = Rules { budget: Duration::from_secs(1_000_000) };
const INCUMBENT: u32 = 50;

fn run(fake: &mut Fake, candidates: Vec<u32>, rules: Rules) -> Found<u32> {
    let Ok(found) = search(&INCUMBENT, Candidates::new(Vec::new(), candidates, |a, b| a.abs_diff(*b)), fake, rules);
    found
}

/// Numbers up to 100 in an order without a pattern.
fn mixed() -> Vec<u32> {
    (0..101).map(|i| i * 37 % 101).collect()
}

/// Fastest at 73.
fn valley(x: u32) -> f64 {
    100.0 + f64::from(x.abs_diff(73))
}

#[test]
fn the_fastest_is_found_without_timing_all_alike() {
    let mut fake = Fake::new(valley);
    let found = run(&mut fake, mixed(), LONG);
    assert_eq!(found.winner, Some(73));
    let speedup = found.speedup.expect("a duel");
    assert!((speedup - 1.23).abs() < 1e-9, "{speedup}");
    assert_eq!(found.before.map(|timed| (timed.candidate, timed.medians)), Some((INCUMBENT, vec![123.0, 123_000.0])));
    assert_eq!(found.challenger.map(|timed| timed.medians), Some(vec![100.0, 100_000.0]));
    // The slow half of a generation is timed no more than its first round.
    let count = |x| fake.timed.iter().filter(|&&timed| timed == x).count();
    assert!(count(73) > 7 && count(0) <= 2, "{} {}", count(73), count(0));
}

#[test]
fn the_fastest_is_found_in_noise_and_the_same_again() {
    let look = |state| {
        let mut fake = Fake { noise: 0.05, state, ..Fake::new(valley) };
        run(&mut fake, mixed(), LONG)
    };
    for state in 1..20 {
        let found = look(state);
        let winner = found.winner.expect("a winner");
        // Neighbours of the fastest differ by a fifth of the noise.
        assert!(valley(winner) <= 106.0, "{winner}");
        assert_eq!(found, look(state), "the same measurements, the same decisions");
    }
}

#[test]
fn the_incumbent_stays_where_nothing_is_clearly_faster() {
    for state in 1..40 {
        let mut fake = Fake { noise: 0.15, state, ..Fake::new(|_| 100.0) };
        let found = run(&mut fake, mixed(), LONG);
        assert_eq!(found.winner, Some(INCUMBENT), "noise {state}: {:?}", found.speedup);
    }
    // Two percent are not enough, four are.
    for (faster, winner) in [(98, INCUMBENT), (96, 7)] {
        let time = if faster == 98 { |x| if x == 7 { 98.0 } else { 100.0 } } else { |x| if x == 7 { 96.0 } else { 100.0 } };
        let found = run(&mut Fake::new(time), vec![60, 7, 80], LONG);
        assert_eq!(found.winner, Some(winner));
        assert_eq!(found.challenger.map(|timed| timed.candidate), Some(7));
    }
}

#[test]
fn what_is_wrong_is_never_timed_and_what_dies_is_dropped() {
    let mut fake = Fake::new(valley);
    fake.wrong = HashMap::from([(73, "wrong result: 3 outputs are NaN"), (72, "wrong result: relative L2 error 1.0e0")]);
    fake.dies = HashMap::from([(74, 1), (71, 4)]);
    let found = run(&mut fake, mixed(), LONG);
    assert_eq!(found.winner, Some(75));
    let reasons: HashMap<u32, String> = found.dropped.into_iter().map(|dropped| (dropped.candidate, dropped.reason)).collect();
    assert_eq!(reasons[&73], "wrong result: 3 outputs are NaN");
    assert_eq!(reasons[&74], "no answer within 20 s while measuring");
    assert!(reasons.contains_key(&72) && reasons.contains_key(&71));
}

#[test]
fn one_that_is_right_only_at_first_does_not_win() {
    let mut fake = Fake::new(valley);
    fake.fickle = HashMap::from([(73, 1)]);
    let found = run(&mut fake, mixed(), LONG);
    assert_eq!(found.winner, Some(INCUMBENT));
    assert_eq!(found.dropped, [Dropped { candidate: 73, reason: "after it was timed: wrong this time".into() }]);
}

#[test]
fn an_incumbent_that_does_not_work_gives_way_and_nothing_wins_where_nothing_works() {
    let mut fake = Fake::new(valley);
    fake.wrong = HashMap::from([(INCUMBENT, "wrong")]);
    let found = run(&mut fake, mixed(), LONG);
    assert_eq!((found.winner, found.before, found.speedup), (Some(73), None, None));

    let mut fake = Fake::new(valley);
    fake.wrong = (0..101).map(|x| (x, "wrong")).collect();
    let found = run(&mut fake, mixed(), LONG);
    assert_eq!((found.winner, found.end, found.dropped.len()), (None, End::Exhausted, 101));
    assert!(fake.timed.is_empty());

    // The incumbent dies in the duel: what it was held against has proven itself.
    let mut fake = Fake::new(valley);
    fake.dies = HashMap::from([(INCUMBENT, 3)]);
    assert_eq!(run(&mut fake, vec![73], LONG).winner, Some(73));
}

#[test]
fn the_budget_ends_the_search_with_what_there_is() {
    for seconds in [0, 1, 10, 40, 100, 300] {
        let mut fake = Fake::new(valley);
        let found = run(&mut fake, mixed(), Rules { budget: Duration::from_secs(seconds) });
        assert!(found.winner.is_some());
        assert_eq!(found.end, End::BudgetSpent, "{seconds}");
        // A generation's first round and the least of a duel may be left to do.
        assert!(fake.calls <= seconds + 2 * 12 + 2 * 7 + 2, "{seconds} s: {} calls", fake.calls);
    }
    let mut fake = Fake::new(valley);
    let found = run(&mut fake, mixed(), Rules { budget: Duration::from_secs(100) });
    assert!(found.speedup.is_some_and(|speedup| speedup > 1.1), "{found:?}");
}

#[test]
fn everything_is_tried_where_there_is_little() {
    let found = run(&mut Fake::new(valley), vec![60, INCUMBENT, 70], LONG);
    assert_eq!((found.winner, found.verified, found.end), (Some(70), 3, End::Exhausted));
    let found = run(&mut Fake::new(valley), vec![], LONG);
    assert_eq!((found.winner, found.verified, found.end), (Some(INCUMBENT), 1, End::Exhausted));
    // Nothing is better for long: the rest is left.
    let found = run(&mut Fake::new(|x| if x == INCUMBENT { 1.0 } else { 2.0 }), mixed(), LONG);
    assert_eq!((found.winner, found.end), (Some(INCUMBENT), End::Settled));
}

fn device(class: DeviceClass) -> Limits {
    let min_subgroup = if class == DeviceClass::Software { 8 } else { 32 };
    Limits { class, min_subgroup, max_workgroup_bytes: 32 << 10, max_workgroup_invocations: 1024, ..Limits::WEBGPU }
}

#[test]
fn every_kernel_has_problems_of_every_class_of_shapes_it_meets() {
    for class in [DeviceClass::Software, DeviceClass::Discrete] {
        let limits = device(class);
        let found = targets(&TiledKernel::ALL, &limits);
        for kernel in TiledKernel::ALL {
            let shapes: Vec<ShapeClass> =
                ShapeClass::ALL.into_iter().filter(|&shape| found.iter().any(|t| t.knob == Knob::Tile(kernel, shape))).collect();
            assert!(!shapes.is_empty(), "{kernel} on {class:?}");
            if matches!(kernel, TiledKernel::Gemm | TiledKernel::ImplicitGemm) {
                assert_eq!(shapes, ShapeClass::ALL, "{kernel} on {class:?}");
            }
        }
        for knob in [Knob::Lanes, Knob::Specialise, Knob::VectorLoads] {
            assert!(found.iter().any(|target| target.knob == knob), "{knob} on {class:?}");
        }
        let gemm = found.iter().find(|t| t.knob == Knob::Tile(TiledKernel::Gemm, ShapeClass::Medium)).expect("a target");
        let algorithms: Vec<&str> = gemm.problems.iter().map(|problem| problem.algorithm).collect();
        assert!(algorithms.contains(&"im2col") && algorithms.iter().any(|id| id.starts_with("winograd")), "{algorithms:?}");
        assert!(targets(&[TiledKernel::ImplicitGemm], &limits).iter().all(|t| !matches!(t.knob, Knob::Tile(TiledKernel::Gemm, _))));
    }
}

#[test]
fn candidates_run_on_the_device_and_differ_in_what_it_does() {
    let limits = device(DeviceClass::Software);
    let knob = Knob::Tile(TiledKernel::Gemm, ShapeClass::Medium);
    let mut target = targets(&[TiledKernel::Gemm], &limits).into_iter().find(|t| t.knob == knob).expect("a target");
    let candidates = target.candidates(&limits, 1);
    assert!(candidates.len() > 50, "{}", candidates.len());
    for choice in knob.choices(&limits) {
        let Choice::Tile(tile) = choice else { panic!("{choice}") };
        assert_eq!((tile.fault(), tile.obstacle(&limits)), (None, None), "{tile}");
    }
    // Of im2col's two stages the product is what the tile is about.
    let im2col = target.problems.iter().find(|problem| problem.algorithm == "im2col").expect("im2col");
    assert_eq!(im2col.steps, [1]);
    // What few rows leave of a tile is the same for many of them.
    let few = Knob::Tile(TiledKernel::Gemm, ShapeClass::FewRows);
    let mut target = targets(&[TiledKernel::Gemm], &limits).into_iter().find(|t| t.knob == few).expect("a target");
    assert!(target.candidates(&limits, 1).len() < candidates.len());
}

fn identity() -> Identity {
    Identity {
        name: "Radeon \"RX\" 580".into(),
        backend: "vulkan".into(),
        driver: "radv".into(),
        driver_info: "Mesa 25.1\n[[device]]".into(),
        class: DeviceClass::Discrete,
        vendor: 0,
        device: 0,
        pci: String::new(),
    }
}

fn decision(knob: Knob, before: Choice, winner: Choice) -> Decision {
    let timed = |candidate, time| Some(Timed { candidate, medians: vec![time, 2.0 * time] });
    let found = Found {
        winner: Some(winner),
        before: timed(before, 2e6),
        challenger: timed(winner, 1e6).filter(|_| winner != before),
        speedup: Some(2.0).filter(|_| winner != before),
        verified: 9,
        dropped: Vec::new(),
        end: End::Settled,
    };
    Decision { knob, problems: vec!["im2col:batch n1c64h56w56_k64r3s3_p1".into()], found }
}

fn decisions() -> Vec<Decision> {
    let tile = |text: &str| Choice::Tile(text.parse().expect(text));
    let (old, new) = (tile("8x4 lanes 16x8 depth 8 workgroup"), tile("4x4 lanes 8x8 depth 8 workgroup"));
    vec![
        decision(Knob::Tile(TiledKernel::Gemm, ShapeClass::Large), old, new),
        decision(Knob::Tile(TiledKernel::Gemm, ShapeClass::Small), old, old),
        decision(Knob::Lanes, Choice::Lanes(64), Choice::Lanes(128)),
    ]
}

fn provenance(device: &Identity) -> Provenance<'_> {
    Provenance { device, date: "2026-11-29", command: "convledger tune --time-budget 5m" }
}

#[test]
fn an_entry_says_what_was_decided_and_what_it_rests_on() {
    let device = identity();
    let text = block(&provenance(&device), &decisions(), None).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(text, @r#"
    # Radeon "RX" 580: vulkan, driver radv Mesa 25.1 [[device]]
    # Tuned on 2026-11-29 by convledger VERSION: convledger tune --time-budget 5m
    # Each was verified before it was timed. Times are medians of interleaved pairs, on the convolutions named.
    [[device]]
    name = 'Radeon "RX" 580'
    # 2.00x as fast as 64: 2.00 ms, 4.00 ms -> 1.00 ms, 2.00 ms; best of 9; im2col:batch n1c64h56w56_k64r3s3_p1
    lanes = 128
    tiles = [
      # 2.00x as fast as 8x4 lanes 16x8 depth 8 workgroup: 2.00 ms, 4.00 ms -> 1.00 ms, 2.00 ms; best of 9; im2col:batch n1c64h56w56_k64r3s3_p1
      { kernel = "gemm", shape = "large", tile = "4x4 lanes 8x8 depth 8 workgroup" },
      # kept, 2.00 ms, 4.00 ms; best of 9; im2col:batch n1c64h56w56_k64r3s3_p1
      { kernel = "gemm", shape = "small", tile = "8x4 lanes 16x8 depth 8 workgroup" },
    ]
    "#);
    let file = TuningFile::parse(&text, "f").expect("reads");
    let tuning = file.select_for(device.class, &device.name, "radv");
    let limits = Limits { class: device.class, tuning, ..Limits::UNLIMITED };
    assert_eq!(limits.tile_of(TiledKernel::Gemm, ShapeClass::Large).to_string(), "4x4 lanes 8x8 depth 8 workgroup");
    assert_eq!(limits.lanes(), 128);
}

const OTHERS: &str = "\
# My cards.

# The old one
[[device]]
name = \"GTX 970\" # in the cellar
lanes = 32

# Tuned by hand.
[[device]]
name = \"Radeon \\\"rx\\\" 580\"
specialise = false
tiles = [
  { kernel = \"gemm\", shape = \"large\", tile = \"2x4 lanes 8x8 depth 4 cache\" },
  { kernel = \"implicit_gemm\", tile = \"8x4 lanes 8x8 depth 4 cache\" },
]

# All others
[[device]]
lanes = 16
";

#[test]
fn entries_of_others_stay_as_they_are_and_ones_own_is_replaced_only_when_told_to() {
    let device = identity();
    let occupied = merge("my.toml", OTHERS, &provenance(&device), &decisions(), false).expect_err("occupied").to_string();
    assert_eq!(occupied, "my.toml has an entry for 'Radeon \"RX\" 580' already: replace it with --force, or name another file with --out");
    let text = merge("my.toml", OTHERS, &provenance(&device), &decisions(), true).expect("merges");
    assert!(text.starts_with("# My cards.\n\n# The old one\n[[device]]\nname = \"GTX 970\" # in the cellar\nlanes = 32\n"), "{text}");
    assert!(text.contains("# All others\n[[device]]\nlanes = 16\n\n# Radeon"), "{text}");
    assert!(!text.contains("by hand"), "{text}");
    let file = TuningFile::parse(&text, "my.toml").expect("reads");
    let own = &file.device[2];
    assert_eq!((own.lanes, own.specialise, own.tiles.len()), (Some(128), Some(false), 3), "{text}");
    assert_eq!(own.tiles[2].kernel, TiledKernel::ImplicitGemm, "what was not tuned anew stays");
    // Once more: nothing piles up.
    assert_eq!(merge("my.toml", &text, &provenance(&device), &decisions(), true).expect("merges"), text);
    // Another device finds its place behind them without being told.
    let other = Identity { name: "Arc A770".into(), ..identity() };
    let more = merge("my.toml", &text, &provenance(&other), &decisions(), false).expect("merges");
    assert!(more.starts_with(&text), "{more}");
    assert_eq!(TuningFile::parse(&more, "my.toml").expect("reads").device.len(), 4);
}

#[test]
fn files_that_cannot_be_added_to_are_refused() {
    let device = identity();
    let told = |before: &str| merge("my.toml", before, &provenance(&device), &decisions(), true).expect_err(before).to_string();
    assert_eq!(
        told("device = [{ lanes = 8 }]\n"),
        "my.toml: entries not written as [[device]] tables cannot be added to: name another file with --out"
    );
    assert!(told("[[device]]\nlanes = 0\n").starts_with("my.toml:2:9: lanes 0 "));
    // A header inside a text is none; a last line without its end is one.
    let tricky = "[[device]]\nname = \"\"\"x\n[[device]]\"\"\"\n";
    assert!(told(tricky).contains("control character"));
    let text = merge("my.toml", "[[device]]\nlanes = 4", &provenance(&device), &decisions(), false).expect("merges");
    assert_eq!(TuningFile::parse(&text, "f").expect("reads").device[0], Tuning { lanes: Some(4), ..Tuning::NONE });
}
