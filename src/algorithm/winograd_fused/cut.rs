//! How the fused Winograd kernel's work is cut: a block of filters by tiles for each workgroup, and the block over its invocations.
//!
//! The block follows from the convolution alone; a device's limits decide how it is shared out, and refuse it where it does not fit.

use crate::conv::Conv;
use crate::plan::{Limits, Unsupported};
use crate::units::Bytes;

/// The filters and tiles of a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) filters: u64,
    pub(super) tiles: u64,
}

/// Workgroups below which blocks are made of fewer filters: too few to fill a device.
const FEW_BLOCKS: u64 = 64;

impl Block {
    /// Large enough to use a transformed tile for many filters, no larger than there are filters and tiles, and not so large that only few
    /// workgroups are left.
    pub(super) fn of(conv: &Conv, m: u64, tiles: u64) -> Self {
        let mut block = Self { filters: 32, tiles: if m == 2 { 32 } else { 16 } };
        let filters = conv.group_channels_out();
        while block.tiles > 4 && block.tiles / 2 >= tiles {
            block.tiles /= 2;
        }
        while block.filters > 4 && block.filters / 2 >= filters {
            block.filters /= 2;
        }
        let blocks =
            |block: Self| filters.div_ceil(block.filters).saturating_mul(tiles.div_ceil(block.tiles)).saturating_mul(conv.groups());
        if block.filters > 16 && blocks(block) < FEW_BLOCKS {
            block.filters = 16;
        }
        block
    }
}

/// How a workgroup shares out its block: the points over invocations, then register tiles of `rows` filters by `columns` vectors of four
/// tiles over `lanes_m` by `lanes_n` of them; `depth` channels are staged together, and `turn` register rows change hands together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    rows: u32,
    columns: u32,
    pub(super) lanes_m: u32,
    pub(super) lanes_n: u32,
    pub(super) points: u32,
    depth: u32,
    turn: u32,
}

impl Cut {
    /// Register tiles, the first that fits first: the accumulators most devices hold with room to spare, then fewer for small blocks, then
    /// more where a workgroup may have few invocations.
    const REGISTERS: [(u32, u32); 8] = [(8, 2), (4, 2), (8, 1), (4, 1), (16, 2), (32, 2), (32, 4), (32, 8)];

    /// Invocations below which a register tile is made smaller.
    const ENOUGH: u32 = 128;

    /// The cut of a block for a device, `channels` being those of a group.
    pub(super) fn of(block: Block, points: u64, channels: u64, limits: &Limits) -> Result<Self, Unsupported> {
        let [filters, tiles, points] = [block.filters, block.tiles, points].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let cuts = Self::REGISTERS.into_iter().filter(|(rows, columns)| filters % rows == 0 && tiles % (4 * columns) == 0);
        let cuts = cuts.map(|(rows, columns)| Self {
            rows,
            columns,
            lanes_m: filters / rows,
            lanes_n: tiles / (4 * columns),
            points,
            depth: 1,
            turn: 1,
        });
        let cuts: Vec<Self> = cuts.filter(Self::stages).collect();
        let invocations = |cut: &Self| {
            cut.lanes() <= limits.max_workgroup_invocations
                && cut.lanes_m * cut.lanes_n <= limits.max_workgroup_size[0]
                && cut.points <= limits.max_workgroup_size[1]
        };
        let fitting: Vec<Self> = cuts.iter().copied().filter(invocations).collect();
        if fitting.is_empty() {
            return Err(Unsupported::Limit {
                what: "winograd_fused: invocations of a workgroup".into(),
                needed: cuts.iter().map(Self::lanes).min().unwrap_or(points).to_string(),
                limit_name: "workgroup invocation limit".into(),
                limit: limits.max_workgroup_invocations.to_string(),
            });
        }
        let within: Vec<Self> = fitting.iter().copied().filter(|cut| cut.workgroup_bytes() <= limits.max_workgroup_bytes).collect();
        let cut = within.iter().find(|cut| cut.lanes() >= Self::ENOUGH).or_else(|| within.iter().max_by_key(|cut| cut.lanes()));
        let Some(&cut) = cut else {
            let [needed, limit] = [fitting[0].workgroup_bytes(), limits.max_workgroup_bytes].map(|n| Bytes(n.into()));
            return Err(Unsupported::bytes("winograd_fused: workgroup memory", needed, "workgroup memory limit", limit));
        };
        let fits = |cut: &Self| cut.stages() && cut.workgroup_bytes() <= limits.max_workgroup_bytes.min(Self::ROOM);
        let deepest = [8, 4, 2].map(|depth| Self { depth, ..cut }).into_iter();
        let cut = deepest.filter(|cut| channels > u64::from(cut.depth / 2)).find(fits).unwrap_or(cut);
        // As many rows change hands together as invocations can take back and the staged blocks have room for.
        let room = cut.workgroup_bytes();
        let most = (0..).map(|power| 1 << power).take_while(|turn| turn <= &cut.rows && cut.rows.is_multiple_of(*turn));
        let turns = most.map(|turn| Self { turn, ..cut });
        Ok(turns.filter(|cut| cut.pairs() <= cut.lanes() && cut.workgroup_bytes() <= room).last().unwrap_or(cut))
    }

