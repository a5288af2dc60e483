// Winograd input transform V = Bₕᵀ·d·B_w, one invocation per input channel and `each` αₕ×α_w tiles, or with `tile_rows` per tile and `each`
// channels.
//
// Stage `input_transform`. Tiles overlap by the taps less one and are counted over rows, columns and images; `tile0` is the first of this
// chunk within the images bound. Writes `tiles` laid out as αₕ·α_w matrices of C rows by the chunk's tiles, or with `tile_rows` as αₕ·α_w·g
// matrices of the chunk's tiles by C/g columns, for products whose tiles are few. A dilated convolution is as many
// interleaved plain ones as the dilation has phases: its tiles step by the dilation.
//% include "common/problem.wgsl"
//% from "common/winograd.wgsl" import combine, origin, next
@group(0) @binding(1) var<storage, read> input: array<${element}>;
//% if each == 4
@group(0) @binding(2) var<storage, read_write> tiles: array<vec4<f32>>;
//% else
@group(0) @binding(2) var<storage, read_write> tiles: array<f32>;
//% endif

override workgroup_x: u32;
//% include "common/linear.wgsl"
//% set alpha_h = bt_h | length
//% set alpha_w = bt_w | length

// A transformed tile, point by point.
struct Transformed {
//% for a in range(alpha_h * alpha_w)
    v${a}: f32,
//% endfor
}

fn transform(plane: u32, first_h: u32, first_w: u32) -> Transformed {
    // A coordinate in the padding wraps below zero and so compares as too large; what it stands for reads the plane's first element and
    // drops it, which is cheaper than a branch.
//% for i in range(alpha_h)
    let h${i} = first_h + ${i}u * problem.dilation_h;
    let in_h${i} = h${i} < problem.h;
    let row${i} = plane + h${i} * problem.w;
//% endfor
//% for j in range(alpha_w)
    let w${j} = first_w + ${j}u * problem.dilation_w;
    let in_w${j} = w${j} < problem.w;
//% endfor
//% for i in range(alpha_h)
//% for j in range(alpha_w)
    let d${i}_${j} = select(0.0, f32(input[select(plane, row${i} + w${j}, in_h${i} & in_w${j})]), in_h${i} & in_w${j});
//% endfor
//% endfor
//% for a in range(alpha_h)
//% for j in range(alpha_w)
    let t${a}_${j} = ${combine(bt_h[a], "d", "_" ~ j)};
//% endfor
//% endfor
    return Transformed(
//% for a in range(alpha_h)
//% for b in range(alpha_w)
        ${combine(bt_w[b], "t" ~ a ~ "_", "")},
//% endfor
//% endfor
    );
}

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    let stride = problem.c * problem.tiles / ${each}u;
    if index >= stride {
        return;
    }
//% if tile_rows
    let across = problem.group_c / ${each}u;
    let channel = index / (across * problem.tiles) * problem.group_c + index % across * ${each}u;
    ${origin("problem.tile0 + index / across % problem.tiles", m_h, m_w)}
//% else
    let across = problem.tiles / ${each}u;
    let channel = index / across;
    ${origin("problem.tile0 + index % across * " ~ each ~ "u", m_h, m_w)}
//% endif
//% for e in range(each)
    let x${e} = transform(
        problem.input_skip + (image * problem.c + channel${" + " ~ e ~ "u" if tile_rows else ""}) * problem.h * problem.w,
        p0 - problem.pad_h, q0 - problem.pad_w);
//% if not loop.last and not tile_rows
    ${next(m_h, m_w)}
//% endif
//% endfor
//% for a in range(alpha_h * alpha_w)
//% if each == 4
    tiles[${a}u * stride + index] = vec4<f32>(x0.v${a}, x1.v${a}, x2.v${a}, x3.v${a});
//% else
    tiles[${a}u * stride + index] = x0.v${a};
//% endif
//% endfor
}
