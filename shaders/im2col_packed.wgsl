// Unfolds input patches of 8-bit integers into a column matrix whose words hold four rows of the reduction.
//
// Stage `im2col`. One invocation per word: rows 4·j to 4·j + 3 of a group's reduction at one output point; rows past the last are zero.
// A workgroup stays with one j, so that all but the position is the same for its invocations. Layout of `columns`: image, group, words
// of the reduction, then the points of this strip.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read_write> columns: array<u32>;

override workgroup_x: u32;
//% include "common/linear.wgsl"
//% include "common/packed.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_group(group);
    let own = index % problem.stretches * workgroup_x + lane;
    let row = index / problem.stretches;
    if own >= problem.points || row >= problem.rows {
        return;
    }
    let k = row % problem.words * 4u;
    // Groups follow each other within an image and images without a gap, so both are one index.
    let base = problem.input_skip + row / problem.words * problem.group_volume;
    columns[problem.columns_skip + row * problem.points + own] =
        tapped_four(base, first_tap(problem.point0 + own), tap_at(k), tap_at(k + 1u), tap_at(k + 2u), tap_at(k + 3u));
}
