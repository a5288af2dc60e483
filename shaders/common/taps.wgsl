// Where the taps of a reduction look: rows of the column matrix of a convolution are taps of channels, in the order of the weights, and
// columns are output points.

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

// Whether what a tap sees is an element of the input, and if so which, from the first of its channels on; else that first one.
struct Seen {
    inside: bool,
    index: u32,
}

fn seen(first: vec3<u32>, tap: Tap) -> Seen {
    let at = first + tap.offset;
    let inside = tap.real & all(at < vec3<u32>(problem.d, problem.h, problem.w));
    return Seen(inside, select(0u, tap.channel + (at.x * problem.h + at.y) * problem.w + at.z, inside));
}
