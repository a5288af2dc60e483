// Winograd Y = Aᵀ·[ Σ_c (G·g·Gᵀ) ⊙ (Bᵀ·d·B) ]·A in one kernel: neither transformed tiles nor their products leave the workgroup.
//
// A workgroup computes `filters` by `tiles` (filter, tile) pairs of one group. It stages `depth` channels at a time, transformed: of the
// tiles always, of the filters with `inside`; without it they come transformed and only have to be copied. The α² points are spread over
// the invocations: each keeps, for one point, a register tile of `rows` filters by `columns` vectors of four tiles. At the end the
// products change hands through workgroup memory, `turn` register rows at a time, and an invocation transforms all points of a pair back.
// Tails: filters, tiles and channels past the last repeat one there is; tiles past the last channel are zero; stores are guarded.
// Fetching the next block while one is multiplied was tried: it takes so many registers that fewer workgroups share a processor.
//% include "common/problem.wgsl"
//% from "common/winograd.wgsl" import combine, origin
@group(0) @binding(1) var<storage, read> input: array<${element}>;
//% set factor = element if inside else "f32"
//% if vector_filters
@group(0) @binding(2) var<storage, read> factors: array<vec4<${factor}>>;
//% else
@group(0) @binding(2) var<storage, read> factors: array<${factor}>;
//% endif
//% if whole
@group(0) @binding(3) var<storage, read_write> output: array<vec${m}<${element}>>;
//% else
@group(0) @binding(3) var<storage, read_write> output: array<${element}>;
//% endif

override workgroup_x: u32;
override workgroup_y: u32;
//% include "common/linear.wgsl"
//% set split = false
//% include "common/tiles.wgsl"
//% set alpha = bt | length
//% set points = alpha * alpha
//% set filters = rows * lanes_m
//% set tiles = 4 * columns * lanes_n
//% set lanes = points * lanes_m * lanes_n
//% set filters4 = filters // 4
//% set tiles4 = tiles // 4
//% set staged_filters = depth * points * filters4
//% set staged_tiles = depth * points * tiles4
//% set copies = (staged_filters + lanes - 1) // lanes
//% set whole_copies = staged_filters % lanes == 0
//% set turned = points * turn * lanes_m * tiles4
//% set block = [staged_filters + staged_tiles, turned] | max

// Staged filters, channel by channel and point by point, then staged tiles likewise; at the end products, point by point.
var<workgroup> block: array<vec4<f32>, ${block}>;

//# The vector of the staged filters that is this invocation's i-th to copy.
//% macro unit(i)
(own + ${i * lanes}u)
//% endmacro

