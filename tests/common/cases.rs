//! One case on a device against the f64 reference.

use convledger::algorithm::{Algorithm, Variant};
use convledger::conv::Conv;
use convledger::device::{Gpu, Loaded};
use convledger::plan::{Limits, Plan, Unsupported};
use convledger::verify::{Comparison, Expectation, Inputs, on_host, tolerance};

/// Runs one case from poisoned buffers and says what is wrong with its output, if anything; whether it is supported.
pub(crate) fn verify(
    gpu: &Gpu,
    conv: &Conv,
    algorithm: &dyn Algorithm,
    variant: &Variant,
    limits: &Limits,
    seed: u64,
) -> Result<bool, String> {
    compare(gpu, conv, algorithm, variant, limits, seed).map(|comparison| comparison.is_some())
}

/// The same with how a right output compares with the reference; nothing where the case is not supported.
pub(crate) fn compare(
    gpu: &Gpu,
    conv: &Conv,
    algorithm: &dyn Algorithm,
    variant: &Variant,
    limits: &Limits,
    seed: u64,
) -> Result<Option<Comparison>, String> {
    let name = format!("{} of {conv} {} {}, seed {seed}", variant.qualify(algorithm.id()), conv.pass(), conv.element());
    let plan = match algorithm.plan(conv, variant, limits) {
        Ok(plan) => plan,
        Err(Unsupported::Problem(_) | Unsupported::Limit { .. }) => return Ok(None),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    let inputs = Inputs::random(conv, seed);
    let loaded = Loaded::new(gpu, plan, 1).map_err(|error| format!("{name}: {error}"))?;
    let run = || {
        for (tensor, values) in inputs.on_device(conv) {
            loaded.upload(Plan::of(tensor), &values)?;
        }
        loaded.poison()?;
        loaded.execute_poisoned()?;
        loaded.download(loaded.plan().result)
    };
    let output = on_host(conv, run().map_err(|error| format!("{name}: {error}"))?);
    let comparison = Expectation::new(conv, &inputs, seed).compare(&output);
    comparison.verdict(tolerance(conv, algorithm.amplification(conv))).map_err(|error| format!("{name}: {error}"))?;
    Ok(Some(comparison))
}
