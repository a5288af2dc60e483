// Folds the gradients of a column matrix: each input element collects those of the elements it was copied to.
//
// Stage `col2im`. One invocation per input element of some rows; a workgroup stays in one input plane. Reads the columns of a strip of
// `lines` rows of output points, writes the gradient of the input; with `add` strips before have left theirs in the rows before `fresh`.
// Element (d,h,w) was copied by tap (t,r,s) for output ((d + pad − t·dilation) / stride, …) where the division leaves no rest; with `dense`
// it never does. Layout of `columns`: image, then C·T·R·S rows, then the points of the strip.
//% include "common/problem.wgsl"
//% from "common/meet.wgsl" import meet
@group(0) @binding(1) var<storage, read> columns: array<${element}>;
@group(0) @binding(2) var<storage, read_write> input: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_group(group);
    let plane = index / problem.stretches;
    let own = index % problem.stretches * workgroup_x + lane;
    if plane >= problem.planes || own >= problem.elements {
        return;
    }
    let w = own % problem.w;
    let h = own / problem.w % problem.rows + problem.first_row;
    let d = own / (problem.w * problem.rows);
    let at = problem.input_skip + ((plane * problem.d + d) * problem.h + h) * problem.w + w;
    let taps = problem.t * problem.r * problem.s;
    // Images follow each other without a gap, so channel and image are one index.
    let first = problem.columns_skip + plane * taps * problem.points;
    var sum = 0.0;
//% if add
    if h < problem.fresh {
        sum = f32(input[at]);
    }
//% endif
    for (var t = 0u; t < problem.t; t++) {
        ${meet("d", "t", "o")}
        for (var r = 0u; r < problem.r; r++) {
            ${meet("h", "r", "p")}
            let line = o * problem.p + p - problem.first_line;
            if in_d & in_h & (line < problem.lines) {
                for (var s = 0u; s < problem.s; s++) {
                    ${meet("w", "s", "q")}
                    let source = first + ((t * problem.r + r) * problem.s + s) * problem.points + line * problem.q + q;
                    sum += select(0.0, f32(columns[select(first, source, in_w)]), in_w);
                }
            }
        }
    }
    input[at] = ${element}(sum);
}
