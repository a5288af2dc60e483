// The column matrix of a convolution of 8-bit integers, four rows of the reduction to a word, read in place from `input`.
//% include "common/taps.wgsl"

// The byte a tap sees, in the lowest bits: zero in the padding and past the last tap.
fn tapped(base: u32, first: vec3<u32>, tap: Tap) -> u32 {
    let at = seen(first, tap);
    let index = base + at.index;
    return select(0u, extractBits(input[index / 4u], index % 4u * 8u, 8u), at.inside);
}

// What four taps see.
fn tapped_four(base: u32, first: vec3<u32>, a: Tap, b: Tap, c: Tap, d: Tap) -> u32 {
    return tapped(base, first, a) | tapped(base, first, b) << 8u | tapped(base, first, c) << 16u | tapped(base, first, d) << 24u;
}
