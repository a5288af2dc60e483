// Product of a convolution's weights and the patches of its input in halves, by cooperative matrices of `edge` by `edge` whose sums are
// f32.
//
// Stage `implicit_gemm`. A workgroup is one subgroup and computes `rows` by `columns` such matrices of one group's outputs. It stages
// `edge` of the reduction at a time in workgroup memory, with zeros past the last tap; the results go out through workgroup memory too,
// one matrix after the other. So every tail is guarded there and the matrices themselves are always whole. Reads input and weights, writes
// output; no workspace.
enable wgpu_cooperative_matrix;
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<${element}>;
@group(0) @binding(2) var<storage, read> weights: array<${element}>;
@group(0) @binding(3) var<storage, read_write> output: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"
//% set split = false
//% include "common/tiles.wgsl"
//% include "common/taps.wgsl"
//% set tile = "coop_mat" ~ edge ~ "x" ~ edge
//% set tile_m = rows * edge
//% set tile_n = columns * edge

// Row by row.
var<workgroup> a_block: array<${element}, ${tile_m * edge}>;
var<workgroup> b_block: array<${element}, ${edge * tile_n}>;
var<workgroup> c_block: array<f32, ${edge * edge}>;

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // A workgroup past the last matrix computes the last one again and does not store: cooperative operations want that none leaves.
    let at = tile_of(linear_group(group));
    let matrix = min(at.matrix, problem.batch - 1u);
    let row0 = at.m * ${tile_m}u;
    let column0 = at.n * ${tile_n}u;
    let first_row = matrix * problem.m;

    for (var unit = lane; unit < ${edge * edge}u; unit += workgroup_x) {
        c_block[unit] = 0.0;
    }
    workgroupBarrier();
    let zero = coopLoadT<${tile}<f32, C>>(&c_block[0], ${edge}u);
//% for i in range(rows)
//% for j in range(columns)
    var c${i}_${j} = zero;
//% endfor
//% endfor

    for (var first_k = 0u; first_k < problem.k; first_k += ${edge}u) {
        for (var unit = lane; unit < ${tile_m * edge}u; unit += workgroup_x) {
            let row = min(row0 + unit / ${edge}u, problem.m - 1u);
            let k = first_k + unit % ${edge}u;
            let value = weights[(first_row + row) * problem.k + min(k, problem.k - 1u)];
            a_block[unit] = select(${element}(0.0), value, k < problem.k);
        }
        for (var unit = lane; unit < ${edge * tile_n}u; unit += workgroup_x) {
            let column = min(column0 + unit % ${tile_n}u, problem.n - 1u);
            let see = seen(first_tap(column % problem.points), tap_at(first_k + unit / ${tile_n}u));
            let base = problem.input_skip + column / problem.points * problem.image_volume + matrix * problem.group_volume;
            b_block[unit] = select(${element}(0.0), input[base + see.index], see.inside);
        }
        workgroupBarrier();
//% for i in range(rows)
        let a${i} = coopLoadT<${tile}<${element}, A>>(&a_block[${i * edge * edge}], ${edge}u);
//% endfor
//% for j in range(columns)
        let b${j} = coopLoadT<${tile}<${element}, B>>(&b_block[${j * edge}], ${tile_n}u);
//% endfor
//% for i in range(rows)
//% for j in range(columns)
        c${i}_${j} = coopMultiplyAdd(a${i}, b${j}, c${i}_${j});
//% endfor
//% endfor
        workgroupBarrier();
    }

//% for i in range(rows)
//% for j in range(columns)
    coopStoreT(c${i}_${j}, &c_block[0], ${edge}u);
    workgroupBarrier();
    for (var unit = lane; unit < ${edge * edge}u; unit += workgroup_x) {
        let row = row0 + ${i * edge}u + unit / ${edge}u;
        let column = column0 + ${j * edge}u + unit % ${edge}u;
        if row < problem.m && column < problem.n && at.matrix < problem.batch {
            let plane = column / problem.points * problem.channels_out + first_row + row;
            output[problem.c_skip + plane * problem.points + column % problem.points] = ${element}(c_block[unit]);
        }
    }
    workgroupBarrier();
//% endfor
//% endfor
}
