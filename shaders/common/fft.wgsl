//# Fourier transforms of tiles, `edge` by `edge`, unrolled from the plan's list of `butterflies`. An invocation transforms one vector of
//# `edge` complex numbers in variables named re and im and a number; frequency k ends in those numbered `order[k]`.
//#
//# Two real vectors a and b are transformed as one, a + i·b, and taken apart by the symmetry of their spectra: A(k) = conj(A(−k)).

//# One transform in place. With the names exchanged it is the inverse, without its factor of 1/edge.
//% macro transform(re, im)
//% for b in butterflies
    {
        let x = ${re}${b[0]} - ${re}${b[1]};
        let y = ${im}${b[0]} - ${im}${b[1]};
        ${re}${b[0]} += ${re}${b[1]};
        ${im}${b[0]} += ${im}${b[1]};
//% if b[3] == "0.0"
        ${re}${b[1]} = x;
        ${im}${b[1]} = y;
//% elif b[2] == "0.0"
        ${re}${b[1]} = y;
        ${im}${b[1]} = -x;
//% else
        ${re}${b[1]} = x * ${b[2]} - y * ${b[3]};
        ${im}${b[1]} = x * ${b[3]} + y * ${b[2]};
//% endif
    }
//% endfor
//% endmacro

//# The image of tile `e` of those bound and its first output row and column. Rows of tiles go through the phases of the dilation first.
//% macro origin(e)
let tile_row${e} = tile${e} % problem.tiles_image / problem.tiles_w;
    let tile_column${e} = tile${e} % problem.tiles_image % problem.tiles_w;
    let image${e} = tile${e} / problem.tiles_image;
    let p${e} = tile_row${e} / problem.dilation_h * problem.m_h * problem.dilation_h + tile_row${e} % problem.dilation_h;
    let q${e} = tile_column${e} / problem.dilation_w * problem.m_w * problem.dilation_w + tile_column${e} % problem.dilation_w;
//% endmacro

//# Channel and tile of the number `number` in the order of memory: tiles of a channel lie together, or with `tile_rows` the channels of a
//# group's tile.
//% macro place(e, number, channels)
let number${e} = ${number};
//% if tile_rows
    let channel${e} = number${e} / (${channels} * problem.tiles) * ${channels} + number${e} % ${channels};
    let tile${e} = problem.tile0 + number${e} / ${channels} % problem.tiles;
//% else
    let channel${e} = number${e} / problem.tiles;
    let tile${e} = problem.tile0 + number${e} % problem.tiles;
//% endif
    ${origin(e)}
//% endmacro
