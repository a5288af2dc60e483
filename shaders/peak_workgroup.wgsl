// Reads workgroup memory and adds up what it reads: the most bytes a device's workgroup memory gives.
//
// Stage `workgroup_read`. A workgroup fills a tile of one vector for each invocation and `unroll` more; then every invocation reads
// `unroll` neighbouring vectors in each of `rounds`, beginning one further in every round. Neighbouring invocations read neighbouring
// vectors, so no banks collide. Writes one sum for each invocation.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;

override workgroup_x: u32;
//% include "common/linear.wgsl"
var<workgroup> tile: array<vec4<f32>, ${entries}>;

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    for (var entry = lane; entry < ${entries}u; entry += workgroup_x) {
        tile[entry] = vec4<f32>(f32((entry * 7u) & 15u));
    }
    workgroupBarrier();
//% for i in range(sums)
    var sum${i} = vec4<f32>();
//% endfor
    for (var round = 0u; round < problem.rounds; round++) {
        let first = (lane + round) & (workgroup_x - 1u);
//% for i in range(unroll)
        sum${i % sums} += tile[first + ${i}u];
//% endfor
    }
//% for i in range(1, sums)
    sum0 += sum${i};
//% endfor
    sums[linear_invocation(group, lane)] = sum0.x + sum0.y + sum0.z + sum0.w;
}
