// Batched matrix product C = A·B, row-major: A is M×K, B is K×N, C is M×N.
//
// Each invocation keeps a register tile of `rows` rows by `columns` vectors of four columns; a workgroup covers
// workgroup_y·rows rows by workgroup_x·columns·4 columns. Row tiles depend on the workgroup alone when workgroup_y is 1, so that
// loads of A are the same for all its invocations. Tails: loads are clamped into the matrix, stores are guarded.
// With `vector_a` A is read four k at a time, with `vector_n` B and C four columns at a time; both need alignment by four.
//% include "common/problem.wgsl"
//% if vector_a
@group(0) @binding(1) var<storage, read> a: array<vec4<${element}>>;
//% else
@group(0) @binding(1) var<storage, read> a: array<${element}>;
//% endif
//% if vector_n
@group(0) @binding(2) var<storage, read> b: array<vec4<${element}>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<${element}>>;
//% else
@group(0) @binding(2) var<storage, read> b: array<${element}>;
@group(0) @binding(3) var<storage, read_write> c: array<${element}>;
//% endif

override workgroup_x: u32;
override workgroup_y: u32;
//% include "common/linear.wgsl"

//% if vector_n
fn load_b(row: u32, column: u32) -> vec4<f32> {
    return vec4<f32>(b[(row + column) / 4u]);
}
//% else
fn load_b(row: u32, column: u32) -> vec4<f32> {
    let last = problem.n - 1u;
    return vec4<f32>(
        f32(b[row + min(column, last)]), f32(b[row + min(column + 1u, last)]),
        f32(b[row + min(column + 2u, last)]), f32(b[row + min(column + 3u, last)]));
}
//% endif

fn store_c(row: u32, column: u32, value: vec4<f32>) {
    if row >= problem.m || column >= problem.n {
        return;
    }
    let at = c_base() + row * problem.ldc + column;
//% if vector_n
    c[at / 4u] = vec4<${element}>(value);
//% else
    c[at] = ${element}(value.x);
    if column + 1u < problem.n { c[at + 1u] = ${element}(value.y); }
    if column + 2u < problem.n { c[at + 2u] = ${element}(value.z); }
    if column + 3u < problem.n { c[at + 3u] = ${element}(value.w); }
//% endif
}

var<private> matrix: u32;

fn c_base() -> u32 {
    return problem.c_skip + matrix * problem.c_stride;
}

@compute @workgroup_size(workgroup_x, workgroup_y)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>) {
    let tile = linear_group(group);
    // Row tiles of the same columns follow each other: the panel of B they share stays in the cache.
    let tile_m = tile % problem.tiles_m;
    let tile_n = (tile / problem.tiles_m) % problem.tiles_n;
    matrix = tile / (problem.tiles_n * problem.tiles_m);
    if matrix >= problem.batch {
        return;
    }
    let row0 = (tile_m * workgroup_y + lane.y) * ${rows}u;
    let first_column = (tile_n * workgroup_x * ${columns}u + lane.x) * 4u;

    let last_row = problem.m - 1u;
    let a_base = problem.a_skip + (matrix % problem.a_period) * problem.a_stride;
//% for i in range(rows)
    let a${i} = a_base + min(row0 + ${i}u, last_row) * problem.lda;
//% endfor
//% for j in range(columns)
    let column${j} = first_column + ${j * 4}u * workgroup_x;
//% if vector_n
    let load_column${j} = min(column${j}, problem.n - 4u);
//% else
    let load_column${j} = column${j};
//% endif
//% endfor

//% for i in range(rows)
//% for j in range(columns)
    var c${i}_${j} = vec4<f32>(0.0);
//% endfor
//% endfor

    var b_row = problem.b_skip + matrix * problem.b_stride;
    var k = 0u;
    for (; k + 4u <= problem.k; k += 4u) {
//% for i in range(rows)
//% if vector_a
        let v${i} = vec4<f32>(a[(a${i} + k) / 4u]);
//% else
        let v${i} = vec4<f32>(f32(a[a${i} + k]), f32(a[a${i} + k + 1u]), f32(a[a${i} + k + 2u]), f32(a[a${i} + k + 3u]));
//% endif
//% endfor
//% for u in range(4)
//% for j in range(columns)
        let b${u}_${j} = load_b(b_row, load_column${j});
//% endfor
//% for i in range(rows)
//% for j in range(columns)
        c${i}_${j} = fma(vec4<f32>(v${i}[${u}]), b${u}_${j}, c${i}_${j});
//% endfor
//% endfor
        b_row += problem.ldb;
//% endfor
    }
//% if not vector_a
    for (; k < problem.k; k++) {
//% for j in range(columns)
        let b${j} = load_b(b_row, load_column${j});
//% endfor
//% for i in range(rows)
        let v${i} = vec4<f32>(f32(a[a${i} + k]));
//% for j in range(columns)
        c${i}_${j} = fma(v${i}, b${j}, c${i}_${j});
//% endfor
//% endfor
        b_row += problem.ldb;
    }
//% endif

//% for i in range(rows)
//% for j in range(columns)
    store_c(row0 + ${i}u, column${j}, c${i}_${j});
//% endfor
//% endfor
}
