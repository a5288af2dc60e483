// Batched product of complex matrices C = A·B, row-major, real and imaginary parts in planes of their own, from workgroup memory.
//
// Stage `products`: A is M×K, B is K×N, C is M×N, one product for each frequency and group. Of each frequency the real parts of all groups'
// matrices come first, then the imaginary ones. A workgroup of `lanes_n` by `lanes_m` invocations stages `depth` columns of A and rows of B
// at a time, both planes; each invocation keeps a register tile of `rows` rows by `columns` vectors of four columns. Tails: loads are clamped
// or zero, stores are guarded.
//% include "common/problem.wgsl"
//% set patches = false
//% set split = false
//% include "common/operands.wgsl"

override workgroup_x: u32;
override workgroup_y: u32;
//% include "common/linear.wgsl"
//% include "common/tiles.wgsl"
//% set lanes = lanes_n * lanes_m
//% set tile_m = rows * lanes_m
//% set tile_n4 = columns * lanes_n
//% set pitch_a = tile_m // 4 + 1
//% set quads = depth // 4
//% set units_a = tile_m * quads
//% set units_b = depth * tile_n4

// Rows of A lie across: a column of the block is contiguous, one vector longer than the tile so that its writers meet different banks. The
// imaginary plane follows the real one.
var<workgroup> a_block: array<vec4<f32>, ${2 * depth * pitch_a}>;
var<workgroup> b_block: array<vec4<f32>, ${2 * units_b}>;

//# Four k of a row of A; what lies past the last k is zero. In B it only has to be finite, so the last row is read again.
//% macro fetch_a(row)
//% if vector_a and tail
select(vec4<f32>(0.0), vec4<f32>(a[(${row} + min(k, problem.k - 4u)) / 4u]), k < problem.k)
//% elif vector_a
vec4<f32>(a[(${row} + k) / 4u])
//% else
select(
                vec4<f32>(0.0),
                vec4<f32>(f32(a[${row} + place.x]), f32(a[${row} + place.y]), f32(a[${row} + place.z]), f32(a[${row} + place.w])),
                own_k < vec4<u32>(problem.k))
//% endif
//% endmacro

@compute @workgroup_size(workgroup_x, workgroup_y)
fn main(
    @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>,
    @builtin(local_invocation_index) own: u32,
) {
    let at = tile_of(linear_group(group));
    if at.matrix >= problem.batch {
        return;
    }
    // Matrices of real parts; those of imaginary parts are as many behind as there are groups.
    let real = at.matrix / problem.groups * 2u * problem.groups + at.matrix % problem.groups;
    let plane_a = problem.groups * problem.a_stride;
    let plane_b = problem.groups * problem.b_stride;
    let last_row = problem.m - 1u;
    let last_k = problem.k - 1u;

//% for i in range(rows)
//% for j in range(columns)
    var cr${i}_${j} = vec4<f32>(0.0);
    var ci${i}_${j} = vec4<f32>(0.0);
//% endfor
//% endfor

    for (var first_k = 0u; first_k < problem.k; first_k += ${depth}u) {
        for (var unit = own; unit < ${units_a}u; unit += ${lanes}u) {
            let block_row = unit / ${quads}u;
            let quad = unit % ${quads}u * 4u;
            let row = real * problem.a_stride + min(at.m * ${tile_m}u + block_row, last_row) * problem.lda;
            let k = first_k + quad;
//% if not vector_a
            let own_k = vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u);
            let place = min(own_k, vec4<u32>(last_k));
//% endif
            let re = ${fetch_a("row")};
            let im = ${fetch_a("(row + plane_a)")};
            let to = quad * ${pitch_a}u + block_row / 4u;
//% for u in range(4)
            a_block[to + ${u * pitch_a}u][block_row % 4u] = re[${u}];
            a_block[to + ${(depth + u) * pitch_a}u][block_row % 4u] = im[${u}];
//% endfor
        }
        for (var unit = own; unit < ${units_b}u; unit += ${lanes}u) {
            let row = real * problem.b_stride + min(first_k + unit / ${tile_n4}u, last_k) * problem.ldb;
            let column = (at.n * ${tile_n4}u + unit % ${tile_n4}u) * 4u;
//% if vector_b
            let load_column = min(column, problem.ldb - 4u);
//% else
            let load_column = column;
//% endif
            b_block[unit] = load_b(row, load_column);
            b_block[unit + ${units_b}u] = load_b(row + plane_b, load_column);
        }
        workgroupBarrier();
//% for u in range(depth)
        {
//% for i in range(rows // 4)
            let ar${i} = a_block[${u * pitch_a}u + lane.y * ${rows // 4}u + ${i}u];
            let ai${i} = a_block[${(depth + u) * pitch_a}u + lane.y * ${rows // 4}u + ${i}u];
//% endfor
//% for j in range(columns)
            let br${j} = b_block[${u * tile_n4 + j * lanes_n}u + lane.x];
            let bi${j} = b_block[${u * tile_n4 + j * lanes_n + units_b}u + lane.x];
            let minus${j} = -bi${j};
//% endfor
//% for i in range(rows)
            let sr${i} = vec4<f32>(ar${i // 4}[${i % 4}]);
            let si${i} = vec4<f32>(ai${i // 4}[${i % 4}]);
//% for j in range(columns)
            cr${i}_${j} = fma(sr${i}, br${j}, cr${i}_${j});
            ci${i}_${j} = fma(sr${i}, bi${j}, ci${i}_${j});
            cr${i}_${j} = fma(si${i}, minus${j}, cr${i}_${j});
            ci${i}_${j} = fma(si${i}, br${j}, ci${i}_${j});
//% endfor
//% endfor
        }
//% endfor
        workgroupBarrier();
    }

    let row0 = at.m * ${tile_m}u + lane.y * ${rows}u;
//% for j in range(columns)
    let column${j} = (at.n * ${tile_n4}u + ${j * lanes_n}u + lane.x) * 4u;
    let out_re${j} = result_of(real, column${j});
    let out_im${j} = result_of(real + problem.groups, column${j});
//% for i in range(rows)
    store_c(row0 + ${i}u, column${j}, out_re${j}, cr${i}_${j});
    store_c(row0 + ${i}u, column${j}, out_im${j}, ci${i}_${j});
//% endfor
//% endfor
}
