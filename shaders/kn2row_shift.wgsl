// Shifts the products of taps with the whole input into place and adds them up: an output is the sum of what each tap has where it meets
// the input.
//
// Stage `shift_add`. An invocation computes four neighbouring points of an output row, a workgroup a stretch of them of one output plane. With
// `add` the sum goes to what the output holds; with `vector` the four lie together and begin on a multiple of four.
// Layout of `products`: tap, then planes of the input's size for each image and output channel.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> products: array<${element}>;
@group(0) @binding(2) var<storage, read_write> output: array<${"vec4<" ~ element ~ ">" if vector else element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let stretch = linear_group(group);
    let plane = stretch / problem.stretches;
    let own = stretch % problem.stretches * workgroup_x + lane;
    if plane >= problem.planes || own >= problem.quads {
        return;
    }
    let output_row = own / problem.quads_row;
    let q0 = own % problem.quads_row * 4u;
    // A coordinate in the padding wraps below zero and so compares as too large.
    let w0 = (vec4<u32>(q0) + vec4<u32>(0u, 1u, 2u, 3u)) * problem.stride_w - problem.pad_w;
    let h0 = output_row % problem.p * problem.stride_h - problem.pad_h;
    let d0 = output_row / problem.p * problem.stride_d - problem.pad_d;

    let at = problem.output_skip + plane * problem.points + output_row * problem.q + q0;
//% if not vector
    // Points past the row's end are computed as well, of whatever is there, and not stored.
    let last = problem.q - 1u - q0;
//% endif
//% if not add
    var sum = vec4<f32>(0.0);
//% elif vector
    var sum = vec4<f32>(output[at / 4u]);
//% else
    var sum = vec4<f32>(f32(output[at]), f32(output[at + min(1u, last)]), f32(output[at + min(2u, last)]), f32(output[at + min(3u, last)]));
//% endif
    var tap = problem.products_skip + plane * problem.volume;
    for (var t = problem.first_t; t < problem.end_t; t++) {
        let d = d0 + t * problem.dilation_d;
        for (var r = problem.first_r; r < problem.end_r; r++) {
            let h = h0 + r * problem.dilation_h;
            let in_row = (d < problem.d) & (h < problem.h);
            let row = (d * problem.h + h) * problem.w;
            for (var s = problem.first_s; s < problem.end_s; s++) {
                let w = w0 + s * problem.dilation_w;
                let inside = (w < vec4<u32>(problem.w)) & vec4<bool>(in_row);
                // A tap in the padding reads the plane's first element and drops it.
                let source = tap + select(vec4<u32>(0u), row + w, inside);
                let value = vec4<f32>(f32(products[source.x]), f32(products[source.y]), f32(products[source.z]), f32(products[source.w]));
                sum += select(vec4<f32>(0.0), value, inside);
                tap += problem.tap_products;
            }
        }
    }
//% if vector
    output[at / 4u] = vec4<${element}>(sum);
//% else
    output[at] = ${element}(sum.x);
    if last >= 1u { output[at + 1u] = ${element}(sum.y); }
    if last >= 2u { output[at + 2u] = ${element}(sum.z); }
    if last >= 3u { output[at + 3u] = ${element}(sum.w); }
//% endif
}
