// Tables how far from a patch's corner the elements of the patch lie, and which tap each belongs to.
//
// Stage `offset_table`. One invocation per entry, in the order of the weights: channel, then tap. An entry has the offset in its lowest
// `offset_bits` bits, above it the tap's coordinates, the width's in `tap_w` and the height's in `tap_h` bits.
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
    let s = index % problem.s;
    let r = index / problem.s % problem.r;
    let t = index / (problem.s * problem.r) % problem.t;
    let c = index / (problem.s * problem.r * problem.t);
    let row = (c * problem.d + t * problem.dilation_d) * problem.h + r * problem.dilation_h;
    let tap = (((t << ${tap_h}u) | r) << ${tap_w}u) | s;
    table[index] = (tap << ${offset_bits}u) | (row * problem.w + s * problem.dilation_w);
}
