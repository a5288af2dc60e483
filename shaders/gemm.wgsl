// Batched matrix product C = A·B, row-major, from registers: A is M×K, B is K×N, C is M×N.
//
// Each invocation keeps a register tile of `rows` rows by `columns` vectors of four columns; a workgroup covers
// workgroup_y·rows rows by workgroup_x·columns·4 columns. Tails: loads are clamped into the matrix, stores are guarded.
// With `subgroup` the invocations of a subgroup load different rows of A and hand them round; else each loads what it needs.
// With `split` the sum over k is cut into parts, each with its own workgroups and result; the last part has the tail.
// With `patches` B is the column matrix of a convolution that nobody wrote down: its elements are read where `reading` says, tap by tap over
// all channels, or with `flat` in the order of the weights.
//% include "common/problem.wgsl"
//% include "common/operands.wgsl"
//% from "common/patches.wgsl" import locate, aim, gather, enter, reach, take

override workgroup_x: u32;
//% if not subgroup
override workgroup_y: u32;
//% endif
//% include "common/linear.wgsl"
//% set block_k = 4
//% include "common/tiles.wgsl"
//% set taps_outside = patches and not flat
//% set a_step = "1u" if patches and flat else size.a_step
//% macro step(u)
//% for i in range(rows)
//% if subgroup
        let s${i}_${u} = vec4<f32>(subgroupBroadcast(v${i // 8}[${u}], ${i % 8}u));
//% else
        let s${i}_${u} = vec4<f32>(v${i}[${u}]);
//% endif
//% for j in range(columns)
        c${i}_${j} = fma(s${i}_${u}, b${u}_${j}, c${i}_${j});
//% endfor
//% endfor
//% endmacro
//% macro block(count)
//% for i in range(rows // 8 if subgroup else rows)
//% if vector_a
        let v${i} = vec4<f32>(a[(a${i} + k * ${a_step}) / 4u]);
//% else
        let v${i} = vec4<f32>(
//% for u in range(count)
            f32(a[a${i} + (k + ${u}u) * ${a_step}]),
//% endfor
//% for u in range(4 - count)
            0.0,
//% endfor
        );
//% endif
//% endfor
//% for u in range(count)
//% if flat
        ${enter(size, u, "k + " ~ u ~ "u")}
//% endif
//% for j in range(columns)
//% if flat
        ${reach(u, j)}
        let b${u}_${j} = ${take(u, j)};
//% elif patches
        let b${u}_${j} = ${gather(j, "(k + " ~ u ~ "u) * " ~ size.volume)};
//% else
        let b${u}_${j} = load_b(b_row, load_column${j});
//% endif
//% endfor
        ${step(u)}
//% if not patches
        b_row += problem.ldb;
//% endif
//% endfor
//% endmacro

@compute @workgroup_size(workgroup_x${"" if subgroup else ", workgroup_y"})
fn main(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>,
//% if subgroup
    @builtin(subgroup_invocation_id) own: u32,
//% endif
) {
    let at = tile_of(linear_group(group));
    if ${"at.part >= problem.parts" if split else "at.matrix >= problem.batch"} {
        return;
    }
//% if subgroup
    let row0 = at.m * ${rows}u;
//% else
    let row0 = (at.m * workgroup_y + lane.y) * ${rows}u;
//% endif
    let first_column = (at.n * workgroup_x * ${columns}u + lane.x) * 4u;

    let last_row = problem.m - 1u;
    let a_base = problem.a_skip + (at.matrix % problem.a_period) * problem.a_stride;
//% if subgroup
//% for i in range(rows // 8)
    let row_a${i} = a_base + min(row0 + ${8 * i}u + own % 8u, last_row) * problem.lda;
//% endfor
//% else
//% for i in range(rows)
    let row_a${i} = a_base + min(row0 + ${i}u, last_row) * problem.lda;
//% endfor
//% endif
//% for j in range(columns)
    let column${j} = first_column + ${j * 4}u * workgroup_x;
//% if patches
    ${locate(size, j, "column" ~ j)}
//% elif vector_b
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

//% if split
    let first_k = part_start(at.part);
    let end_k = part_start(at.part + 1u);
//% endif
//% if taps_outside
    var tap = 0u;
    for (var t = 0u; t < ${size.t}; t++) {
    for (var r = 0u; r < ${size.r}; r++) {
    for (var s = 0u; s < ${size.s}; s++) {
//% for j in range(columns)
        let s${j} = s;
        let r${j} = r;
        let t${j} = t;
        ${aim(size, j, j, "let ", "tap")}
//% endfor
//% elif not patches
    var b_row = problem.b_skip + at.matrix * problem.b_stride${" + first_k * problem.ldb" if split else ""};
//% endif
//% for i in range(rows // 8 if subgroup else rows)
        let a${i} = row_a${i}${" + tap" if taps_outside else ""};
//% endfor
//% if blocks
        var k = ${"first_k" if split else "0u"};
        for (; k + 4u <= ${"end_k" if split else "problem.k"}; k += 4u) {
            ${block(4)}
        }
//% else
        let k = 0u;
//% endif
//% if tail > 0 and split
        if at.part + 1u == problem.parts {
            ${block(tail)}
        }
//% elif tail > 0
        ${block(tail)}
//% endif
//% if taps_outside
        tap++;
    }
    }
    }
//% endif

//% for j in range(columns)
    let out${j} = result_of(at.matrix, ${"at.part, " if split else ""}column${j});
//% for i in range(rows)
    store_c(row0 + ${i}u, column${j}, out${j}, c${i}_${j});
//% endfor
//% endfor
}
