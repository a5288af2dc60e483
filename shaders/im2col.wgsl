// Unfolds input patches into the column matrix that turns a convolution into a matrix product.
//
// Stage `im2col`. For every image bound, row (c,t,r,s) and output point, one invocation copies one input element, or zero where
// the tap falls into the padding. Layout of `columns`: image, then C·T·R·S rows, then the points of this strip.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read_write> columns: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    if index >= problem.elements {
        return;
    }
    let point = problem.point0 + index % problem.points;
    let row = index / problem.points;
    let s = row % problem.s;
    let r = (row / problem.s) % problem.r;
    let t = (row / (problem.s * problem.r)) % problem.t;
    // Images follow each other without a gap, so channel and image are one index.
    let channel = row / (problem.s * problem.r * problem.t);

    let q = point % problem.q;
    let p = (point / problem.q) % problem.p;
    let o = point / (problem.q * problem.p);

    // An input coordinate in the padding wraps below zero and so compares as too large.
    let w = q * problem.stride_w + s * problem.dilation_w - problem.pad_w;
    let h = p * problem.stride_h + r * problem.dilation_h - problem.pad_h;
    let d = o * problem.stride_d + t * problem.dilation_d - problem.pad_d;
    var value = ${element}(0.0);
    if d < problem.d && h < problem.h && w < problem.w {
        value = input[problem.input_skip + ((channel * problem.d + d) * problem.h + h) * problem.w + w];
    }
    columns[problem.columns_skip + index] = value;
}
