//# The column matrix of a convolution that nobody wrote down: rows are taps of channels, columns are output points of all images. A vector
//# of four columns `j` is located once, aimed at each tap once (as `x`, with the tap's number and coordinates t, r, s), and then gathered
//# from channel after channel. `reading` says where its elements are found:
//#   input    in the input, each tap tested against its edges;
//#   gradient in the gradient of the output, columns being input points: a tap is met where no stride leaves it out, with `dense` always;
//#   lowered  in the input lowered along the width, which holds the padding too: four columns of a row lie together;
//#   table    in the input, where a table has the offset of each tap of each point, all ones for one in the padding;
//#   offsets  in the input, at a tabled distance from the patch's corner for each row of the matrix, which are not aimed at but entered.

//# Where four columns begin, from output coordinates; columns past the last repeat it. Coordinates of the first tap in the padding wrap
//# below zero. With `offsets` a column has a bit for each coordinate of a tap that is inside: along the depth, then the height, then the width.
//% macro locate(size, j, column)
//% if reading == "lowered" and vector_b
let point${j} = min(${column}, problem.n - 4u);
//% else
let point${j} = min(vec4<u32>(${column}) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(problem.n - 1u));
//% endif
    let within${j} = point${j} % ${size.points};
//% if reading == "offsets" and corners
    let packed${j} = vec4<u32>(corners[within${j}.x], corners[within${j}.y], corners[within${j}.z], corners[within${j}.w]);
    let w0_${j} = (packed${j} & vec4<u32>(${2 ** corner_w - 1}u)) - ${size.pad_w};
    let h0_${j} = ((packed${j} >> vec4<u32>(${corner_w}u)) & vec4<u32>(${2 ** corner_h - 1}u)) - ${size.pad_h};
    let d0_${j} = ((packed${j} >> vec4<u32>(${corner_w}u)) >> vec4<u32>(${corner_h}u)) - ${size.pad_d};
//% elif reading == "gradient"
    let w0_${j} = within${j} % ${size.w} + ${size.pad_w};
    let h0_${j} = within${j} / ${size.w} % ${size.h} + ${size.pad_h};
    let d0_${j} = within${j} / (${size.w} * ${size.h}) + ${size.pad_d};
//% elif reading == "input" or reading == "offsets"
    let w0_${j} = within${j} % ${size.q} * ${size.stride_w} - ${size.pad_w};
    let h0_${j} = within${j} / ${size.q} % ${size.p} * ${size.stride_h} - ${size.pad_h};
    let d0_${j} = within${j} / (${size.q} * ${size.p}) * ${size.stride_d} - ${size.pad_d};
//% endif
    let base${j} = problem.b_skip + at.matrix * problem.b_stride + point${j} / ${size.points} * problem.b_image
//% if reading == "lowered"
        + within${j} / (${size.q} * ${size.p}) * ${size.step_d} + within${j} / ${size.q} % ${size.p} * ${size.step_h} + within${j} % ${size.q}
//% endif
        ;
//% if reading == "offsets"
    let corner${j} = base${j} + (d0_${j} * ${size.h} + h0_${j}) * ${size.w} + w0_${j};
    var mask${j} = vec4<u32>(0u);
    for (var t = 0u; t < ${size.t}; t++) {
        mask${j} |= select(vec4<u32>(0u), vec4<u32>(1u << t), d0_${j} + t * ${size.dilation_d} < vec4<u32>(${size.d}));
    }
    for (var r = 0u; r < ${size.r}; r++) {
        mask${j} |= select(vec4<u32>(0u), vec4<u32>(1u << (${size.t} + r)), h0_${j} + r * ${size.dilation_h} < vec4<u32>(${size.h}));
    }
    for (var s = 0u; s < ${size.s}; s++) {
        mask${j} |= select(vec4<u32>(0u), vec4<u32>(1u << (${size.t} + ${size.r} + s)), w0_${j} + s * ${size.dilation_w} < vec4<u32>(${size.w}));
    }
//% endif
//% endmacro

//# What aiming leaves behind, where it is done over and over.
//% macro aimed()
//% if reading != "lowered"
    var inside: vec4<bool>;
//% endif
    var source: ${"u32" if reading == "lowered" and vector_b else "vec4<u32>"};
//% endmacro

