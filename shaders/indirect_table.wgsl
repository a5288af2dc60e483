// Tables where each tap of each output point lies in the plane of a channel; all ones for a tap in the padding.
//
// Stage `offset_table`. One invocation per entry. Layout of `table`: taps, then output points.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read_write> table: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    if index >= problem.entries {
        return;
    }
    let point = index % problem.points;
    let tap = index / problem.points;
    let s = tap % problem.s;
    let r = tap / problem.s % problem.r;
    let t = tap / (problem.s * problem.r);
    // A coordinate in the padding wraps below zero and so compares as too large.
    let w = point % problem.q * problem.stride_w + s * problem.dilation_w - problem.pad_w;
    let h = point / problem.q % problem.p * problem.stride_h + r * problem.dilation_h - problem.pad_h;
    let d = point / (problem.q * problem.p) * problem.stride_d + t * problem.dilation_d - problem.pad_d;
    let inside = (w < problem.w) & (h < problem.h) & (d < problem.d);
    table[index] = select(0xFFFFFFFFu, (d * problem.h + h) * problem.w + w, inside);
}
