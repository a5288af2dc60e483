// Batched matrix product C = A·B, row-major, from workgroup memory: A is M×K, B is K×N, C is M×N.
//
// A workgroup of `lanes_n` by `lanes_m` invocations stages `depth` columns of A and rows of B at a time; each invocation keeps a register
// tile of `rows` rows by `columns` vectors of four columns, whose operands it reads from there. The next block is on its way to registers
// while the current one is multiplied. Tails: loads are clamped or zero, stores are guarded.
// With `split` the sum over k is cut into parts, each with its own workgroups and result.
// With `patches` B is the column matrix of a convolution that nobody wrote down: its elements are read where `reading` says, tap by tap over
// all channels, or with `flat` in the order of the weights, for offsets of rows and for fewer channels than a block is deep.
//% include "common/problem.wgsl"
//% include "common/operands.wgsl"
//% from "common/patches.wgsl" import locate, aimed, aim, gather, enter, reach, take

override workgroup_x: u32;
override workgroup_y: u32;
//% include "common/linear.wgsl"
//% set block_k = depth
//% include "common/tiles.wgsl"
//% set lanes = lanes_n * lanes_m
//% set tile_m = rows * lanes_m
//% set tile_n4 = columns * lanes_n
//% set pitch_a = tile_m // 4 + 1
//% set quads = depth // 4
//% set fetches_a = (tile_m * quads + lanes - 1) // lanes
//% set whole_a = tile_m * quads % lanes == 0
//% set rows_b = lanes // tile_n4
//% set fetches_b = (depth + rows_b - 1) // rows_b
//% set whole_b = depth % rows_b == 0
//% set taps_outside = patches and not flat
//% set first_k = "first_k" if split else "0u"
//% set end_k = "end_k" if split else "problem.k"
//% set span_k = "(end_k - first_k)" if split else "problem.k"
//% set a_step = "1u" if patches and flat else size.a_step

// Rows of A lie across: a column of the block is contiguous, one vector longer than the tile so that its writers meet different banks.
var<workgroup> a_block: array<vec4<f32>, ${depth * pitch_a}>;
var<workgroup> b_block: array<vec4<f32>, ${depth * tile_n4}>;
//% set a_tap = " + tap" if taps_outside else ""
//% macro fetch_a(i)
//% if vector_a and tail
        let next_a${i} = select(
            vec4<f32>(0.0), vec4<f32>(a[(row_a${i} + min(k + quad_a${i}, problem.k - 4u)) / 4u]), k + quad_a${i} < problem.k);
//% elif vector_a
        let next_a${i} = vec4<f32>(a[(row_a${i} + k) / 4u]);
//% elif tail
        let own_k${i} = vec4<u32>(k + quad_a${i}) + vec4<u32>(0u, 1u, 2u, 3u);
        let place_a${i} = row_a${i}${a_tap} + min(own_k${i}, vec4<u32>(problem.k - 1u)) * ${a_step};
        let value_a${i} = vec4<f32>(f32(a[place_a${i}.x]), f32(a[place_a${i}.y]), f32(a[place_a${i}.z]), f32(a[place_a${i}.w]));
        let next_a${i} = select(vec4<f32>(0.0), value_a${i}, own_k${i} < vec4<u32>(problem.k));
//% else
        let place_a${i} = row_a${i}${a_tap} + (vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u)) * ${a_step};
        let next_a${i} = vec4<f32>(f32(a[place_a${i}.x]), f32(a[place_a${i}.y]), f32(a[place_a${i}.z]), f32(a[place_a${i}.w]));
//% endif
//% endmacro
//# What lies past the last k is zero in A; in B it only has to be finite, so the last row is read again.
//% macro fetch_b(i)
//% if flat and reading == "offsets"
        ${enter(size, i, "min(k + row_b + " ~ i * rows_b ~ "u, problem.k - 1u)")}
        ${reach(i, 0)}
        let next_b${i} = ${take(i, 0)};
//% elif flat
        let row${i} = min(k + row_b + ${i * rows_b}u, problem.k - 1u);
        let tap${i} = row${i} % ${size.taps};
        let s${i} = tap${i} % ${size.s};
        let r${i} = tap${i} / ${size.s} % ${size.r};
        let t${i} = tap${i} / (${size.s} * ${size.r});
        ${aim(size, 0, i, "let ", "tap" ~ i)}
        let next_b${i} = ${gather(i, "row" ~ i ~ " / " ~ size.taps ~ " * " ~ size.volume)};
//% elif patches and tail
        let next_b${i} = ${gather("", "min(k + row_b + " ~ i * rows_b ~ "u, problem.k - 1u) * " ~ size.volume)};
//% elif patches
        let next_b${i} = ${gather("", "(k + row_b + " ~ i * rows_b ~ "u) * " ~ size.volume)};
//% elif tail
        let next_b${i} = load_b(b_start + min(k + row_b + ${i * rows_b}u, problem.k - 1u) * problem.ldb, load_column);
//% else
        let next_b${i} = load_b(b_row + ${i * rows_b}u * problem.ldb, load_column);
//% endif
//% endmacro
//% macro keep()
//% for i in range(fetches_a)
//% if not whole_a
        if own + ${i * lanes}u < ${tile_m * quads}u {
//% endif
//% for u in range(4)
        a_block[at_a${i} + ${u * pitch_a}u][in_a${i}] = next_a${i}[${u}];
//% endfor
//% if not whole_a
        }
