// The column matrix of a convolution of 8-bit integers, four rows of the reduction to a word, read in place from `input`.

// A tap of a channel: how far from the first tap it looks, where its channel begins, and whether there is one.
struct Tap {
    offset: vec3<u32>,
    channel: u32,
    real: bool,
}

fn tap_at(k: u32) -> Tap {
    let s = k % problem.s;
    let r = k / problem.s % problem.r;
    let t = k / (problem.s * problem.r) % problem.t;
    let c = k / (problem.s * problem.r * problem.t);
    let offset = vec3<u32>(t * problem.dilation_d, r * problem.dilation_h, s * problem.dilation_w);
    return Tap(offset, c * problem.d * problem.h * problem.w, k < problem.k);
}

// Input coordinates of the first tap of an output point. One in the padding wraps below zero and so compares as too large.
fn first_tap(point: u32) -> vec3<u32> {
    return vec3<u32>(
        point / (problem.q * problem.p) * problem.stride_d - problem.pad_d,
        point / problem.q % problem.p * problem.stride_h - problem.pad_h,
        point % problem.q * problem.stride_w - problem.pad_w);
}

// The byte a tap sees, in the lowest bits: zero in the padding and past the last tap.
fn tapped(base: u32, first: vec3<u32>, tap: Tap) -> u32 {
    let at = first + tap.offset;
    let inside = tap.real & all(at < vec3<u32>(problem.d, problem.h, problem.w));
    let index = base + select(0u, tap.channel + (at.x * problem.h + at.y) * problem.w + at.z, inside);
    return select(0u, extractBits(input[index / 4u], index % 4u * 8u, 8u), inside);
}

// What four taps see.
fn tapped_four(base: u32, first: vec3<u32>, a: Tap, b: Tap, c: Tap, d: Tap) -> u32 {
    return tapped(base, first, a) | tapped(base, first, b) << 8u | tapped(base, first, c) << 16u | tapped(base, first, d) << 24u;
}