//# Where a tap of four columns lies in the first channel. One in the padding reads the first element and drops it: coordinates
//# there wrap below zero and so compare as too large.
//% macro aim(size, j, x, declare, tap)
//% if reading == "input"
let w${x} = w0_${j} + s${x} * ${size.dilation_w};
        let h${x} = h0_${j} + r${x} * ${size.dilation_h};
        let d${x} = d0_${j} + t${x} * ${size.dilation_d};
        ${declare}inside${x} = (w${x} < vec4<u32>(${size.w})) & (h${x} < vec4<u32>(${size.h})) & (d${x} < vec4<u32>(${size.d}));
        ${declare}source${x} = base${j} + select(vec4<u32>(0u), (d${x} * ${size.h} + h${x}) * ${size.w} + w${x}, inside${x});
//% elif reading == "gradient"
let w${x} = w0_${j} - s${x} * ${size.dilation_w};
        let h${x} = h0_${j} - r${x} * ${size.dilation_h};
        let d${x} = d0_${j} - t${x} * ${size.dilation_d};
//% if dense
        ${declare}inside${x} = (w${x} < vec4<u32>(${size.q})) & (h${x} < vec4<u32>(${size.p})) & (d${x} < vec4<u32>(${size.o}));
        ${declare}source${x} = base${j} + select(vec4<u32>(0u), (d${x} * ${size.p} + h${x}) * ${size.q} + w${x}, inside${x});
//% else
        let q${x} = w${x} / ${size.stride_w};
        let p${x} = h${x} / ${size.stride_h};
        let o${x} = d${x} / ${size.stride_d};
        ${declare}inside${x} = (w${x} <= w0_${j}) & (q${x} * ${size.stride_w} == w${x}) & (q${x} < vec4<u32>(${size.q}))
            & (h${x} <= h0_${j}) & (p${x} * ${size.stride_h} == h${x}) & (p${x} < vec4<u32>(${size.p}))
            & (d${x} <= d0_${j}) & (o${x} * ${size.stride_d} == d${x}) & (o${x} < vec4<u32>(${size.o}));
        ${declare}source${x} = base${j} + select(vec4<u32>(0u), (o${x} * ${size.p} + p${x}) * ${size.q} + q${x}, inside${x});
//% endif
//% elif reading == "lowered"
${declare}source${x} = base${j} + t${x} * ${size.tap_d} + r${x} * ${size.tap_h} + s${x} * ${size.tap_w};
//% elif reading == "table"
let plane${x} = ${tap} * ${size.points};
//% if vector_t
        let offset${x} = table[(plane${x} + within${j}.x) / 4u];
//% else
        let offset${x} = vec4<u32>(table[plane${x} + within${j}.x], table[plane${x} + within${j}.y], table[plane${x} + within${j}.z], table[plane${x} + within${j}.w]);
//% endif
        ${declare}inside${x} = offset${x} != vec4<u32>(0xFFFFFFFFu);
        ${declare}source${x} = base${j} + select(vec4<u32>(0u), offset${x}, inside${x});
//% endif
//% endmacro

//% macro gather(x, channel)
//% if reading == "lowered" and vector_b
vec4<f32>(b[(source${x} + ${channel}) / 4u])
//% elif reading == "lowered"
vec4<f32>(f32(b[source${x}.x + ${channel}]), f32(b[source${x}.y + ${channel}]), f32(b[source${x}.z + ${channel}]), f32(b[source${x}.w + ${channel}]))
//% else
select(vec4<f32>(0.0), vec4<f32>(f32(b[source${x}.x + ${channel}]), f32(b[source${x}.y + ${channel}]), f32(b[source${x}.z + ${channel}]), f32(b[source${x}.w + ${channel}])), inside${x})
//% endif
//% endmacro

//# A row of the matrix by `offsets`: how far from the corner it is read, and the bits its tap must have in a column's mask.
//% macro enter(size, x, row)
let entry${x} = offsets[${row}];
        let tap${x} = entry${x} >> ${offset_bits}u;
        let offset${x} = entry${x} & ${2 ** offset_bits - 1}u;
        let needed${x} = (1u << ((tap${x} >> ${tap_w}u) >> ${tap_h}u))
            | (1u << (${size.t} + ((tap${x} >> ${tap_w}u) & ${2 ** tap_h - 1}u)))
            | (1u << (${size.t} + ${size.r} + (tap${x} & ${2 ** tap_w - 1}u)));
//% endmacro

//# Four columns of a row entered as `x`, named by `x` and `j`.
//% macro reach(x, j)
let inside${x}_${j} = (mask${j} & vec4<u32>(needed${x})) == vec4<u32>(needed${x});
        let source${x}_${j} = select(vec4<u32>(base${j}), corner${j} + vec4<u32>(offset${x}), inside${x}_${j});
//% endmacro
//% macro take(x, j)
${gather(x ~ "_" ~ j, "0u")}
//% endmacro
