//# The column matrix of a convolution read in place: rows are taps of channels, columns are output points of all images. A vector of
//# four columns `j` is located once, aimed at each tap once (as `x`, with the tap's coordinates t, r, s), and then gathered from channel
//# after channel.

//# Input coordinates of the first tap for four columns, from output coordinates; columns past the last repeat it.
//% macro locate(size, j, column)
let point${j} = min(vec4<u32>(${column}) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(problem.n - 1u));
    let within${j} = point${j} % ${size.points};
    let w0_${j} = within${j} % ${size.q} * ${size.stride_w} - ${size.pad_w};
    let h0_${j} = within${j} / ${size.q} % ${size.p} * ${size.stride_h} - ${size.pad_h};
    let d0_${j} = within${j} / (${size.q} * ${size.p}) * ${size.stride_d} - ${size.pad_d};
    let base${j} = problem.b_skip + at.matrix * problem.b_stride + point${j} / ${size.points} * problem.b_image;
//% endmacro

//# Where tap (t,r,s) of four columns lies in the first channel. One in the padding reads the first element and drops it: coordinates
//# there wrap below zero and so compare as too large.
//% macro aim(size, j, x, declare)
let w${x} = w0_${j} + s${x} * ${size.dilation_w};
        let h${x} = h0_${j} + r${x} * ${size.dilation_h};
        let d${x} = d0_${j} + t${x} * ${size.dilation_d};
        ${declare}inside${x} = (w${x} < vec4<u32>(${size.w})) & (h${x} < vec4<u32>(${size.h})) & (d${x} < vec4<u32>(${size.d}));
        ${declare}source${x} = base${j} + select(vec4<u32>(0u), (d${x} * ${size.h} + h${x}) * ${size.w} + w${x}, inside${x});
//% endmacro

//% macro gather(x, channel)
select(vec4<f32>(0.0), vec4<f32>(f32(b[source${x}.x + ${channel}]), f32(b[source${x}.y + ${channel}]), f32(b[source${x}.z + ${channel}]), f32(b[source${x}.w + ${channel}])), inside${x})
//% endmacro