//% endif
//% endfor
//% for i in range(fetches_b)
//% if not whole_b
        if row_b + ${i * rows_b}u < ${depth}u {
//% endif
        b_block[own + ${i * lanes}u] = next_b${i};
//% if not whole_b
        }
//% endif
//% endfor
//% endmacro
//% macro fetch()
//% for i in range(fetches_a)
${fetch_a(i)}
//% endfor
//% for i in range(fetches_b)
${fetch_b(i)}
//% endfor
//% endmacro

@compute @workgroup_size(workgroup_x, workgroup_y)
fn main(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>,
    @builtin(local_invocation_index) own: u32,
) {
    let at = tile_of(linear_group(group));
    if ${"at.part >= problem.parts" if split else "at.matrix >= problem.batch"} {
        return;
    }

    // What this invocation fetches: four k of some rows of A, and one vector of columns of some rows of B.
    let last_row = problem.m - 1u;
    let a_start = problem.a_skip + (at.matrix % problem.a_period) * problem.a_stride;
//% for i in range(fetches_a)
    let unit_a${i} = ${"own + " ~ i * lanes ~ "u" if whole_a else "min(own + " ~ i * lanes ~ "u, " ~ (tile_m * quads - 1) ~ "u)"};
    let block_row_a${i} = unit_a${i} / ${quads}u;
    let quad_a${i} = unit_a${i} % ${quads}u * 4u;
    let at_a${i} = quad_a${i} * ${pitch_a}u + block_row_a${i} / 4u;
    let in_a${i} = block_row_a${i} % 4u;
    let row_a${i} = a_start + min(at.m * ${tile_m}u + block_row_a${i}, last_row) * problem.lda${"" if tail else " + quad_a" ~ i ~ " * " ~ a_step};
//% endfor
    let fetch_column = (at.n * ${tile_n4}u + own % ${tile_n4}u) * 4u;
    let row_b = own / ${tile_n4}u;
//% if patches
    ${locate(size, 0, "fetch_column")}
//% elif vector_b
    let load_column = min(fetch_column, problem.n - 4u);
    let b_start = problem.b_skip + at.matrix * problem.b_stride;
//% else
    let load_column = fetch_column;
    let b_start = problem.b_skip + at.matrix * problem.b_stride;
//% endif

//% for i in range(rows)
//% for j in range(columns)
    var c${i}_${j} = vec4<f32>(0.0);
//% endfor
//% endfor

//% if split
    let first_k = part_start(at.part);
    let end_k = min(part_start(at.part + 1u), problem.k);
//% endif
    var k = ${first_k};
//% if taps_outside
    var tap = 0u;
    ${aimed()}
    {
        let s = 0u;
        let r = 0u;
        let t = 0u;
        ${aim(size, 0, "", "", "tap")}
    }
    let blocks = ${size.taps} * ((${span_k} + ${depth - 1}u) / ${depth}u);
//% else
    let blocks = (${span_k} + ${depth - 1}u) / ${depth}u;
//% if not patches and not tail
    var b_row = b_start + (${"first_k + " if split else ""}row_b) * problem.ldb;
//% endif
//% endif
    {
        ${fetch()}
        ${keep()}
    }
    workgroupBarrier();
    for (var block = 0u; block < blocks; block++) {
        // The last time round this fetches a block again and nobody uses it.
        k += ${depth}u;
//% if taps_outside
        if k >= ${end_k} {
            k = ${first_k};
            tap = min(tap + 1u, ${size.taps} - 1u);
            let s = tap % ${size.s};
            let r = tap / ${size.s} % ${size.r};
            let t = tap / (${size.s} * ${size.r});
            ${aim(size, 0, "", "", "tap")}
        }
//% elif tail
        k = min(k, problem.k - 1u);
//% elif patches
        k = min(k, problem.k - ${depth}u);
//% else
        let step_k = select(0u, ${depth}u, k < problem.k);
        k -= ${depth}u - step_k;
        b_row += step_k * problem.ldb;
//% endif
        ${fetch()}

//% for u in range(depth)
        {
//% for i in range(rows // 4)
            let a${i} = a_block[${u * pitch_a}u + lane.y * ${rows // 4}u + ${i}u];
//% endfor
//% for j in range(columns)
            let b${j} = b_block[${u * tile_n4 + j * lanes_n}u + lane.x];
//% endfor
//% for i in range(rows)
//% for j in range(columns)
            c${i}_${j} = fma(vec4<f32>(a${i // 4}[${i % 4}]), b${j}, c${i}_${j});
//% endfor
//% endfor
        }
//% endfor
        workgroupBarrier();
        ${keep()}
        workgroupBarrier();
    }

    let row0 = at.m * ${tile_m}u + lane.y * ${rows}u;
//% for j in range(columns)
    let column${j} = (at.n * ${tile_n4}u + ${j * lanes_n}u + lane.x) * 4u;
    let out${j} = result_of(at.matrix, ${"at.part, " if split else ""}column${j});
//% for i in range(rows)
    store_c(row0 + ${i}u, column${j}, out${j}, c${i}_${j});
//% endfor
//% endfor
}
