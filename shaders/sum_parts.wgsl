// Adds up the results of the parts of a split sum, always in the same order.
//
// Stage `sum_parts`. One invocation per ${"four outputs, which lie together" if vector else "output"} of the images bound.
//% include "common/problem.wgsl"
//% set value = "vec4<" ~ element ~ ">" if vector else element
//% set wide = "vec4<f32>" if vector else "f32"
//% set span = "4u" if vector else "1u"
@group(0) @binding(1) var<storage, read> parts: array<${wide}>;
@group(0) @binding(2) var<storage, read_write> output: array<${value}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = linear_invocation(group, lane) * ${span};
    if index >= problem.outputs {
        return;
    }
    var sum = ${wide}(0.0);
    for (var part = 0u; part < problem.parts; part++) {
        sum += parts[(problem.parts_skip + part * problem.outputs + index) / ${span}];
    }
    output[(problem.output_skip + index) / ${span}] = ${value}(sum);
}
