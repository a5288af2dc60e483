// Complex to real Fourier transforms of products, of which the outputs that no wrapping around the tile's edge reaches are kept.
//
// Stage `output_transform`. The stages of the forward transform backwards: a workgroup transforms `units` times `each` tiles in memory's
// order, a unit by `edge`/2 invocations, each a column and then, handed on through workgroup memory, two rows. Reads `products` as edge·(edge/2
// + 1) frequencies of a real and an imaginary plane each; writes `m_w` columns of the first `m_h` rows, less what is past the edge of the map.
//% include "common/problem.wgsl"
//% from "common/fft.wgsl" import transform, place
//% set half = edge // 2
//% if each == 4
alias real = vec4<f32>;
//% else
alias real = f32;
//% endif
@group(0) @binding(1) var<storage, read> products: array<real>;
@group(0) @binding(2) var<storage, read_write> output: array<${element}>;

// Rows of spectra, in each the complex numbers below the middle; the first holds the two that are real.
var<workgroup> rows: array<real, ${edge * edge * units}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = linear_group(group) * ${units}u;
    if first >= problem.items {
        return;
    }
    let unit = lane % ${units}u;
    let own = lane / ${units}u;
    let item = min(first + unit, problem.items - 1u);
    let stride = problem.stride;
//% for e in range(each)
    ${place(e, "item * " ~ each ~ "u + " ~ e ~ "u", "problem.group_k")}
//% endfor
//% if tile_rows
    let at = item + own * 2u * stride;
//% else
    let at = number0 / problem.tiles * problem.pitch + number0 % problem.tiles / ${each}u + own * 2u * stride;
//% endif
//% for k in range(edge)
    var re${k} = products[at + ${2 * k * (half + 1)}u * stride];
    var im${k} = products[at + ${2 * k * (half + 1) + 1}u * stride];
//% endfor
    if own == 0u {
        // The column of the middle rides along as the imaginary part.
//% for k in range(edge)
        re${k} -= products[at + ${2 * (k * (half + 1) + half) + 1}u * stride];
        im${k} += products[at + ${2 * (k * (half + 1) + half)}u * stride];
//% endfor
    }
    ${transform("im", "re")}
    {
        let to = own * ${2 * units}u + unit;
//% for i in range(edge)
        rows[to + ${i * edge * units}u] = re${order[i]};
        rows[to + ${(i * edge + 1) * units}u] = im${order[i]};
//% endfor
    }
    workgroupBarrier();
    {
        let from_row = own * ${2 * edge * units}u + unit;
        re0 = rows[from_row];
        re${half} = rows[from_row + ${units}u];
        im0 = rows[from_row + ${edge * units}u];
        im${half} = rows[from_row + ${(edge + 1) * units}u];
//% for k in range(1, half)
        {
            let a_re = rows[from_row + ${2 * k * units}u];
            let a_im = rows[from_row + ${(2 * k + 1) * units}u];
            let b_re = rows[from_row + ${(edge + 2 * k) * units}u];
            let b_im = rows[from_row + ${(edge + 2 * k + 1) * units}u];
            re${k} = a_re - b_im;
            im${k} = a_im + b_re;
            re${edge - k} = a_re + b_im;
            im${edge - k} = b_re - a_im;
        }
//% endfor
    }
    ${transform("im", "re")}
    if first + unit >= problem.items {
        return;
    }
//% for e in range(each)
//% set part = "[" ~ e ~ "]" if each == 4 else ""
    {
        let end = min(q${e} + problem.m_w * problem.dilation_w, problem.q);
        let plane = problem.output_skip + (image${e} * problem.k + channel${e}) * problem.p * problem.q;
//% for a in range(2)
        {
            let row = 2u * own + ${a}u;
            let p = p${e} + row * problem.dilation_h;
            if row < problem.m_h && p < problem.p {
                let start = plane + p * problem.q + q${e};
//% for j in range(edge)
                if q${e} + ${j}u * problem.dilation_w < end {
                    output[start + ${j}u * problem.dilation_w] = ${element}(${"im" if a else "re"}${order[j]}${part});
                }
//% endfor
            }
        }
//% endfor
    }
//% endfor
}
