// Gradient of the input by its definition, one element per invocation, for every stride, padding, dilation, group and rank.
//
// Stage `direct`. A workgroup computes a stretch of points of one input plane (n,c), so that the weights are the same for its invocations.
// Reads the gradient of the output and the weights, writes that of the input; no workspace. Element (d,h,w) meets tap (t,r,s) in the output
// ((d + pad − t·dilation) / stride, …) where the division leaves no rest; with `dense` it never does.
//% include "common/problem.wgsl"
//% from "common/meet.wgsl" import meet
@group(0) @binding(1) var<storage, read> gradient: array<${element}>;
@group(0) @binding(2) var<storage, read> weights: array<${element}>;
@group(0) @binding(3) var<storage, read_write> input: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let stretch = linear_group(group);
    let plane = stretch / problem.stretches;
    if plane >= problem.planes {
        return;
    }
    let own = (stretch % problem.stretches) * workgroup_x + lane;
    // Invocations past the last point compute it again and do not store.
    let point = min(own, problem.points - 1u);
    let c = plane % problem.c;
    let image = plane / problem.c;
    let w = point % problem.w;
    let h = (point / problem.w) % problem.h;
    let d = point / (problem.w * problem.h);

    let first_k = c / problem.group_c * problem.group_k;
    let volume = problem.o * problem.p * problem.q;
    let taps = problem.t * problem.r * problem.s;
    let first_weight = (first_k * problem.group_c + c % problem.group_c) * taps;
    let first_gradient = problem.output_skip + (image * problem.k + first_k) * volume;
    var sum = 0.0;
    for (var tap = 0u; tap < taps; tap++) {
        let s = tap % problem.s;
        let r = tap / problem.s % problem.r;
        let t = tap / (problem.s * problem.r);
        ${meet("d", "t", "o")}
        ${meet("h", "r", "p")}
        ${meet("w", "s", "q")}
        // Where there is none the first element is read and dropped, which is cheaper than a branch.
        let inside = in_d & in_h & in_w;
        var source = first_gradient + select(0u, (o * problem.p + p) * problem.q + q, inside);
        var weight = first_weight + tap;
        for (var k = 0u; k < problem.group_k; k++) {
            sum += select(0.0, f32(gradient[source]), inside) * f32(weights[weight]);
            source += volume;
            weight += problem.group_c * taps;
        }
    }
    if own < problem.points {
        input[problem.input_skip + plane * problem.points + point] = ${element}(sum);
    }
}
