// Gradient of the weights by its definition, one element per invocation, for every stride, padding, dilation, group and rank.
//
// Stage `direct`. Reads the input and the gradient of the output, writes the gradient of the weights; no workspace. Sums over some rows of
// outputs; with `add` the sum over the rows before is there already.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read> gradient: array<${element}>;
@group(0) @binding(3) var<storage, read_write> weights: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let own = linear_invocation(group, lane);
    if own >= problem.weights {
        return;
    }
    let taps = problem.t * problem.r * problem.s;
    let tap = own % taps;
    let s = tap % problem.s;
    let r = tap / problem.s % problem.r;
    let t = tap / (problem.s * problem.r);
    let k = own / (taps * problem.group_c);
    let c = k / problem.group_k * problem.group_c + own / taps % problem.group_c;

    // An input coordinate in the padding wraps below zero and so compares as too large.
    let w0 = s * problem.dilation_w - problem.pad_w;
    let h0 = r * problem.dilation_h - problem.pad_h;
    let d0 = t * problem.dilation_d - problem.pad_d;
    var sum = ${"f32(weights[own])" if add else "0.0"};
    for (var row = problem.first_row; row < problem.end_row; row++) {
        let p = row % problem.p;
        let o = row / problem.p % problem.o;
        let image = row / (problem.p * problem.o);
        let h = p * problem.stride_h + h0;
        let d = o * problem.stride_d + d0;
        let plane = problem.input_skip + (image * problem.c + c) * problem.d * problem.h * problem.w;
        let inside = (d < problem.d) & (h < problem.h);
        let line = plane + (d * problem.h + h) * problem.w;
        let source = problem.output_skip + (((image * problem.k + k) * problem.o + o) * problem.p + p) * problem.q;
        for (var q = 0u; q < problem.q; q++) {
            let w = q * problem.stride_w + w0;
            let meets = inside & (w < problem.w);
            sum += select(0.0, f32(input[select(problem.input_skip, line + w, meets)]), meets) * f32(gradient[source + q]);
        }
    }
    weights[own] = ${element}(sum);
}
