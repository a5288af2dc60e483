//! Workspaces that share memory: those whose steps do not overlap lie in one slot of an arena, one after the other.
//!
//! A workspace carries nothing from one execution to the next, so what it holds matters from the first step that binds it to the last, both
//! included: one that is read in a step and another that is written there cannot be the same memory. A slot is a buffer of its own and no part of
//! a larger one, because wgpu follows how buffers are used as wholes and refuses a dispatch that reads one window of a buffer and writes
//! another. Three figures say what that comes to, for the workspaces alone:
//!
//! ```text
//! live (the most bytes in use in one step)  ≤  arena (slots, and workspaces with memory of their own)  ≤  sum
//! ```
//!
//! Slots are filled greedily, the largest workspace first, each into the first slot that is free in all of its steps; so a slot is as large as the
//! first workspace in it, and equal plans have equal slots. This is "greedy by size" for shared objects of Pisarchyk and Lee, "Efficient Memory
//! Management for Deep Neural Net Inference" (2020, arXiv 2001.03288). It need not be the least, which `live` bounds from below.

use super::{Buffer, BufferId, Lifetime, Plan, Role};
use crate::ledger::Ledger;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Index of a slot in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SlotId(pub usize);

/// Memory that several workspaces of a plan lie in, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The largest of them: its bytes are the slot's, and booked to it.
    pub holder: BufferId,
    /// The others, each at the slot's beginning.
    pub guests: Vec<BufferId>,
}

impl Slot {
    /// All workspaces in it, the largest first.
    pub fn tenants(&self) -> impl Iterator<Item = BufferId> {
        std::iter::once(self.holder).chain(self.guests.iter().copied())
    }
}

/// First and last step in which a workspace holds something.
type Life = (usize, usize);

const fn overlap(a: Life, b: Life) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

impl Plan {
    /// When a workspace holds something; `None` where no step binds it. What is kept between executions is never free, and neither is what a step
    /// that runs once leaves to those that run every time.
    fn life(&self, id: BufferId) -> Option<Life> {
        let (first, last) = self.live_range(id)?;
        let kept = self.buffer(id).lifetime == Lifetime::Cached || (self.steps[first].once && !self.steps[last].once);
        Some(if kept { (0, self.steps.len() - 1) } else { (first, last) })
    }

    fn workspaces(&self) -> impl Iterator<Item = (BufferId, &Buffer)> {
        self.numbered().filter(|(_, buffer)| buffer.role == Role::Workspace)
    }

    /// Deals the workspaces out to slots. Only those that share one are noted.
    pub(super) fn share(&mut self) {
        let mut lives: Vec<(BufferId, Life)> = self.workspaces().filter_map(|(id, _)| Some((id, self.life(id)?))).collect();
        // Stable: of equal ones the first of the plan comes first.
        lives.sort_by_key(|(id, _)| Reverse(self.buffer(*id).bytes()));
        let mut slots: Vec<Vec<(BufferId, Life)>> = Vec::new();
        for (id, life) in lives {
            match slots.iter_mut().find(|tenants| tenants.iter().all(|(_, other)| !overlap(life, *other))) {
                Some(tenants) => tenants.push((id, life)),
                None => slots.push(vec![(id, life)]),
            }
        }
        let shared = slots.into_iter().filter_map(|tenants| match tenants.as_slice() {
            [] | [_] => None,
            [(holder, _), guests @ ..] => Some(Slot { holder: *holder, guests: guests.iter().map(|(id, _)| *id).collect() }),
        });
        self.slots = shared.collect();
    }

    /// The slot a buffer shares with others; none where its memory is its own.
    pub fn slot_of(&self, id: BufferId) -> Option<SlotId> {
        self.slots.iter().position(|slot| slot.tenants().any(|tenant| tenant == id)).map(SlotId)
    }

    /// The buffer in whose memory one lies: itself, or the largest of its slot.
    pub fn memory_of(&self, id: BufferId) -> BufferId {
        self.slots.iter().find(|slot| slot.guests.contains(&id)).map_or(id, |slot| slot.holder)
    }

    /// The buffers that memory is asked for: all but those that lie in a larger one's.
    pub fn allocations(&self) -> impl Iterator<Item = (BufferId, &Buffer)> {
        self.numbered().filter(|(id, _)| self.memory_of(*id) == *id)
    }

    /// Bytes asked for the workspaces, memory that several share counted once. Their sum is what [`Plan::bytes`] tells.
    pub fn arena_bytes(&self) -> Bytes {
        Bytes(self.allocations().filter(|(_, buffer)| buffer.role == Role::Workspace).map(|(_, buffer)| buffer.bytes().0).sum())
    }

    /// Bytes that workspaces take less for sharing memory: their sum less the arena.
    pub fn shared_bytes(&self) -> Bytes {
        Bytes(self.bytes(Ledger::Computation).0 - self.arena_bytes().0)
    }

    /// The most bytes of workspaces that hold something in one step: no arena takes less.
    pub fn live_bytes(&self) -> Bytes {
        let lives: Vec<(u64, Life)> = self.workspaces().filter_map(|(id, buffer)| Some((buffer.bytes().0, self.life(id)?))).collect();
        // There are never more than when one has just begun.
        let at = |step: usize| lives.iter().filter(|(_, life)| overlap(*life, (step, step))).map(|(bytes, _)| bytes).sum();
        Bytes(lives.iter().map(|(_, (first, _))| at(*first)).max().unwrap_or(0))
    }

    /// Bytes of all buffers as the device is asked for them.
    pub fn requested_bytes(&self) -> Bytes {
        Bytes(self.allocations().map(|(_, buffer)| buffer.bytes().0).sum())
    }
}
