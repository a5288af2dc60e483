// Unfolds input patches into the column matrix that turns a convolution into a matrix product.
//
// Stage `im2col`. A workgroup fills a stretch of one row (c,t,r,s) of one image's matrix, so that all but the position along the row is
// the same for its invocations; each of them copies `repeats` input elements, or zeros where the tap falls into the padding.
// Layout of `columns`: image, then C·T·R·S rows, then the points of this strip.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read_write> columns: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let stretch = linear_group(group);
    let row = stretch / problem.stretches;
    if row >= problem.rows {
        return;
    }
    let s = row % problem.s;
    let r = (row / problem.s) % problem.r;
    let t = (row / (problem.s * problem.r)) % problem.t;
    // Images follow each other without a gap, so channel and image are one index.
    let channel = row / (problem.s * problem.r * problem.t);
    let volume = problem.input_skip + channel * problem.d * problem.h * problem.w;

    // An input coordinate in the padding wraps below zero and so compares as too large.
    let w0 = s * problem.dilation_w - problem.pad_w;
    let h0 = r * problem.dilation_h - problem.pad_h;
    let d0 = t * problem.dilation_d - problem.pad_d;

    var index = (stretch % problem.stretches) * workgroup_x * ${repeats}u + lane;
    let point = problem.point0 + index;
    var q = point % problem.q;
    var p = (point / problem.q) % problem.p;
    var o = point / (problem.q * problem.p);
    let out = problem.columns_skip + row * problem.points;
//% for j in range(repeats)
    if index < problem.points {
        let w = q * problem.stride_w + w0;
        let h = p * problem.stride_h + h0;
        let d = o * problem.stride_d + d0;
        var value = ${element}(0.0);
        if d < problem.d && h < problem.h && w < problem.w {
            value = input[volume + (d * problem.h + h) * problem.w + w];
        }
        columns[out + index] = value;
    }
//% if not loop.last
    // Additions and comparisons in place of two divisions.
    index += workgroup_x;
    q += workgroup_x;
    while q >= problem.q {
        q -= problem.q;
        p++;
        if p == problem.p {
            p = 0u;
            o++;
        }
    }
//% endif
//% endfor
}
