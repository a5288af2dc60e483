//! `convledger` measures what each way of computing a convolution costs, in time and in memory, on the GPU at hand, and books
//! every byte to a ledger.
//!
//! Modules depend only on those above them in this list (a test holds them to it):
//!
//! ```text
//! units      quantities and their formatting
//! conv       one validated problem and its canonical key
//! suite      named lists of problems: TOML, ONNX
//! ledger     closed forms: parameters, activations, operations, traffic
//! plan       buffers and dispatches as plain data; device limits
//! algorithm  one file per way to compute a convolution: variants, workspace, plan
//! shader     WGSL templates: composing, reflecting
//! inspect    what a driver's compiler makes of a kernel                     (on Vulkan itself, by ash)
//! device     adapters, memory by level, pipelines, executor, clock          (the only user of wgpu)
//! reference  f64 convolution on the CPU
//! verify     inputs, tolerances, comparison
//! stats      quantiles, intervals, outliers, stopping rule
//! measure    one session: warm up, sample, stop
//! peak       the device's own limits, the roofline
//! cost       what a plan would take; the automatic choice
//! tune       the fastest choices on a device: search, trials, tuning file
//! record     the files of a run
//! account    every byte from predicted to resident, at each stage of a process's life
//! experiment what allocators and drivers do with memory, a question at a time
//! runner     schedule, worker process, resume, observers
//! analysis   answers from records alone
//! claims     figures that people repeat, held against ours
//! chart      charts as plain data, as SVG and PNG
//! report     a run as one HTML page
//! demo       sweeps that teach: points, sentences, charts
//! cli        subcommands; the only place that prints
//! ```

pub mod account;
pub mod algorithm;
pub mod analysis;
pub mod chart;
pub mod claims;
pub mod cli;
pub mod conv;
pub mod cost;
pub mod demo;
pub mod device;
pub mod experiment;
pub mod inspect;
pub mod ledger;
pub mod measure;
pub mod peak;
pub mod plan;
pub mod record;
pub mod reference;
pub mod report;
pub mod runner;
pub mod shader;
pub mod stats;
pub mod suite;
pub mod tune;
pub mod units;
pub mod verify;