    /// Workgroup memory beyond which too few workgroups share a processor.
    const ROOM: u32 = 32 << 10;

    fn lanes(&self) -> u32 {
        self.points * self.lanes_m * self.lanes_n
    }

    fn filters(&self) -> u32 {
        self.rows * self.lanes_m
    }

    fn tiles(&self) -> u32 {
        4 * self.columns * self.lanes_n
    }

    /// Pairs of a filter and a tile whose products change hands together.
    fn pairs(&self) -> u32 {
        self.turn * self.lanes_m * self.tiles()
    }

    /// Whether there is an invocation for each tile and filter to be transformed.
    fn stages(&self) -> bool {
        self.depth * (self.filters() + self.tiles()) <= self.lanes() && self.pairs() <= self.lanes()
    }

    pub(super) fn workgroup_bytes(&self) -> u32 {
        4 * self.points * (self.depth * (self.filters() + self.tiles())).max(self.pairs())
    }

    pub(super) fn constants(&self) -> [(&'static str, u32); 6] {
        [
            ("rows", self.rows),
            ("columns", self.columns),
            ("lanes_m", self.lanes_m),
            ("lanes_n", self.lanes_n),
            ("depth", self.depth),
            ("turn", self.turn),
        ]
    }
}

impl std::fmt::Display for Cut {
    /// As tiles are written, with the points in the middle.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rows, columns, lanes_m, lanes_n, points, depth, turn } = self;
        write!(f, "{rows}x{} lanes {lanes_n}x{lanes_m}x{points} depth {depth} turn {turn}", 4 * columns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm as _, Variant, WinogradFused};
    use super::*;
    use crate::plan::Plan;

    /// Every block on devices of every size: within the limits, or refused for them.
    #[test]
    fn cuts_stay_within_a_device() {
        let mut cuts = 0;
        for (filters, tiles, points) in
            [4, 8, 16, 32].into_iter().flat_map(|k| [4, 8, 16, 32].into_iter().flat_map(move |t| [(k, t, 16), (k, t, 36)]))
        {
            for (invocations, bytes) in [32, 128, 256, 1024].into_iter().flat_map(|i| [4 << 10, 16 << 10, 64 << 10].map(|b| (i, b))) {
                let limits = Limits { max_workgroup_invocations: invocations, max_workgroup_bytes: bytes, ..Limits::WEBGPU };
                let Ok(cut) = Cut::of(Block { filters, tiles }, points, 64, &limits) else {
                    assert!(invocations < 256 || bytes < 16 << 10, "{filters} filters, {tiles} tiles, {points} points");
                    continue;
                };
                assert_eq!((u64::from(cut.filters()), u64::from(cut.tiles())), (filters, tiles));
                assert!(cut.lanes() <= invocations && cut.workgroup_bytes() <= bytes, "{cut}");
                assert!(cut.stages() && cut.rows.is_multiple_of(cut.turn), "{cut}");
                cuts += 1;
            }
        }
        assert!(cuts > 200, "{cuts}");
    }

    fn plan(algorithm: &WinogradFused, key: &str, limits: &Limits) -> Result<Plan, Unsupported> {
        algorithm.native_plan(&key.parse().expect(key), &Variant::word("inside"), limits)
    }

    #[test]
    fn plans_tell_how_they_are_cut() {
        let desktop = Limits { max_workgroup_invocations: 1024, max_workgroup_bytes: 32 << 10, ..Limits::WEBGPU };
        let cut = |algorithm: &WinogradFused, key: &str, limits: &Limits| plan(algorithm, key, limits).expect(key).tuning;
        let large = "n8c128h56w56_k128r3s3_p1";
        assert_eq!(cut(&WinogradFused::F2, large, &desktop), "winograd_fused 8x8 lanes 4x4x16 depth 4 turn 2");
        assert_eq!(cut(&WinogradFused::F4, large, &desktop), "winograd_fused 8x8 lanes 2x4x36 depth 4 turn 2");
        assert_eq!(cut(&WinogradFused::F4, large, &Limits::WEBGPU), "winograd_fused 16x8 lanes 2x2x36 depth 2 turn 2");
        assert_eq!(cut(&WinogradFused::F2, "n1c1h4w4_k1r3s3_p1", &desktop), "winograd_fused 4x4 lanes 1x1x16 depth 1 turn 2");
    }

    #[test]
    fn refusals_tell_the_limit() {
        let told = |limits| plan(&WinogradFused::F4, "n8c128h56w56_k128r3s3_p1", &limits).map(|_| ()).expect_err("too small").to_string();
        assert_eq!(
            told(Limits { max_workgroup_invocations: 64, ..Limits::WEBGPU }),
            "winograd_fused: invocations of a workgroup 72 > workgroup invocation limit 64"
        );
        assert_eq!(
            told(Limits { max_workgroup_bytes: 4096, ..Limits::WEBGPU }),
            "winograd_fused: workgroup memory 6,912 B > workgroup memory limit 4,096 B"
        );
    }
}
