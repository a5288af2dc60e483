//! Registry, settings, rows as files, and sentences on synthetic rows, of what one expects and of its contrary.

use super::*;
use crate::experiment::shapes::width;
use std::collections::BTreeSet;

const MIB: u64 = 1 << 20;

fn held(resident: u64, allocated: u64, blocks: u64) -> Held {
    Held {
        resident_bytes: Some(resident),
        allocations: Some(3),
        allocated_bytes: Some(allocated),
        blocks: Some(blocks),
        reserved_bytes: Some(blocks * 4 * MIB),
    }
}

/// The `buffer`th of a size, with the bytes of a block that was added for it, if any was.
fn taxed(size_bytes: u64, buffer: u64, allocated: Option<u64>, block: Option<u64>) -> AlignmentRow {
    let tax_bytes = allocated.map(|allocated| allocated - size_bytes);
    AlignmentRow {
        size_bytes,
        buffer,
        requested_bytes: size_bytes.next_multiple_of(4),
        allocated_bytes: allocated,
        tax_bytes,
        tax_share: tax_bytes.zip(allocated).map(|(tax, allocated)| tax as f64 / allocated as f64),
        new_blocks: allocated.map(|_| u64::from(block.is_some())),
        new_reserved_bytes: allocated.map(|_| block.unwrap_or(0)),
    }
}

fn pooled(event: PoolEvent, buffers: u64, held: Held) -> PoolRow {
    PoolRow { event, buffers, size_bytes: 2 * MIB, held }
}

fn shaped(sequence: Sequence, iteration: u64, held: Held) -> ShapeRow {
    ShapeRow {
        sequence,
        iteration,
        conv: "n1c16h56w56_k16r3s3_p1".into(),
        plan_bytes: MIB,
        new_allocations: Some(5),
        compiler_ns: 500_000_000,
        held,
        fragmentation: held.allocated_bytes.zip(held.reserved_bytes).map(|(a, r)| 1.0 - a as f64 / r as f64),
    }
}

fn context(arrangement: Arrangement, process: u64, workspace_bytes: u64, context_bytes: Option<i64>) -> ContextRow {
    let (devices, plans) = if arrangement == Arrangement::TwoDevices { (2, 2) } else { (1, 1) };
    let held = held(20 * MIB, MIB, 1);
    ContextRow { arrangement, process, devices, plans, workspace_bytes, start_bytes: Some(MIB), context_bytes, plans_bytes: Some(7), held }
}

/// A row or two of each experiment.
fn some_of_each() -> [Rows; 6] {
    let held = held(9 * MIB, MIB, 1);
    [
        Rows::Alignment(vec![taxed(3, 1, Some(64), None)]),
        Rows::Pool(vec![pooled(PoolEvent::Opened, 0, held), pooled(PoolEvent::Created, 1, Held::default())]),
        Rows::Shapes(vec![shaped(Sequence::VaryingDropFirst, 0, held)]),
        Rows::Drop(vec![DropRow { round: 1, moment: Moment::BuffersHeld, held }]),
        Rows::Contexts(vec![context(Arrangement::One, 1, MIB, Some(-5))]),
        Rows::Soak(vec![SoakRow { executions: 0, held }]),
    ]
}

fn sentences(rows: &Rows) -> String {
    rows.conclude().sentences.join("\n")
}

#[test]
fn every_experiment_is_found_by_its_name_and_has_the_columns_of_its_rows() {
    for (rows, experiment) in some_of_each().iter().zip(EXPERIMENTS) {
        assert!(std::ptr::eq(rows.experiment(), experiment) && std::ptr::eq(Experiment::find(experiment.name).expect("known"), experiment));
        let columns: BTreeSet<String> = experiment.columns().map(|column| column.name.to_owned()).collect();
        assert_eq!(columns.len(), experiment.columns().count(), "{}: a column twice", experiment.name);
        for object in rows.objects() {
            assert_eq!(object.keys().cloned().collect::<BTreeSet<_>>(), columns, "{}", experiment.name);
        }
        assert!(!(experiment.parts)(&Settings::default()).is_empty());
    }
    let names: BTreeSet<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
    assert_eq!(names.len(), EXPERIMENTS.len());
    let error = Experiment::find("soaK").expect_err("another name").to_string();
    assert_eq!(error, "'soaK' is no experiment: there are alignment, pool, shapes, drop, contexts, soak");
}

