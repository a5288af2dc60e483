//! The bytes of a case, ledger by ledger.

use crate::ledger::Ledger;
use crate::record::{CaseKey, LedgerRow, Measurement};
use crate::units::Bytes;
use std::collections::HashMap;

/// What a case holds in each ledger, at the level its row tells it: predicted, and where the device was asked, what it was asked for and what the
/// allocator gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerTotals {
    /// Weights.
    pub parameter: Levels,
    /// Feature maps.
    pub activation: Levels,
    /// Workspace; nothing predicted where the algorithm is not made for the problem.
    pub computation: Levels,
    /// What no algorithm asked for, as far as `ledger.csv` has it.
    pub runtime: Levels,
}

/// One count of bytes at three levels; `None` where a level is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels {
    /// By closed form.
    pub predicted: Option<Bytes>,
    /// Sizes given to the device.
    pub requested: Option<Bytes>,
    /// What the allocator handed out, alignment included.
    pub allocated: Option<Bytes>,
}

impl LedgerTotals {
    /// The ledgers with their levels, in the order they are told.
    pub fn each(&self) -> [(Ledger, Levels); 4] {
        [
            (Ledger::Parameter, self.parameter),
            (Ledger::Activation, self.activation),
            (Ledger::Computation, self.computation),
            (Ledger::Runtime, self.runtime),
        ]
    }
}

/// The totals of every case of a run, by case.
pub fn ledger_totals<'a>(rows: &'a [Measurement], buffers: &[LedgerRow]) -> HashMap<&'a CaseKey, LedgerTotals> {
    let mut totals: HashMap<&CaseKey, LedgerTotals> = rows.iter().map(|row| (&row.case, of_row(row))).collect();
    for buffer in buffers.iter().filter(|buffer| buffer.ledger == Ledger::Runtime) {
        let Some(totals) = totals.get_mut(&buffer.case) else { continue };
        let runtime = &mut totals.runtime;
        add(&mut runtime.predicted, Some(buffer.predicted_bytes));
        add(&mut runtime.requested, buffer.requested_bytes);
        add(&mut runtime.allocated, buffer.allocated_bytes);
    }
    totals
}

fn add(sum: &mut Option<Bytes>, bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        *sum = Some(Bytes(sum.unwrap_or_default().0.saturating_add(bytes)));
    }
}

fn of_row(row: &Measurement) -> LedgerTotals {
    let levels = |predicted, requested, allocated| {
        let bytes = |count: Option<u64>| count.map(Bytes);
        Levels { predicted: bytes(predicted), requested: bytes(requested), allocated: bytes(allocated) }
    };
    LedgerTotals {
        parameter: levels(Some(row.parameter_bytes), row.parameter_requested_bytes, row.parameter_allocated_bytes),
        activation: levels(Some(row.activation_bytes), row.activation_requested_bytes, row.activation_allocated_bytes),
        computation: levels(row.computation_bytes, row.computation_requested_bytes, row.computation_allocated_bytes),
        runtime: Levels::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::timed;
    use super::*;
    use crate::conv::ElementType;
    use crate::plan::{Lifetime, Role};

    #[test]
    fn ledgers_come_from_the_row_and_the_runtime_from_its_buffers() {
        let rows = [timed("a", "im2col:batch", 1.0, 1152), timed("a", "direct", 1.0, 0)];
        let buffer = |row: &Measurement, ledger, bytes, allocated| LedgerRow {
            case: row.case.clone(),
            ledger,
            buffer: "b".into(),
            role: Role::Uniform,
            elements: 1,
            buffer_dtype: ElementType::F32,
            predicted_bytes: bytes,
            requested_bytes: None,
            allocated_bytes: allocated,
            lifetime: Lifetime::Call,
            first_step: None,
            last_step: None,
            slot: None,
        };
        let buffers = [
            buffer(&rows[0], Ledger::Runtime, 64, Some(256)),
            buffer(&rows[0], Ledger::Runtime, 8, None),
            buffer(&rows[1], Ledger::Computation, 9, None),
        ];
        let totals = ledger_totals(&rows, &buffers);
        let of = &totals[&rows[0].case];
        assert_eq!((of.computation.predicted, of.computation.allocated), (Some(Bytes(1152)), None));
        assert_eq!(of.runtime, Levels { predicted: Some(Bytes(72)), requested: None, allocated: Some(Bytes(256)) });
        assert_eq!(totals[&rows[1].case].runtime, Levels::default());
    }
}
