// Winograd filter transform U = Gₕ·g·G_wᵀ, one invocation per filter plane (k,c).
//
// Stage `filter_transform`. Reads R×S weights, writes the αₕ·α_w points of each to `filters`, in the order its reader likes best: the uniforms
// say how far apart groups, filters, channels and points lie. With `turned` kernels are read from their end and channels exchanged.
//% include "common/problem.wgsl"
//% from "common/winograd.wgsl" import combine
@group(0) @binding(1) var<storage, read> weights: array<${element}>;
@group(0) @binding(2) var<storage, read_write> filters: array<f32>;

override workgroup_x: u32;
//% include "common/linear.wgsl"
//% set r = g_h[0] | length
//% set s = g_w[0] | length
//% set alpha_w = g_w | length

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let plane = linear_invocation(group, lane);
    if plane >= problem.planes {
        return;
    }
    let k = plane / problem.group_c;
//% if turned
    // Here a channel k of the result is an input channel of the weights, and a channel that is summed over an output channel.
    let source = (k / problem.group_k * problem.group_c + plane % problem.group_c) * problem.group_k + k % problem.group_k;
//% else
    let source = plane;
//% endif
//% for i in range(r)
//% for j in range(s)
    let g${i}_${j} = f32(weights[source * ${r * s}u + ${r * s - 1 - i * s - j if turned else i * s + j}u]);
//% endfor
//% endfor
//% for a in range(g_h | length)
//% for j in range(s)
    let t${a}_${j} = ${combine(g_h[a], "g", "_" ~ j)};
//% endfor
//% endfor
    let first = k / problem.group_k * problem.to_group + k % problem.group_k * problem.to_filter
        + plane % problem.group_c * problem.to_channel;
//% for a in range(g_h | length)
//% for b in range(alpha_w)
    filters[${a * alpha_w + b}u * problem.to_point + first] = ${combine(g_w[b], "t" ~ a ~ "_", "")};
//% endfor
//% endfor
}
