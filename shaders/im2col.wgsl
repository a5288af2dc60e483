// Unfolds input patches into the column matrix that turns a convolution into a matrix product.
//
// Stage `im2col`. An invocation copies for four neighbouring output points what `taps` neighbouring taps of a kernel row see: the
// `wanted_w` columns of the input (by the stride and the dilation) are loaded once, and each tap's row of the matrix gets four of them.
// A workgroup stays with one channel and kernel row, so that all but the position is the same for its invocations. Loads in the padding
// are dropped. Layout of `columns`: image, then C·T·R·S rows, then the points of this strip, which is whole rows of the output.
//% include "common/problem.wgsl"
//% from "common/row.wgsl" import inside, load
//% set line = {"vector": vector_in, "shift": shift, "vectors": wanted_v, "columns": wanted_w}
//% if vector_in
@group(0) @binding(1) var<storage, read> input: array<vec4<${element}>>;
//% else
@group(0) @binding(1) var<storage, read> input: array<${element}>;
//% endif
//% if vector_c
@group(0) @binding(2) var<storage, read_write> columns: array<vec4<${element}>>;
//% else
@group(0) @binding(2) var<storage, read_write> columns: array<${element}>;
//% endif

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_group(group);
    let own = index % problem.stretches * workgroup_x + lane;
    // Images follow each other without a gap, so channel and image are one index; within it kernel rows, and pieces of them.
    let piece = index / problem.stretches;
    if own >= problem.quads || piece >= problem.pieces {
        return;
    }
    let first_tap = piece % problem.row_pieces * ${taps}u;
    let kernel_row = piece / problem.row_pieces;
    let r = kernel_row % problem.r;
    let t = kernel_row / problem.r % problem.t;
    let channel = kernel_row / (problem.r * problem.t);
    let volume = problem.input_skip + channel * problem.d * problem.h * problem.w;

    let strip_row = own / problem.quads_row;
    let q0 = own % problem.quads_row * 4u;
    let p = (problem.row0 + strip_row) % problem.p;
    let o = (problem.row0 + strip_row) / problem.p;

    let h = p * problem.stride_h + r * problem.dilation_h - problem.pad_h;
    let d = o * problem.stride_d + t * problem.dilation_d - problem.pad_d;
    let w0 = q0 * ${stride}u + first_tap * ${dilation}u - problem.pad_w;
    let in_row = (h < problem.h) & (d < problem.d);
    let row = volume + (d * problem.h + h) * problem.w + w0;
    ${inside(line, "problem.w")}
    ${load(line, "", "row", "in_row", "volume")}

    let out = problem.columns_skip + (kernel_row * problem.s + first_tap) * problem.points + strip_row * problem.q + q0;
//% for s in range(taps)
//% if ragged
    if first_tap + ${s}u < problem.s {
//% else
    {
//% endif
//% if vector_c
        columns[(out + ${s}u * problem.points) / 4u] = vec4<${element}>(vec4<f32>(x_${s * dilation}, x_${s * dilation + stride}, x_${s * dilation + 2 * stride}, x_${s * dilation + 3 * stride}));
//% else
        columns[out + ${s}u * problem.points] = ${element}(x_${s * dilation});
//% for x in range(1, 4)
        if q0 + ${x}u < problem.q { columns[out + ${s}u * problem.points + ${x}u] = ${element}(x_${s * dilation + x * stride}); }
//% endfor
//% endif
    }
//% endfor
}
