// Winograd input transform V = Bᵀ·d·B, one invocation per input channel and α×α tile.
//
// Stage `input_transform`. Tiles overlap by two and are counted over rows, columns and images; `tile0` is the first of this
// chunk within the images bound. Writes `tiles` laid out as α² matrices of C rows by the chunk's tiles.
//% include "common/problem.wgsl"
//% from "common/winograd.wgsl" import combine
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read_write> tiles: array<f32>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

// The element of a channel plane, or zero in the padding: coordinates there wrap below zero and compare as too large.
fn load(plane: u32, h: u32, w: u32) -> f32 {
    if h < problem.h && w < problem.w {
        return f32(input[plane + h * problem.w + w]);
    }
    return 0.0;
}

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    if index >= problem.c * problem.tiles {
        return;
    }
    let tile = problem.tile0 + index % problem.tiles;
    let channel = index / problem.tiles;
    let image = tile / problem.tiles_image;
    let within = tile % problem.tiles_image;
    let h0 = (within / problem.tiles_w) * ${m}u - problem.pad_h;
    let w0 = (within % problem.tiles_w) * ${m}u - problem.pad_w;
    let plane = problem.input_skip + (image * problem.c + channel) * problem.h * problem.w;

//% for i in range(bt | length)
//% for j in range(bt | length)
    let d${i}_${j} = load(plane, h0 + ${i}u, w0 + ${j}u);
//% endfor
//% endfor
//% for a in range(bt | length)
//% for j in range(bt | length)
    let t${a}_${j} = ${combine(bt[a], "d", "_" ~ j)};
//% endfor
//% endfor
    let stride = problem.c * problem.tiles;
//% for a in range(bt | length)
//% for b in range(bt | length)
    tiles[${a * (bt | length) + b}u * stride + index] = ${combine(bt[b], "t" ~ a ~ "_", "")};
//% endfor
//% endfor
}
