// Batched product of complex matrices C = A·B, row-major, real and imaginary parts in planes of their own, from registers.
//
// Stage `products`: A is M×K, B is K×N, C is M×N, one product for each frequency and group. Of each frequency the real parts of all groups'
// matrices come first, then the imaginary ones. Each invocation keeps a register tile of `rows` rows by `columns` vectors of four columns.
// Tails: loads are clamped into the matrix, stores are guarded.
// With `subgroup` the invocations of a subgroup load different rows of A and hand them round; else each loads what it needs.
//% include "common/problem.wgsl"
//% set patches = false
//% set split = false
//% include "common/operands.wgsl"

override workgroup_x: u32;
//% if not subgroup
override workgroup_y: u32;
//% endif
//% include "common/linear.wgsl"
//% include "common/tiles.wgsl"
//# The rows of A for `count` k: vectors of four of the real and the imaginary plane.
//% macro load_a(i, count)
//% if vector_a
        let ar${i} = vec4<f32>(a[(a_row${i} + k) / 4u]);
        let ai${i} = vec4<f32>(a[(a_row${i} + plane_a + k) / 4u]);
//% else
        let ar${i} = vec4<f32>(
//% for u in range(4)
            ${"f32(a[a_row" ~ i ~ " + k + " ~ u ~ "u])" if u < count else "0.0"},
//% endfor
        );
        let ai${i} = vec4<f32>(
//% for u in range(4)
            ${"f32(a[a_row" ~ i ~ " + plane_a + k + " ~ u ~ "u])" if u < count else "0.0"},
//% endfor
        );
//% endif
//% endmacro
//% macro element_a(part, i, u)
${"subgroupBroadcast(" ~ part ~ i // 8 ~ "[" ~ u ~ "], " ~ i % 8 ~ "u)" if subgroup else part ~ i ~ "[" ~ u ~ "]"}
//% endmacro
//% macro block(count)
//% for i in range(rows // 8 if subgroup else rows)
${load_a(i, count)}
//% endfor
//% for u in range(count)
        {
//% for j in range(columns)
            let br${j} = load_b(b_row, load_column${j});
            let bi${j} = load_b(b_row + plane_b, load_column${j});
            let minus${j} = -bi${j};
//% endfor
//% for i in range(rows)
            let sr${i} = vec4<f32>(${element_a("ar", i, u)});
            let si${i} = vec4<f32>(${element_a("ai", i, u)});
//% for j in range(columns)
            cr${i}_${j} = fma(sr${i}, br${j}, cr${i}_${j});
            ci${i}_${j} = fma(sr${i}, bi${j}, ci${i}_${j});
            cr${i}_${j} = fma(si${i}, minus${j}, cr${i}_${j});
            ci${i}_${j} = fma(si${i}, br${j}, ci${i}_${j});
//% endfor
//% endfor
        }
        b_row += problem.ldb;
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
    if at.matrix >= problem.batch {
        return;
    }
//% if subgroup
    let row0 = at.m * ${rows}u;
//% else
    let row0 = (at.m * workgroup_y + lane.y) * ${rows}u;
//% endif
    let first_column = (at.n * workgroup_x * ${columns}u + lane.x) * 4u;

    // Matrices of real parts; those of imaginary parts are as many behind as there are groups.
    let real = at.matrix / problem.groups * 2u * problem.groups + at.matrix % problem.groups;
    let plane_a = problem.groups * problem.a_stride;
    let plane_b = problem.groups * problem.b_stride;
    let last_row = problem.m - 1u;
//% for i in range(rows // 8 if subgroup else rows)
    let a_row${i} = real * problem.a_stride + min(row0 + ${(8 * i) ~ "u + own % 8u" if subgroup else i ~ "u"}, last_row) * problem.lda;
//% endfor
//% for j in range(columns)
    let column${j} = first_column + ${j * 4}u * workgroup_x;
    let load_column${j} = ${"min(column" ~ j ~ ", problem.ldb - 4u)" if vector_b else "column" ~ j};
//% endfor

//% for i in range(rows)
//% for j in range(columns)
    var cr${i}_${j} = vec4<f32>(0.0);
    var ci${i}_${j} = vec4<f32>(0.0);
//% endfor
//% endfor

    var b_row = real * problem.b_stride;
//% if blocks
    var k = 0u;
    for (; k + 4u <= problem.k; k += 4u) {
        ${block(4)}
    }
//% else
    let k = 0u;
//% endif
//% if tail > 0
    ${block(tail)}
//% endif

//% for j in range(columns)
    let out_re${j} = result_of(real, column${j});
    let out_im${j} = result_of(real + problem.groups, column${j});
//% for i in range(rows)
    store_c(row0 + ${i}u, column${j}, out_re${j}, cr${i}_${j});
    store_c(row0 + ${i}u, column${j}, out_im${j}, ci${i}_${j});
//% endfor
//% endfor
}
