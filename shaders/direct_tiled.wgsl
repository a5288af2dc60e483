// Direct convolution in register tiles: an invocation computes `columns` vectors of four neighbouring outputs of a row, for `rows`
// output channels of a group.
//
// Stage `direct_tiled`. A workgroup covers a stretch of such pieces of one image and the same channels, so that the weights are the same
// for its invocations. A row of the kernel is unrolled in the text: of the input, `wanted_w` columns beside each other (by the stride and
// the dilation) are loaded once for all taps and channels. With `subgroup` the invocations load the weights of different channels and
// hand them round. Loads in the padding are dropped; tails are clamped, stores are guarded.
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
fn main(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32,
//% if subgroup
    @builtin(subgroup_invocation_id) own: u32,
//% endif
) {
    // Channels first: workgroups that run at the same time share the input.
    let index = linear_group(group);
    let block = index % problem.blocks;
    let convolution_group = block / problem.group_blocks;
    let channel0 = block % problem.group_blocks * ${rows}u;
    let stretch = index / problem.blocks % problem.stretches;
    let image = index / (problem.blocks * problem.stretches);
    if image >= problem.images {
        return;
    }
    let piece = min(stretch * workgroup_x + lane, problem.pieces - 1u);
    let q0 = piece % problem.pieces_row * ${4 * columns}u;
    let p = piece / problem.pieces_row % ${size.p};
    let o = piece / (problem.pieces_row * ${size.p});

    let w0 = q0 * ${stride}u - ${size.pad_w};
    let h0 = p * ${size.stride_h} - ${size.pad_h};
    let d0 = o * ${size.stride_d} - ${size.pad_d};
    ${inside(line, size.w)}
    let volume = ${size.d} * ${size.h} * ${size.w};
    var plane = problem.input_skip + (image * problem.c + convolution_group * problem.group_c) * volume;

    let last_channel = problem.group_k - 1u;
    let per_channel = problem.group_c * ${size.t} * ${size.r} * ${taps}u;
    let weights0 = convolution_group * problem.group_k * per_channel;
//% for g in range(rows // 8 if subgroup else rows)
//% if subgroup
    var weight${g} = weights0 + min(channel0 + ${8 * g}u + own % 8u, last_channel) * per_channel;
//% else
    var weight${g} = weights0 + min(channel0 + ${g}u, last_channel) * per_channel;
//% endif
//% endfor

//% for i in range(rows)
//% for j in range(columns)
    var y${i}_${j} = vec4<f32>(0.0);
//% endfor
//% endfor
    for (var c = 0u; c < problem.group_c; c++) {
        for (var t = 0u; t < ${size.t}; t++) {
            let d = d0 + t * ${size.dilation_d};
            for (var r = 0u; r < ${size.r}; r++) {
                let h = h0 + r * ${size.dilation_h};
                let in_row = (d < ${size.d}) & (h < ${size.h});
                let row = plane + (d * ${size.h} + h) * ${size.w} + w0;
                ${load(line, "", "row", "in_row", "plane")}
//% for s in range(taps)
//% for g in range(rows // 8 if subgroup else rows)
                let v${g}_${s} = f32(weights[weight${g} + ${s}u]);
//% endfor
//% for i in range(rows)
//% if subgroup
                let g${i}_${s} = vec4<f32>(subgroupBroadcast(v${i // 8}_${s}, ${i % 8}u));
//% else
                let g${i}_${s} = vec4<f32>(v${i}_${s});
//% endif
//% for j in range(columns)
//% set x = s * dilation + 4 * j * stride
                y${i}_${j} = fma(g${i}_${s}, vec4<f32>(x_${x}, x_${x + stride}, x_${x + 2 * stride}, x_${x + 3 * stride}), y${i}_${j});
//% endfor
//% endfor
//% endfor
//% for g in range(rows // 8 if subgroup else rows)
                weight${g} += ${taps}u;
//% endfor
            }
        }
        plane += volume;
    }

    if stretch * workgroup_x + lane >= problem.pieces {
        return;
    }
    let points = ${size.o} * ${size.p} * ${size.q};
    let out = problem.output_skip + (image * problem.k + convolution_group * problem.group_k + channel0) * points + (o * ${size.p} + p) * ${size.q} + q0;
//% for i in range(rows)
    if channel0 + ${i}u < problem.group_k {
//% for j in range(columns)
//% if vector_c
        if q0 + ${4 * j}u < ${size.q} { output[(out + ${i}u * points) / 4u + ${j}u] = vec4<${element}>(y${i}_${j}); }
//% else
//% for x in range(4)
        if q0 + ${4 * j + x}u < ${size.q} { output[out + ${i}u * points + ${4 * j + x}u] = ${element}(y${i}_${j}[${x}]); }
//% endfor
//% endif
//% endfor
    }
//% endfor
}
