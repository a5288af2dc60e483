// Shifts the products of taps with the whole input into place and adds them up: an output is the sum of what each tap has where it meets
// the input.
//
// Stage `shift_add`. A workgroup computes a stretch of points of one output plane. With `add` the sum goes to what the output holds.
// Layout of `products`: tap, then planes of the input's size for each image and output channel.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> products: array<${element}>;
@group(0) @binding(2) var<storage, read_write> output: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let stretch = linear_group(group);
    let plane = stretch / problem.stretches;
    let point = stretch % problem.stretches * workgroup_x + lane;
    if plane >= problem.planes || point >= problem.points {
        return;
    }
    // A coordinate in the padding wraps below zero and so compares as too large.
    let w0 = point % problem.q * problem.stride_w - problem.pad_w;
    let h0 = point / problem.q % problem.p * problem.stride_h - problem.pad_h;
    let d0 = point / (problem.q * problem.p) * problem.stride_d - problem.pad_d;

    let at = problem.output_skip + plane * problem.points + point;
    var sum = ${"f32(output[at])" if add else "0.0"};
    var tap = problem.products_skip + plane * problem.volume;
    for (var t = problem.first_t; t < problem.end_t; t++) {
        let d = d0 + t * problem.dilation_d;
        for (var r = problem.first_r; r < problem.end_r; r++) {
            let h = h0 + r * problem.dilation_h;
            let in_row = (d < problem.d) & (h < problem.h);
            let row = (d * problem.h + h) * problem.w;
            for (var s = problem.first_s; s < problem.end_s; s++) {
                let w = w0 + s * problem.dilation_w;
                let inside = in_row & (w < problem.w);
                // A tap in the padding reads the plane's first element and drops it.
                sum += select(0.0, f32(products[tap + select(0u, row + w, inside)]), inside);
                tap += problem.tap_products;
            }
        }
    }
    output[at] = ${element}(sum);
}
