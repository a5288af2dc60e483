// Copies one storage buffer to another: the most bytes a device moves.
//
// Stage `copy`. An invocation copies `items` elements of `vector` type, a workgroup's width apart, so that neighbours touch
// neighbouring addresses. There are exactly as many invocations as elements, or, with `wrap`, whole multiples of them: then they go
// through the buffers again and again, which keeps a small working set in the caches for as long as a clock needs to see it.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> source: array<${vector}>;
@group(0) @binding(2) var<storage, read_write> destination: array<${vector}>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = linear_group(group) * (workgroup_x * ${items}u) + lane;
//% for i in range(items)
//% if wrap
    let at${i} = (first + workgroup_x * ${i}u) & problem.mask;
//% else
    let at${i} = first + workgroup_x * ${i}u;
//% endif
//% endfor
//% for i in range(items)
    let value${i} = source[at${i}];
//% endfor
//% for i in range(items)
    destination[at${i}] = value${i};
//% endfor
}
