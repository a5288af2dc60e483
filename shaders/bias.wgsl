// Adds one value per output channel to a finished output, in place.
//
// Stage `bias`. One invocation per output element of the images bound.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> bias: array<${element}>;
@group(0) @binding(2) var<storage, read_write> output: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    if index < problem.outputs {
        let at = problem.output_skip + index;
        output[at] = ${element}(f32(output[at]) + f32(bias[(index / problem.points) % problem.k]));
    }
}
