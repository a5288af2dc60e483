// Direct convolution, one output per invocation: the definition, for every stride, padding, dilation, group and rank.
//
// Stage `direct`. Invocation i computes output element i of the images bound. Reads input and weights, writes output; no workspace.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read> weights: array<${element}>;
@group(0) @binding(3) var<storage, read_write> output: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    if index >= problem.outputs {
        return;
    }
    let q = index % problem.q;
    let p = (index / problem.q) % problem.p;
    let o = (index / (problem.q * problem.p)) % problem.o;
    let plane = index / (problem.q * problem.p * problem.o);
    let k = plane % problem.k;
    let image = plane / problem.k;

    // An input coordinate in the padding wraps below zero and so compares as too large.
    let w0 = q * problem.stride_w - problem.pad_w;
    let h0 = p * problem.stride_h - problem.pad_h;
    let d0 = o * problem.stride_d - problem.pad_d;

    let channel0 = image * problem.c + (k / problem.group_k) * problem.group_c;
    var weight = k * problem.group_c * problem.t * problem.r * problem.s;
    var sum = 0.0;
    for (var c = 0u; c < problem.group_c; c++) {
        let volume = (channel0 + c) * problem.d;
        for (var t = 0u; t < problem.t; t++) {
            let d = d0 + t * problem.dilation_d;
            for (var r = 0u; r < problem.r; r++) {
                let h = h0 + r * problem.dilation_h;
                if d < problem.d && h < problem.h {
                    let row = problem.input_skip + ((volume + d) * problem.h + h) * problem.w;
                    for (var s = 0u; s < problem.s; s++) {
                        let w = w0 + s * problem.dilation_w;
                        if w < problem.w {
                            sum += f32(input[row + w]) * f32(weights[weight + s]);
                        }
                    }
                }
                weight += problem.s;
            }
        }
    }
    output[problem.output_skip + index] = ${element}(sum);
}
