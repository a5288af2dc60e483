// Direct convolution, one output per invocation: the definition, for every stride, padding, dilation, group and rank.
//
// Stage `direct`. A workgroup computes a stretch of points of one output plane (n,k), so that the weights are the same for its
// invocations. Reads input and weights, writes output; no workspace. The taps of a small kernel are unrolled in the text (`unroll`,
// with its extents `t`, `r`, `s`): what a loop costs to enter is more than what one tap takes. With `packed` elements are 8-bit integers,
// four to a word, and sums and outputs integers of 32 bits.
//% include "common/problem.wgsl"
//% from "common/read.wgsl" import read
//% set zero = "0i" if packed else "0.0"
//% set result = "i32" if packed else element
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read> weights: array<${element}>;
@group(0) @binding(3) var<storage, read_write> output: array<${result}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"
//# Where a row of the input begins, by depth and height, and the element at a width of it. With `channels_last` all channels of a point lie
//# together.
//% macro row_at(d, h)
//% if channels_last
((image * problem.d + ${d}) * problem.h + ${h}) * problem.w
//% else
problem.input_skip + ((volume + ${d}) * problem.h + ${h}) * problem.w
//% endif
//% endmacro
//% macro element_at(row, w)
//% if channels_last
problem.input_skip + (${row} + ${w}) * problem.c + channel
//% else
${row} + ${w}
//% endif
//% endmacro

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let stretch = linear_group(group);
    let plane = stretch / problem.stretches;
    if plane >= problem.planes {
        return;
    }
    let own = (stretch % problem.stretches) * workgroup_x + lane;
    // Invocations past the last point compute it again and do not store: no invocation leaves the others behind.
    let point = min(own, problem.points - 1u);
    let k = plane % problem.k;
    let image = plane / problem.k;
    let q = point % problem.q;
    let p = (point / problem.q) % problem.p;
    let o = point / (problem.q * problem.p);

    // An input coordinate in the padding wraps below zero and so compares as too large.
    let w0 = q * problem.stride_w - problem.pad_w;
    let h0 = p * problem.stride_h - problem.pad_h;
    let d0 = o * problem.stride_d - problem.pad_d;

    let channel0 = ${"" if channels_last else "image * problem.c + "}(k / problem.group_k) * problem.group_c;
    var weight = k * problem.group_c * problem.t * problem.r * problem.s;
    var sum = ${zero};
    for (var c = 0u; c < problem.group_c; c++) {
//% if channels_last
        let channel = channel0 + c;
//% else
        let volume = (channel0 + c) * problem.d;
//% endif
//% if unroll
//% for i in range(t)
//% for j in range(r)
        {
            let d = d0 + ${i}u * problem.dilation_d;
            let h = h0 + ${j}u * problem.dilation_h;
            let inside = (d < problem.d) & (h < problem.h);
            let row = ${row_at("d", "h")};
//% for k in range(s)
            {
                // A tap in the padding reads the first element and drops it, which is cheaper than a branch.
                let w = w0 + ${k}u * problem.dilation_w;
                let tap = inside & (w < problem.w);
                let at = select(problem.input_skip, ${element_at("row", "w")}, tap);
                let value = ${read("input", "at")};
                sum += select(${zero}, value, tap) * ${read("weights", "weight + " ~ ((i * r + j) * s + k) ~ "u")};
            }
//% endfor
        }
//% endfor
//% endfor
        weight += ${t * r * s}u;
//% else
        for (var t = 0u; t < problem.t; t++) {
            let d = d0 + t * problem.dilation_d;
            for (var r = 0u; r < problem.r; r++) {
                let h = h0 + r * problem.dilation_h;
                if (d < problem.d) & (h < problem.h) {
                    let row = ${row_at("d", "h")};
                    for (var s = 0u; s < problem.s; s++) {
                        let w = w0 + s * problem.dilation_w;
                        if w < problem.w {
                            let at = ${element_at("row", "w")};
                            sum += ${read("input", "at")} * ${read("weights", "weight + s")};
                        }
                    }
                }
                weight += problem.s;
            }
        }
//% endif
    }
    if own < problem.points {
//% if channels_last
        output[problem.output_skip + (image * problem.points + point) * problem.k + k] = ${result}(sum);
//% else
        output[problem.output_skip + plane * problem.points + point] = ${result}(sum);
//% endif
    }
}
