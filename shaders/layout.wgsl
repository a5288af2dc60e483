// Transposes matrices: the feature maps of images from channels by points to points by channels, or back.
//
// Stages `operand_layout` and `result_layout`. An invocation moves a block of four by four elements; neighbouring ones write next to each
// other.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> source: array<${element}>;
@group(0) @binding(2) var<storage, read_write> target_map: array<${element}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane);
    if index >= problem.invocations {
        return;
    }
    let row = index % problem.blocks_m * 4u;
    let column = index / problem.blocks_m % problem.blocks_n * 4u;
    let image = index / (problem.blocks_m * problem.blocks_n) * problem.rows * problem.columns;
    let end_row = min(row + 4u, problem.rows);
    let end_column = min(column + 4u, problem.columns);
    for (var j = column; j < end_column; j++) {
        for (var i = row; i < end_row; i++) {
            target_map[problem.target_skip + image + j * problem.rows + i] = source[problem.source_skip + image + i * problem.columns + j];
        }
    }
}
