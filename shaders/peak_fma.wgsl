// Multiply-adds and nothing else: the most a device computes.
//
// Stage `multiply_add`. Every invocation takes `chains` independent vectors of four through `a = a * factor + term`, `unroll` times in
// each of `rounds`, so that neither latency nor the loop bounds the rate. Factor and term come from the uniform: no compiler knows
// that both are 1, which makes the result count the steps. Writes one sum for each invocation.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;

override workgroup_x: u32;
//% include "common/linear.wgsl"

@compute @workgroup_size(workgroup_x)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let own = linear_invocation(group, lane);
    let factor = vec4<${element}>(${element}(problem.factor));
    let term = vec4<${element}>(${element}(problem.term));
    let first = vec4<${element}>(${element}(own & 3u));
//% for j in range(chains)
    var a${j} = first + vec4<${element}>(${j}.0, ${j + 1}.0, ${j + 2}.0, ${j + 3}.0);
//% endfor
    for (var round = 0u; round < problem.rounds; round++) {
//% for i in range(unroll)
//% for j in range(chains)
//% if fused
        a${j} = fma(a${j}, factor, term);
//% else
        a${j} = a${j} * factor + term;
//% endif
//% endfor
//% endfor
    }
    var sum = vec4<f32>();
//% for j in range(chains)
    sum += vec4<f32>(a${j});
//% endfor
    sums[own] = sum.x + sum.y + sum.z + sum.w;
}
