// Batched matrix product C = A·B of 8-bit integers with 32-bit sums: A is M×K, the weights; B is K×N in words of four rows; C is M×N.
//
// Each invocation keeps `rows` rows by `columns` columns, workgroup_x apart; a workgroup covers workgroup_y·rows rows by
// workgroup_x·columns columns. Four products are added at a time, with `packed_dot` by the instruction for it. With `patches` B is the column matrix of a
// convolution that nobody wrote down: its bytes are read where the input has them. Rows of A begin on words with `aligned`; else a
// word is put together from two. What lies past the last k of a row of A meets zeros of B. Tails: loads are clamped, stores guarded.
//% include "common/problem.wgsl"
//% if patches
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<u32>;
//% else
@group(0) @binding(1) var<storage, read> weights: array<u32>;
@group(0) @binding(2) var<storage, read> column_words: array<u32>;
//% endif
@group(0) @binding(3) var<storage, read_write> output: array<i32>;

override workgroup_x: u32;
override workgroup_y: u32;
//% include "common/linear.wgsl"
//% set split = false
//% include "common/tiles.wgsl"
//% if patches
//% include "common/packed.wgsl"
//% endif

// Four weights from a byte on.
fn weights_at(index: u32) -> u32 {
//% if aligned
    return weights[index / 4u];
//% else
    let shift = index % 4u * 8u;
    let low = weights[index / 4u];
    let high = weights[min(index / 4u + 1u, problem.last_word)];
    return select(low >> shift | high << (32u - shift), low, shift == 0u);
//% endif
}

@compute @workgroup_size(workgroup_x, workgroup_y)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>) {
    let at = tile_of(linear_group(group));
    if at.matrix >= problem.batch {
        return;
    }
    let row0 = (at.m * workgroup_y + lane.y) * ${rows}u;
    let first_row = at.matrix % problem.groups * problem.m;
//% for i in range(rows)
    var a${i} = (first_row + min(row0 + ${i}u, problem.m - 1u)) * problem.k;
//% endfor
//% for j in range(columns)
    let column${j} = (at.n * ${columns}u + ${j}u) * workgroup_x + lane.x;
    let own${j} = min(column${j}, problem.n - 1u);
//% if patches
    let base${j} = problem.input_skip + own${j} / problem.points * problem.image_volume + at.matrix * problem.group_volume;
    let first${j} = first_tap(own${j} % problem.points);
//% else
    var from${j} = problem.columns_skip + at.matrix * problem.words * problem.n + own${j};
//% endif
//% endfor
//% for i in range(rows)
//% for j in range(columns)
    var c${i}_${j} = 0i;
//% endfor
//% endfor

    for (var word = 0u; word < problem.words; word++) {
//% if patches
//% for u in range(4)
        let tap${u} = tap_at(4u * word + ${u}u);
//% endfor
//% endif
//% for j in range(columns)
//% if patches
        let b${j} = tapped_four(base${j}, first${j}, tap0, tap1, tap2, tap3);
//% else
        let b${j} = column_words[from${j}];
        from${j} += problem.n;
//% endif
//% endfor
//% if not packed_dot
//% for j in range(columns)
        let bytes${j} = unpack4xI8(b${j});
//% endfor
//% endif
//% for i in range(rows)
        {
            let a = ${"weights_at" if packed_dot else "unpack4xI8(weights_at"}(a${i})${"" if packed_dot else ")"};
            a${i} += 4u;
//% for j in range(columns)
            c${i}_${j} += ${"dot4I8Packed(a, b" if packed_dot else "dot(a, bytes"}${j});
//% endfor
        }
//% endfor
    }

//% for j in range(columns)
    if column${j} < problem.n {
//% if patches
        let out${j} = problem.c_skip + (column${j} / problem.points * problem.channels_out + first_row) * problem.points + column${j} % problem.points;
//% else
        let out${j} = problem.c_skip + at.matrix * problem.m * problem.ldc + column${j};
//% endif
//% for i in range(rows)
        if row0 + ${i}u < problem.m { output[out${j} + (row0 + ${i}u) * problem.ldc] = c${i}_${j}; }
//% endfor
    }
//% endfor
}