@compute @workgroup_size(workgroup_x, workgroup_y)
fn main(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>,
    @builtin(local_invocation_index) own: u32,
) {
    let at = tile_of(linear_group(group));
    if at.matrix >= problem.groups {
        return;
    }

    // The tile this invocation stages, and later transforms back.
    let tile_index = at.n * ${tiles}u + own % ${tiles}u;
    let own_channel = own / ${tiles}u;
    ${origin("min(tile_index, problem.tiles - 1u)", m, m)}
    let input_start = problem.input_skip + (image * problem.groups + at.matrix) * problem.c * problem.h * problem.w;

    // The filters it stages.
    let first_filter = at.m * ${filters}u;
//% if inside
    let filter_channel = (own - ${depth * tiles}u) % ${depth}u;
    let filter_row = (own - ${depth * tiles}u) / ${depth}u;
    let filter_start = (at.matrix * problem.k + min(first_filter + filter_row, problem.k - 1u)) * problem.c;
//% else
    let last_copy = (at.matrix + 1u) * problem.c * ${points}u - 1u;
//% endif

    // The point and the register tile it multiplies.
    let point = lane.y;
    let lane_n = lane.x % ${lanes_n}u;
    let lane_m = lane.x / ${lanes_n}u;
    let from_filters = point * ${filters4}u + lane_m;
    let from_tiles = ${staged_filters}u + point * ${tiles4}u + lane_n;
//% for i in range(rows)
//% for j in range(columns)
    var c${i}_${j} = vec4<f32>(0.0);
//% endfor
//% endfor

    for (var first = 0u; first < problem.c; first += ${depth}u) {
        // Channels past the last repeat it, with tiles of zeros.
        if own < ${depth * tiles}u {
            let plane = input_start + min(first + own_channel, problem.c - 1u) * problem.h * problem.w;
            let real = first + own_channel < problem.c;
            // A coordinate in the padding wraps below zero and so compares as too large; what it stands for reads an element and drops it.
//% for i in range(alpha)
            let h${i} = p0 + ${i}u * problem.dilation_h - problem.pad_h;
            let w${i} = q0 + ${i}u * problem.dilation_w - problem.pad_w;
            let in_h${i} = h${i} < problem.h;
            let in_w${i} = w${i} < problem.w;
            let row${i} = select(0u, h${i}, in_h${i}) * problem.w;
            let column${i} = select(0u, w${i}, in_w${i});
//% endfor
            // Column by column, so that few elements wait in registers at a time.
//% for j in range(alpha)
            let in_column${j} = in_w${j} & real;
//% for i in range(alpha)
            let d${i}_${j} = select(0.0, f32(input[plane + row${i} + column${j}]), in_h${i} & in_column${j});
//% endfor
//% for a in range(alpha)
            let t${a}_${j} = ${combine(bt[a], "d", "_" ~ j)};
//% endfor
//% endfor
            let to = ${staged_filters}u + own_channel * ${points * tiles4}u + own % ${tiles}u / 4u;
//% for a in range(alpha)
//% for b in range(alpha)
            block[to + ${(a * alpha + b) * tiles4}u][own % 4u] = ${combine(bt[b], "t" ~ a ~ "_", "")};
//% endfor
//% endfor
        }
//% if inside
        if own - ${depth * tiles}u < ${depth * filters}u {
            let plane = (filter_start + min(first + filter_channel, problem.c - 1u)) * 9u;
//% for j in range(3)
//% for i in range(3)
            let g${i}_${j} = f32(factors[plane + ${3 * i + j}u]);
//% endfor
//% for a in range(alpha)
            let t${a}_${j} = ${combine(g[a], "g", "_" ~ j)};
//% endfor
//% endfor
            let to = filter_channel * ${points * filters4}u + filter_row / 4u;
//% for a in range(alpha)
//% for b in range(alpha)
            block[to + ${(a * alpha + b) * filters4}u][filter_row % 4u] = ${combine(g[b], "t" ~ a ~ "_", "")};
//% endfor
//% endfor
        }
//% else
//% for i in range(copies)
        ${"{" if whole_copies else "if own + " ~ i * lanes ~ "u < " ~ staged_filters ~ "u {"}
            // Rows of filters of the channels' points lie one after the other in memory as here.
            let row = min((at.matrix * problem.c + first) * ${points}u + ${unit(i)} / ${filters4}u, last_copy) * problem.k;
            let column = first_filter + ${"own" if lanes % filters4 == 0 else unit(i)} % ${filters4}u * 4u;
//% if vector_filters
            block[own + ${i * lanes}u] = factors[(row + min(column, problem.k - 4u)) / 4u];
//% else
            let last = problem.k - 1u;
            block[own + ${i * lanes}u] = vec4<f32>(
                factors[row + min(column, last)], factors[row + min(column + 1u, last)],
                factors[row + min(column + 2u, last)], factors[row + min(column + 3u, last)]);
//% endif
        }
//% endfor
//% endif
        workgroupBarrier();
//% for u in range(depth)
        {
//% for i in range(rows // 4)
            let a${i} = block[from_filters + ${u * points * filters4 + i * lanes_m}u];
//% endfor
//% for j in range(columns)
            let b${j} = block[from_tiles + ${u * points * tiles4 + j * lanes_n}u];
//% endfor
//% for i in range(rows)
//% for j in range(columns)
            c${i}_${j} = fma(vec4<f32>(a${i // 4}[${i % 4}]), b${j}, c${i}_${j});
//% endfor
//% endfor
        }
//% endfor
        workgroupBarrier();
    }

    // Rows of products change hands; register row r of lane l holds filter 4·(l + lanes·⌊r/4⌋) + r mod 4.
    let hand = point * ${turn * lanes_m * tiles4}u + lane_m * ${tiles4}u + lane_n;
    let own_lane = own / ${tiles}u % ${lanes_m}u;
    let own_turn = own / ${tiles * lanes_m}u;
    let in_image = image * problem.groups * problem.k;
//% for round in range(rows // turn)
//% if not loop.first
    workgroupBarrier();
//% endif
//% for r in range(turn)
//% for j in range(columns)
    block[hand + ${r * lanes_m * tiles4 + j * lanes_n}u] = c${round * turn + r}_${j};
//% endfor
//% endfor
    workgroupBarrier();
    {
        let row = ${round * turn}u + own_turn;
        let row_filter = first_filter + (own_lane + row / 4u * ${lanes_m}u) * 4u + row % 4u;
        if own < ${turn * lanes_m * tiles}u && row_filter < problem.k && tile_index < problem.tiles {
            transform_back(own, problem.output_skip + (in_image + at.matrix * problem.k + row_filter) * problem.p * problem.q, p0, q0);
        }
    }
//% endfor
}

// The outputs of one pair from its products in workgroup memory; those past the edge of the map are left out.
fn transform_back(own: u32, plane: u32, p0: u32, q0: u32) {
//% for i in range(alpha)
//% for j in range(alpha)
    let m${i}_${j} = block[own / 4u + ${(i * alpha + j) * turn * lanes_m * tiles4}u][own % 4u];
//% endfor
//% endfor
//% for a in range(m)
//% for j in range(alpha)
    let t${a}_${j} = ${combine(at[a], "m", "_" ~ j)};
//% endfor
//% endfor
//% for a in range(m)
    {
        let p = p0 + ${a}u * problem.dilation_h;
        let row = plane + p * problem.q + q0;
        if p < problem.p {
//% for b in range(m)
            let y${b} = ${combine(at[b], "t" ~ a ~ "_", "")};
//% endfor
//% if whole
//% if m == 2
            output[row / 2u] = vec2<${element}>(vec2<f32>(y0, y1));
//% else
            output[row / 4u] = vec4<${element}>(vec4<f32>(y0, y1, y2, y3));
//% endif
//% else
//% for b in range(m)
            if q0 + ${b}u * problem.dilation_w < problem.q {
                output[row + ${b}u * problem.dilation_w] = ${element}(y${b});
            }
//% endfor
//% endif
        }
    }
//% endfor
}
