// Tables where in the padded input the patches of output points have their corner.
//
// Stage `corner_table`. One invocation per output point of an image. An entry has the coordinate along the width in its lowest `corner_w`
// bits, above it that along the height in `corner_h` bits, above that the one along the depth.
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
    let w = index % problem.q * problem.stride_w;
    let h = index / problem.q % problem.p * problem.stride_h;
    let d = index / (problem.q * problem.p) * problem.stride_d;
    table[index] = (((d << ${corner_h}u) | h) << ${corner_w}u) | w;
}
