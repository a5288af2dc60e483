//# The column matrix of a convolution read in place: rows are taps of channels, columns are output points of all images. A vector of
//# four columns `j` is located once, aimed at each tap once, and then gathered from channel after channel.

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
//% macro aim(size, j, declare)
let w${j} = w0_${j} + s * ${size.dilation_w};
        let h${j} = h0_${j} + r * ${size.dilation_h};
        let d${j} = d0_${j} + t * ${size.dilation_d};
        ${declare}inside${j} = (w${j} < vec4<u32>(${size.w})) & (h${j} < vec4<u32>(${size.h})) & (d${j} < vec4<u32>(${size.d}));
        ${declare}from${j} = base${j} + select(vec4<u32>(0u), (d${j} * ${size.h} + h${j}) * ${size.w} + w${j}, inside${j});
//% endmacro

//% macro gather(j, channel)
select(vec4<f32>(0.0), vec4<f32>(f32(b[from${j}.x + ${channel}]), f32(b[from${j}.y + ${channel}]), f32(b[from${j}.z + ${channel}]), f32(b[from${j}.w + ${channel}])), inside${j})
//% endmacro
