// The operands of a matrix product. With `vector_a` A is read four k at a time, with `vector_b` B four columns at a time, with
// `vector_c` C is written four columns at a time, with `vector_t` a table of offsets is read four columns at a time; each needs alignment
// by four. The results of the parts of a split sum are f32.
//% set tables = 0
//% if patches and reading == "table"
//% set tables = 1
@group(0) @binding(3) var<storage, read> table: array<${"vec4<u32>" if vector_t else "u32"}>;
//% elif patches and reading == "offsets"
//% set tables = 2 if corners else 1
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
//% if corners
@group(0) @binding(4) var<storage, read> corners: array<u32>;
//% endif
//% endif
//% if vector_a
@group(0) @binding(${2 if patches else 1}) var<storage, read> a: array<vec4<${element}>>;
//% else
@group(0) @binding(${2 if patches else 1}) var<storage, read> a: array<${element}>;
//% endif
//% if vector_b
@group(0) @binding(${1 if patches else 2}) var<storage, read> b: array<vec4<${element}>>;
//% else
@group(0) @binding(${1 if patches else 2}) var<storage, read> b: array<${element}>;
//% endif
//% set result = "f32" if split else element
//% if vector_c
@group(0) @binding(${3 + tables}) var<storage, read_write> c: array<vec4<${result}>>;
//% else
@group(0) @binding(${3 + tables}) var<storage, read_write> c: array<${result}>;
//% endif

//% if not patches
//% if vector_b
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
//% endif

// Where the first row of a column's results is. Columns of patches run over images, whose planes lie apart. Each part of a split sum
// has a result of its own.
//% set part_skip = " + part * problem.c_part" if split else ""
//% macro place(column)
//% if patches
problem.c_skip${part_skip} + (${column} / ${size.points} * problem.c_image + matrix * problem.m) * ${size.points} + ${column} % ${size.points}
//% else
problem.c_skip${part_skip} + matrix * problem.c_stride + ${column}
//% endif
//% endmacro
//% if vector_c
fn result_of(matrix: u32, ${"part: u32, " if split else ""}column: u32) -> u32 {
    return ${place("column")};
}

fn store_c(row: u32, column: u32, out: u32, value: vec4<f32>) {
    if row < problem.m && column < problem.n {
        c[(out + row * ${size.ldc}) / 4u] = vec4<${result}>(value);
    }
}
//% else
fn result_of(matrix: u32, ${"part: u32, " if split else ""}column: u32) -> vec4<u32> {
    return vec4<u32>(${place("column")}, ${place("(column + 1u)")}, ${place("(column + 2u)")}, ${place("(column + 3u)")});
}

fn store_c(row: u32, column: u32, out: vec4<u32>, value: vec4<f32>) {
    if row < problem.m {
        let at = out + row * ${size.ldc};
        if column < problem.n { c[at.x] = ${result}(value.x); }
        if column + 1u < problem.n { c[at.y] = ${result}(value.y); }
        if column + 2u < problem.n { c[at.z] = ${result}(value.z); }
        if column + 3u < problem.n { c[at.w] = ${result}(value.w); }
    }
}
//% endif
