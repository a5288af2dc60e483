// Winograd output transform Y = Aᵀ·M·A, one invocation per output channel and tile.
//
// Stage `output_transform`. Reads `products` laid out as α² matrices of K rows by the chunk's tiles; writes m×m outputs, of
// which those past the edge of the map are left out.
//% include "common/problem.wgsl"
//% from "common/winograd.wgsl" import combine
@group(0) @binding(1) var<storage, read> products: array<f32>;
@group(0) @binding(2) var<storage, read_write> output: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    let stride = problem.k * problem.tiles;
    if index >= stride {
        return;
    }
    let tile = problem.tile0 + index % problem.tiles;
    let channel = index / problem.tiles;
    let image = tile / problem.tiles_image;
    let within = tile % problem.tiles_image;
    let p0 = (within / problem.tiles_w) * ${m}u;
    let q0 = (within % problem.tiles_w) * ${m}u;

//% for i in range(at[0] | length)
//% for j in range(at[0] | length)
    let m${i}_${j} = products[${i * (at[0] | length) + j}u * stride + index];
//% endfor
//% endfor
//% for a in range(m)
//% for j in range(at[0] | length)
    let t${a}_${j} = ${combine(at[a], "m", "_" ~ j)};
//% endfor
//% endfor
    let plane = problem.output_skip + (image * problem.k + channel) * problem.p * problem.q;
//% for a in range(m)
//% for b in range(m)
    if p0 + ${a}u < problem.p && q0 + ${b}u < problem.q {
        output[plane + (p0 + ${a}u) * problem.q + q0 + ${b}u] = ${element}(${combine(at[b], "t" ~ a ~ "_", "")});
    }
//% endfor
//% endfor
}
