//! `cargo bench --bench host`: what the host does before any device works: parsing, planning, closed forms, composing shaders.

use convledger::algorithm::{ALGORITHMS, find};
use convledger::conv::Conv;
use convledger::plan::{Limits, Plan};
use convledger::runner::{Request, Selection, schedule};
use convledger::shader;
use convledger::suite::Suite;
use convledger::verify::{Expectation, Inputs};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const KEY: &str = "n32c256h28w28_k128r3s3_s2x1_p1:0x1_d1_g2";

fn keys(c: &mut Criterion) {
    let conv: Conv = KEY.parse().expect(KEY);
    c.bench_function("key/parse", |b| b.iter(|| black_box(KEY).parse::<Conv>()));
    c.bench_function("key/print", |b| b.iter(|| black_box(conv).to_string()));
}

fn suites(c: &mut Criterion) {
    c.bench_function("suite/read resnet50", |b| b.iter(|| Suite::builtin(black_box("resnet50")).expect("built in")));
}

fn ledgers(c: &mut Criterion) {
    let conv: Conv = "n1c64h224w224_k128r3s3_p1".parse().expect("key");
    c.bench_function("ledger/closed forms of every variant", |b| {
        b.iter(|| {
            for algorithm in ALGORITHMS {
                for variant in algorithm.variants(black_box(&conv), &Limits::WEBGPU) {
                    black_box(algorithm.workspace(&conv, &variant)).ok();
                }
            }
        });
    });
    let resnet = Suite::builtin("resnet50").expect("built in");
    c.bench_function("ledger/schedule of resnet50", |b| {
        b.iter(|| {
            schedule(&Request {
                suites: std::slice::from_ref(&resnet),
                algorithms: ALGORITHMS,
                selection: &Selection::all(),
                limits: &Limits::WEBGPU,
                caches: &[convledger::record::Cache::Hot],
                workspace_limit: None,
            })
        });
    });
}

fn plans(c: &mut Criterion) {
    let conv: Conv = "n1c64h56w56_k64r3s3_p1".parse().expect("key");
    for (id, variant) in [("direct", ""), ("im2col", "strip=1"), ("im2col", "batch"), ("winograd_f4", "tiles=4"), ("winograd_f4", "batch")]
    {
        let algorithm = find(id).expect(id);
        let variant = variant.parse().expect(variant);
        let plan = || -> Plan { algorithm.plan(black_box(&conv), &variant, &Limits::WEBGPU).expect("supported") };
        c.bench_function(&format!("plan/{}", variant.qualify(id)), |b| b.iter(plan));
    }
}

fn shaders(c: &mut Criterion) {
    let conv: Conv = "n1c64h56w56_k64r3s3_p1".parse().expect("key");
    let plan =
        find("winograd_f4").expect("winograd_f4").plan(&conv, &"batch".parse().expect("variant"), &Limits::WEBGPU).expect("supported");
    for step in &plan.steps {
        c.bench_function(&format!("compose/{}", step.stage), |b| b.iter(|| shader::compose(black_box(&step.kernel)).map(|_| ())));
    }
}

fn references(c: &mut Criterion) {
    let conv: Conv = "n1c32h28w28_k32r3s3_p1".parse().expect("key");
    c.bench_function("verify/inputs", |b| b.iter(|| Inputs::random(black_box(&conv), 1)));
    let inputs = Inputs::random(&conv, 1);
    c.bench_function("verify/reference", |b| b.iter(|| Expectation::new(black_box(&conv), &inputs, 1).len()));
}

criterion_group! {
    name = host;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = keys, suites, ledgers, plans, shaders, references
}
criterion_main!(host);
