// Depthwise convolution: every output channel reads one input channel. An invocation computes a block of `rows` by `columns`·4 outputs.
//
// Stage `depthwise`. A workgroup covers a stretch of blocks of one output plane (n,k), so that the weights are the same for its
// invocations. All taps are unrolled in the text: a block's inputs, `wanted_h` rows by `wanted_w` columns, are loaded once.
// Loads in the padding are dropped, and come as vectors where rows are made of them; tails are clamped, stores are guarded.
//% include "common/problem.wgsl"
//% from "common/row.wgsl" import inside, load
//% set line = {"vector": vector_in, "shift": shift, "vectors": wanted_v, "columns": wanted_w}
//% if vector_in
@group(0) @binding(1) var<storage, read> input: array<vec4<${element}>>;
//% else
@group(0) @binding(1) var<storage, read> input: array<${element}>;
//% endif
@group(0) @binding(2) var<storage, read> weights: array<${element}>;
//% if vector_c
@group(0) @binding(3) var<storage, read_write> output: array<vec4<${element}>>;
//% else
@group(0) @binding(3) var<storage, read_write> output: array<${element}>;
//% endif

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // A workgroup past the last plane computes the last one again and does not store: weights stay uniform and nothing branches.
    let index = linear_group(group);
    let plane = min(index / problem.stretches, problem.planes - 1u);
    let own = index % problem.stretches * workgroup_x + lane;
    let block = min(own, problem.blocks - 1u);
    let channel = plane % problem.k;
    let q0 = block % problem.blocks_row * ${4 * columns}u;
    let p0 = block / problem.blocks_row * ${rows}u;

    let weight = channel * ${taps_h * taps_w}u;
//% for t in range(taps_h * taps_w)
    let g${t} = vec4<f32>(f32(weights[weight + ${t}u]));
//% endfor

    let w0 = q0 * ${stride_w}u - ${size.pad_w};
    let h0 = p0 * ${stride_h}u - ${size.pad_h};
    let plane0 = problem.input_skip + (plane / problem.k * problem.c + channel / problem.multiplier) * ${size.h} * ${size.w};
    ${inside(line, size.w)}
//% for y in wanted_h
    let in_h${y} = h0 + ${y}u < ${size.h};
    let row${y} = plane0 + (h0 + ${y}u) * ${size.w} + w0;
    ${load(line, y, "row" ~ y, "in_h" ~ y, "plane0")}
//% endfor

    let out = problem.output_skip + (plane * ${size.p} + p0) * ${size.q} + q0;
    let stored = (own < problem.blocks) & (index < problem.planes * problem.stretches);
//% for i in range(rows)
//% for j in range(columns)
    var y${i}_${j} = vec4<f32>(0.0);
//% for r in range(taps_h)
//% for s in range(taps_w)
//% set y = i * stride_h + r * dilation_h
//% set x = 4 * j * stride_w + s * dilation_w
    y${i}_${j} = fma(g${r * taps_w + s}, vec4<f32>(x${y}_${x}, x${y}_${x + stride_w}, x${y}_${x + 2 * stride_w}, x${y}_${x + 3 * stride_w}), y${i}_${j});
//% endfor
//% endfor
//% if vector_c
    if stored & (p0 + ${i}u < ${size.p}) & (q0 + ${4 * j}u < ${size.q}) { output[(out + ${i}u * ${size.q}) / 4u + ${j}u] = vec4<${element}>(y${i}_${j}); }
//% else
//% for x in range(4)
    if stored & (p0 + ${i}u < ${size.p}) & (q0 + ${4 * j + x}u < ${size.q}) { output[out + ${i}u * ${size.q} + ${4 * j + x}u] = ${element}(y${i}_${j}[${x}]); }
//% endfor
//% endif
//% endfor
//% endfor
}
