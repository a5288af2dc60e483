// Winograd filter transform U = G·g·Gᵀ, one invocation per filter plane (k,c).
//
// Stage `filter_transform`. Reads 3×3 weights, writes the α² points of each to `filters`, in the order its reader likes best: the uniforms
// say how far apart groups, filters, channels and points lie.
//% include "common/problem.wgsl"
//% from "common/winograd.wgsl" import combine
@group(0) @binding(1) var<storage, read> weights: array<${element}>;
@group(0) @binding(2) var<storage, read_write> filters: array<f32>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let plane = linear_invocation(group, lane);
    if plane >= problem.planes {
        return;
    }
//% for i in range(3)
//% for j in range(3)
    let g${i}_${j} = f32(weights[plane * 9u + ${i * 3 + j}u]);
//% endfor
//% endfor
//% for a in range(g | length)
//% for j in range(3)
    let t${a}_${j} = ${combine(g[a], "g", "_" ~ j)};
//% endfor
//% endfor
    let k = plane / problem.group_c;
    let first = k / problem.group_k * problem.to_group + k % problem.group_k * problem.to_filter
        + plane % problem.group_c * problem.to_channel;
//% for a in range(g | length)
//% for b in range(g | length)
    filters[${a * (g | length) + b}u * problem.to_point + first] = ${combine(g[b], "t" ~ a ~ "_", "")};
//% endfor
//% endfor
}
