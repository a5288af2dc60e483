// Stores one word: what a dispatch costs when there is nothing to do.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read_write> word: array<f32>;

@compute @workgroup_size(1)
fn main() {
    word[0] = f32(problem.value);
}