#[test]
fn rows_pass_between_processes_and_are_put_together() {
    for rows in some_of_each() {
        let text = serde_json::to_string(&rows).expect("written");
        assert_eq!(serde_json::from_str::<Rows>(&text).expect("read"), rows);
        let mut twice = rows.clone();
        twice.append(rows.clone()).expect("of one experiment");
        assert_eq!(twice.cells(), [rows.cells(), rows.cells()].concat());
    }
    let [mut one, another, ..] = some_of_each();
    assert_eq!(one.append(another).expect_err("of two").to_string(), "rows of experiment pool among those of alignment");
}

#[test]
fn what_is_not_told_is_an_empty_cell() {
    let [_, pool, ..] = some_of_each();
    let csv = pool.to_csv();
    assert_eq!(
        csv,
        "event,buffers,size_bytes,resident_bytes,allocations,allocated_bytes,blocks,reserved_bytes\n\
         opened,0,2097152,9437184,3,1048576,1,4194304\n\
         created,1,2097152,,,,,\n"
    );
}

#[test]
fn options_out_of_range_are_named() {
    let all: Vec<&Experiment> = EXPERIMENTS.to_vec();
    let told = |choice: Choice, experiments: &[&'static Experiment]| choice.settings(experiments).expect_err("out of range").to_string();
    let size = |bytes| Choice { size: Some(Bytes(bytes)), ..Choice::default() };
    assert_eq!(told(size(0), &all), "--size 0 B: a buffer has at least a byte");
    assert_eq!(told(size(1 << 30), &all), "--size 1,073,741,824 B: 12 such buffers are more than 4,294,967,296 B");
    assert!(told(size(u64::MAX), &all).contains("more than"), "no overflow");
    let count = Choice { count: Some(0), ..Choice::default() };
    assert_eq!(told(count, &all), "--count 0: must be from 1 to 10000");
    let iterations = Choice { iterations: Some(1), ..Choice::default() };
    assert_eq!(told(iterations, &all), "--iterations 1: must be from 2 to 10000");
    for executions in [0, 19, 100_000_001] {
        let choice = Choice { executions: Some(executions), ..Choice::default() };
        assert_eq!(told(choice, &all), format!("--executions {executions}: must be from 20 to 100000000"));
    }
    assert_eq!(told(size(1), &[&soak::EXPERIMENT]), "--size is no option of experiment soak: pool has it");
    let settings = size(1).settings(&all).expect("in range");
    assert_eq!(settings, Settings { size: Bytes(1), ..Settings::default() });
    assert_eq!(serde_json::Value::from(settings.of(&pool::EXPERIMENT)), serde_json::json!({ "count": 12, "size": 1 }));
}

#[test]
fn sizes_are_powers_of_two_and_what_lies_around_them() {
    let sizes = alignment::sizes(u64::MAX);
    assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
    assert_eq!((sizes.first(), sizes.last()), (Some(&3), Some(&(64 * MIB))));
    for exponent in 2..=25 {
        let power = 1_u64 << exponent;
        assert!([power - 1, power, power + 1].iter().all(|size| sizes.contains(size)), "{power}");
    }
    // A device with smaller buffers gets those it can have, rounded up to words.
    assert_eq!(alignment::sizes(8), [3, 4, 5, 7, 8]);
}

#[test]
fn widths_vary_about_the_width_that_is_kept() {
    for count in [2, 24, 500] {
        let sum: u64 = (0..count).map(|iteration| width(Sequence::VaryingDropFirst, iteration)).sum();
        assert_eq!(sum, count * width(Sequence::SameDropFirst, 0));
    }
    let widths: Vec<u64> = (0..56).map(|iteration| width(Sequence::VaryingCreateFirst, iteration)).collect();
    assert_eq!(widths.iter().collect::<BTreeSet<_>>().len(), 56, "none comes again before all have come");
    assert_eq!((widths.iter().min(), widths.iter().max()), (Some(&28), Some(&84)));
}

/// Rows of an allocator that aligns to 64 B, behind something that ends 16 B past a multiple.
fn aligned() -> Vec<AlignmentRow> {
    vec![
        taxed(3, 1, Some(52), None),
        taxed(3, 2, Some(64), None),
        taxed(129, 1, Some(180), None),
        taxed(129, 2, Some(192), None),
        taxed(8192, 1, Some(8240), None),
        taxed(8192, 2, Some(8192), None),
        // At the beginning of a block there is no gap.
        taxed(2 * MIB + 4, 1, Some(2 * MIB + 52), None),
        taxed(2 * MIB + 4, 2, Some(2 * MIB + 4), Some(4 * MIB)),
        taxed(5 * MIB, 1, Some(5 * MIB), Some(5 * MIB)),
        taxed(5 * MIB, 2, Some(5 * MIB), Some(5 * MIB)),
    ]
}

#[test]
fn the_tax_is_told_of_the_first_of_a_size_and_of_those_behind_it() {
    assert_eq!(
        sentences(&Rows::Alignment(aligned())),
        "Behind another of its size in a block, each buffer takes a multiple of 64 B, so that the tax is at most 63 B (for 129 B); the \
         largest size that is taxed by 1 % or more is 129 B.\n\
         The first of a size pays for the gap behind what was there before it: at most 51 B (for 129 B), over sizes up to 5.00 MiB.\n\
         The smallest block that was added is 4.00 MiB; from 5,242,880 B on each buffer has a block of its own, of its size."
    );
}

#[test]
fn an_alignment_is_of_the_rows_and_of_nothing_else() {
    // What the first of a size takes, or one that begins a block, says nothing of the alignment; one more row behind another does.
    let mut rows = aligned();
    for row in rows.iter_mut().filter(|row| !row.is_behind()) {
        row.allocated_bytes = row.allocated_bytes.map(|bytes| bytes + 1);
    }
    assert!(sentences(&Rows::Alignment(rows.clone())).contains("a multiple of 64 B"));
    rows.push(taxed(300, 3, Some(304), None));
    assert!(sentences(&Rows::Alignment(rows)).contains("a multiple of 16 B"));
    let free = vec![taxed(4, 1, Some(4), None), taxed(4, 2, Some(4), None), taxed(64, 2, Some(64), None)];
    let told = sentences(&Rows::Alignment(free));
    assert!(told.contains("a multiple of 4 B, so that the tax is at most 0 B (for 4 B); no size is taxed by 1 % or more."), "{told}");
    assert!(told.ends_with("The smallest block that was added is -; the largest buffers share blocks."), "{told}");
    let alone = sentences(&Rows::Alignment(vec![taxed(5, 1, Some(256), Some(256)), taxed(5, 2, Some(256), Some(256))]));
    assert!(alone.starts_with("No buffer lies behind another of its size, so nothing can be said of an alignment.\n"), "{alone}");
    let untold = sentences(&Rows::Alignment(vec![taxed(4, 1, None, None)]));
    assert_eq!(untold, "The allocator does not tell what it handed out, so nothing can be said of a tax.");
}

#[test]
fn blocks_are_told_where_they_come_and_go() {
    use PoolEvent::{Created, Dropped, Opened};
    let row = |event, buffers, blocks| pooled(event, buffers, held((10 + blocks * 4) * MIB, 2 * buffers * MIB, blocks));
    let rows = vec![row(Opened, 0, 0), row(Created, 1, 1), row(Created, 2, 1), row(Created, 3, 2), row(Dropped, 2, 2), row(Dropped, 0, 1)];
    assert_eq!(
        sentences(&Rows::Pool(rows)),
        "With buffers of 2.00 MiB what is reserved changed, by the number of buffers held, at 1 (4.00 MiB), 3 (4.00 MiB) as they were \
         created and at 0 (-4.00 MiB) as they were dropped.\n\
         Of 8.00 MiB reserved at most (all buffers held: 2.00 MiB of it handed out to none) 4.00 MiB stayed when every buffer was gone; \
         resident was 4.00 MiB above its start."
    );
    let untold = sentences(&Rows::Pool(vec![pooled(Opened, 0, Held::default())]));
    assert_eq!(untold, "The allocator does not tell what it reserves, so nothing can be said of its blocks.");
}

#[test]
fn sequences_are_set_beside_each_other() {
    let rows = vec![
        shaped(Sequence::Kept, 0, held(10 * MIB, 3 * MIB, 1)),
        shaped(Sequence::Kept, 1, held(10 * MIB, 3 * MIB, 1)),
        shaped(Sequence::VaryingCreateFirst, 0, held(10 * MIB, 2 * MIB, 1)),
        shaped(Sequence::VaryingCreateFirst, 1, held(12 * MIB, 2 * MIB, 2)),
    ];
    assert_eq!(
        sentences(&Rows::Shapes(rows)),
        "Reserved at most: kept 4.00 MiB with up to 25 % of it handed out to none; varying_create_first 8.00 MiB with up to 75 % of it \
         handed out to none.\n\
         From the first iteration to the last: kept 5 new allocations, 0 B resident, 0.5 s of compiling; varying_create_first 5 new \
         allocations, 2.00 MiB resident, 0.5 s of compiling."
    );
    let untold = sentences(&Rows::Shapes(vec![shaped(Sequence::Kept, 0, Held::default())]));
    assert!(untold.starts_with("Reserved at most: nobody tells.\n"), "{untold}");
}

#[test]
fn what_does_not_come_back_is_told() {
    let row = |round, moment, resident, blocks| DropRow { round, moment, held: held(resident * MIB, blocks * 4 * MIB, blocks) };
    let gone =
        |round, moment, resident: u64| DropRow { round, moment, held: Held { resident_bytes: Some(resident * MIB), ..Held::default() } };
    let rows = vec![
        gone(1, Moment::Start, 10),
        row(1, Moment::Opened, 60, 1),
        row(1, Moment::BuffersHeld, 80, 5),
        row(1, Moment::BuffersDropped, 64, 1),
        row(1, Moment::PlanHeld, 90, 3),
        row(1, Moment::PlanDropped, 90, 2),
        gone(1, Moment::DeviceDropped, 70),
        gone(2, Moment::Start, 70),
        gone(2, Moment::DeviceDropped, 71),
        gone(3, Moment::Start, 71),
        gone(3, Moment::DeviceDropped, 71),
    ];
    assert_eq!(
        sentences(&Rows::Drop(rows)),
        "Dropping the buffers gave back 16.0 MiB of 20.0 MiB resident, 16.0 MiB of 16.0 MiB allocated and 16.0 MiB of 16.0 MiB reserved; \
         dropping the plan 0 B of 26.0 MiB resident, 4.00 MiB of 8.00 MiB allocated and 4.00 MiB of 8.00 MiB reserved.\n\
         With the device dropped as well, the process held 60.0 MiB more than before it was opened; doing all of it again added 1.00 MiB, \
         then 0 B."
    );
}

#[test]
fn two_models_are_more_than_twice_one_or_are_not() {
    let rows = |of_two_devices| {
        Rows::Contexts(vec![
            context(Arrangement::One, 1, 4 * MIB, Some(60)),
            context(Arrangement::TwoDevices, 1, of_two_devices, Some(70)),
            context(Arrangement::TwoProcesses, 1, 4 * MIB, Some(60)),
            context(Arrangement::TwoProcesses, 2, 4 * MIB, Some(60)),
        ])
    };
    assert_eq!(
        sentences(&rows(8 * MIB)),
        "One plan's workspace takes 4.00 MiB; two devices in one process 2.000 times that, two processes 2.000 times that: none of them is \
         more than twice one.\n\
         Resident: one 20.0 MiB, two devices in one process 20.0 MiB, two processes 40.0 MiB (pages that processes share count in each).\n\
         Opening the second device of a process took 10 B, the first 60 B: the difference, 50 B, is what devices of one process share."
    );
    let told = sentences(&rows(9 * MIB));
    assert!(told.contains("two devices in one process 2.250 times that"), "{told}");
    assert!(told.contains("more than twice one: two devices in one process."), "{told}");
}

#[test]
fn a_soak_that_grows_is_found_wherever_it_grows() {
    let rows = |reading: fn(u64) -> Held| Rows::Soak((0..101).map(|n| SoakRow { executions: n * 10, held: reading(n) }).collect());
    let flat = rows(|_| held(50 * MIB, MIB, 1)).conclude();
    assert!(!flat.grows);
    assert_eq!(
        flat.sentences,
        [
            "Over 1000 executions, from the first quarter after the warm-up to the last: resident flat (rose by 0 B where noise may be 64.0 KiB); \
          allocated flat (rose by 0 B where noise may be 0 B); reserved flat (rose by 0 B where noise may be 0 B)."
        ]
    );
    for (name, reading) in [
        ("resident grows", (|n| held(50 * MIB + n * 8192, MIB, 1)) as fn(u64) -> Held),
        ("allocated grows", |n| held(50 * MIB, MIB + n * 256, 1)),
        ("reserved grows", |n| held(50 * MIB, MIB, 1 + n / 20)),
    ] {
        let grown = rows(reading).conclude();
        assert!(grown.grows && grown.sentences[0].contains(name), "{name}: {:?}", grown.sentences);
    }
    let stepped = rows(|n| held(50 * MIB, MIB, 1 + n / 60)).conclude();
    assert!(!stepped.grows && stepped.sentences[0].contains("reserved stepped once"), "{:?}", stepped.sentences);
    let untold = rows(|_| Held::default()).conclude();
    assert!(!untold.grows && untold.sentences[0].contains("nobody tells enough of resident"), "{:?}", untold.sentences);
}
