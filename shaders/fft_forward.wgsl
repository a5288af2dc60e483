// Real to complex Fourier transforms of tiles of the input, or of filters padded with zeros to the size of a tile.
//
// Stages `filter_transform` and `input_transform`. A workgroup transforms `units` times `each` tiles in memory's order, a unit by `edge`/2
// invocations: each transforms two rows as one complex vector, hands them on through workgroup memory, and transforms a column. The first
// and the middle column are spectra of real vectors after the rows; they go through the columns as one, too. Sums of two spectra are not
// halved: all values are twice what they should be, which the filters' factor makes up for.
//
// Writes `spectra` as edge·(edge/2 + 1) frequencies, row by row, of a real and an imaginary plane each; filters conjugate, since a
// convolution layer correlates.
//% include "common/problem.wgsl"
//% from "common/fft.wgsl" import transform, place
//% set half = edge // 2
//% if each == 4
alias real = vec4<f32>;
//% else
alias real = f32;
//% endif
@group(0) @binding(1) var<storage, read> source: array<${element}>;
@group(0) @binding(2) var<storage, read_write> spectra: array<real>;

// Rows of spectra, in each the complex numbers below the middle; the first holds the two that are real.
var<workgroup> rows: array<real, ${edge * edge * units}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"
//# What is before the imaginary part of a stored value.
//% set sign = "-" if filter else ""
//# An element of tile e's row a (of two), or zero outside.
//% macro element_at(a, j, e)
select(0.0, f32(source[select(plane${e}, row${a}_${e} + w${j}_${e}, in_h${a}_${e} & in_w${j}_${e})]), in_h${a}_${e} & in_w${j}_${e})${" * " ~ scale if filter else ""}
//% endmacro
//% macro store(row, column, re, im)
spectra[(${row * (half + 1)}u + ${column}) * 2u * stride + to] = ${re};
            spectra[(${row * (half + 1)}u + ${column}) * 2u * stride + stride + to] = ${sign}(${im});
//% endmacro

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = linear_group(group) * ${units}u;
    if first >= problem.items {
        return;
    }
    let unit = lane % ${units}u;
    let own = lane / ${units}u;
    let item = min(first + unit, problem.items - 1u);
//% for e in range(each)
//% if filter
    let number${e} = item * ${each}u + ${e}u;
//% if tile_rows
    // In memory channel by channel the filters of a group.
    let filter${e} = number${e} / (problem.group_c * problem.group_k) * problem.group_k + number${e} % problem.group_k;
    let plane${e} = (filter${e} * problem.group_c + number${e} / problem.group_k % problem.group_c) * problem.h * problem.w;
//% else
    let plane${e} = number${e} * problem.h * problem.w;
//% endif
    let p${e} = 0u;
    let q${e} = 0u;
//% else
    ${place(e, "item * " ~ each ~ "u + " ~ e ~ "u", "problem.group_c")}
    let plane${e} = problem.source_skip + (image${e} * problem.c + channel${e}) * problem.h * problem.w;
//% endif
//% endfor

    // A coordinate in the padding wraps below zero and so compares as too large; what it stands for reads the plane's first element and
    // drops it.
//% for e in range(each)
//% for a in range(2)
    let h${a}_${e} = p${e} + (2u * own + ${a}u) * problem.dilation_h - problem.pad_h;
    let in_h${a}_${e} = h${a}_${e} < problem.h;
    let row${a}_${e} = plane${e} + h${a}_${e} * problem.w;
//% endfor
//% for j in range(edge)
    let w${j}_${e} = q${e} + ${j}u * problem.dilation_w - problem.pad_w;
    let in_w${j}_${e} = w${j}_${e} < problem.w;
//% endfor
//% endfor
//% for j in range(edge)
//% if each == 4
    var re${j} = real(${element_at(0, j, 0)}, ${element_at(0, j, 1)}, ${element_at(0, j, 2)}, ${element_at(0, j, 3)});
    var im${j} = real(${element_at(1, j, 0)}, ${element_at(1, j, 1)}, ${element_at(1, j, 2)}, ${element_at(1, j, 3)});
//% else
    var re${j} = ${element_at(0, j, 0)};
    var im${j} = ${element_at(1, j, 0)};
//% endif
//% endfor
    ${transform("re", "im")}
    {
        let at = own * ${2 * edge * units}u + unit;
        rows[at] = re${order[0]};
        rows[at + ${units}u] = re${order[half]};
        rows[at + ${edge * units}u] = im${order[0]};
        rows[at + ${(edge + 1) * units}u] = im${order[half]};
//% for k in range(1, half)
//% set a = order[k]
//% set b = order[edge - k]
        rows[at + ${2 * k * units}u] = re${a} + re${b};
        rows[at + ${(2 * k + 1) * units}u] = im${a} - im${b};
        rows[at + ${(edge + 2 * k) * units}u] = im${a} + im${b};
        rows[at + ${(edge + 2 * k + 1) * units}u] = re${b} - re${a};
//% endfor
    }
    workgroupBarrier();
    {
        let at = own * ${2 * units}u + unit;
//% for i in range(edge)
        re${i} = rows[at + ${i * edge * units}u];
        im${i} = rows[at + ${(i * edge + 1) * units}u];
//% endfor
    }
    ${transform("re", "im")}
    if first + unit < problem.items {
        let stride = problem.stride;
//% if filter or tile_rows
        let to = item;
//% else
        let to = number0 / problem.tiles * problem.pitch + number0 % problem.tiles / ${each}u;
//% endif
        if own == 0u {
//% for k in range(edge)
//% set a = order[k]
//% set b = order[(edge - k) % edge]
            ${store(k, "0u", "re" ~ a ~ " + re" ~ b, "im" ~ a ~ " - im" ~ b)}
            ${store(k, half ~ "u", "im" ~ a ~ " + im" ~ b, "re" ~ b ~ " - re" ~ a)}
//% endfor
        } else {
//% for k in range(edge)
            ${store(k, "own", "re" ~ order[k], "im" ~ order[k])}
//% endfor
        }
    }
}
