// Unfolds input patches point by point: the transposed column matrix, whose rows are output points and whose columns are C·T·R·S taps.
//
// Stage `im2col`. An invocation copies what one point sees of one kernel row; neighbouring invocations copy neighbouring kernel rows, which
// lie together in the matrix. Layout of `columns`: image, point, channel, tap.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read_write> columns: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    if index >= problem.invocations {
        return;
    }
    let kernel_row = index % problem.kernel_rows;
    let r = kernel_row % problem.r;
    let t = kernel_row / problem.r % problem.t;
    let c = kernel_row / (problem.r * problem.t);
    let point = index / problem.kernel_rows;
    let q = point % problem.q;
    let p = point / problem.q % problem.p;
    let o = point / (problem.q * problem.p) % problem.o;
    let image = point / (problem.q * problem.p * problem.o);

    // An input coordinate in the padding wraps below zero and so compares as too large.
    let h = p * problem.stride_h + r * problem.dilation_h - problem.pad_h;
    let d = o * problem.stride_d + t * problem.dilation_d - problem.pad_d;
    let volume = problem.input_skip + (image * problem.c + c) * problem.d * problem.h * problem.w;
    let in_row = (h < problem.h) & (d < problem.d);
    let row = volume + (d * problem.h + h) * problem.w;
    let out = problem.columns_skip + index * problem.s;
    for (var s = 0u; s < problem.s; s++) {
        let w = q * problem.stride_w + s * problem.dilation_w - problem.pad_w;
        let inside = in_row & (w < problem.w);
        columns[out + s] = ${element}(select(0.0, f32(input[select(volume, row + w, inside)]), inside));
    }
}
