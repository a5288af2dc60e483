// Winograd output transform Y = Aₕᵀ·M·A_w, one invocation per output channel and `each` tiles, or with `tile_rows` per tile and `each`
// channels.
//
// Stage `output_transform`. Reads `products` laid out as αₕ·α_w matrices of K rows by the chunk's tiles, or with `tile_rows` as αₕ·α_w·g
// matrices of the chunk's tiles by K/g columns; writes mₕ×m_w outputs, of which those past the edge of the map are left out. With `whole` every tile's rows lie within the map and four outputs are written at once.
//% include "common/problem.wgsl"
//% from "common/winograd.wgsl" import combine, origin, next
//% if each == 4
@group(0) @binding(1) var<storage, read> products: array<vec4<f32>>;
//% else
@group(0) @binding(1) var<storage, read> products: array<f32>;
//% endif
//% if whole
@group(0) @binding(2) var<storage, read_write> output: array<vec4<${element}>>;
//% else
@group(0) @binding(2) var<storage, read_write> output: array<${element}>;
//% endif

override workgroup_x: u32;
//% include "common/linear.wgsl"
//% set alpha_h = at_h[0] | length
//% set alpha_w = at_w[0] | length

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    let stride = problem.k * problem.tiles / ${each}u;
    if index >= stride {
        return;
    }
//% if tile_rows
    let across = problem.group_k / ${each}u;
    let channel = index / (across * problem.tiles) * problem.group_k + index % across * ${each}u;
//% else
    let across = problem.tiles / ${each}u;
    let channel = index / across;
//% endif
//% for i in range(alpha_h)
//% for j in range(alpha_w)
    let m${i}_${j} = products[${i * alpha_w + j}u * stride + index];
//% endfor
//% endfor
//% for a in range(m_h)
//% for j in range(alpha_w)
    let t${a}_${j} = ${combine(at_h[a], "m", "_" ~ j)};
//% endfor
//% endfor
//% for a in range(m_h)
//% for b in range(m_w)
    let y${a}_${b} = ${combine(at_w[b], "t" ~ a ~ "_", "")};
//% endfor
//% endfor
//% if tile_rows
    ${origin("problem.tile0 + index / across % problem.tiles", m_h, m_w)}
//% else
    ${origin("problem.tile0 + index % across * " ~ each ~ "u", m_h, m_w)}
//% endif
//% for e in range(each)
//% set part = "[" ~ e ~ "]" if each == 4 else ""
    {
        let plane = problem.output_skip + (image * problem.k + channel${" + " ~ e ~ "u" if tile_rows else ""}) * problem.p * problem.q;
//% for a in range(m_h)
        {
            let p = p0 + ${a}u * problem.dilation_h;
            let row = plane + p * problem.q + q0;
            if p < problem.p {
//% if whole
//% for b in range(m_w // 4)
                output[row / 4u + ${b}u] = vec4<${element}>(vec4<f32>(y${a}_${4 * b}${part}, y${a}_${4 * b + 1}${part}, y${a}_${4 * b + 2}${part}, y${a}_${4 * b + 3}${part}));
//% endfor
//% else
//% for b in range(m_w)
                if q0 + ${b}u * problem.dilation_w < problem.q {
                    output[row + ${b}u * problem.dilation_w] = ${element}(y${a}_${b}${part});
                }
//% endfor
//% endif
            }
        }
//% endfor
    }
//% if not loop.last and not tile_rows
    ${next(m_h, m_w)}
//% endif
//% endfor
}
