//# Columns of a row of the input, known by their distance from the first (`line.columns`), each loaded once. With `line.vector` rows are
//# whole vectors of four and the first column is `line.shift` past one: then the vectors that hold the columns (`line.vectors`) are loaded,
//# each of which is inside the row or outside. `w0` is the coordinate of the first column; one in the padding wraps below zero and so
//# compares as too large.

//# Which columns, or vectors, are inside a row of `width`.
//% macro inside(line, width)
//% if line.vector
//% for v in line.vectors
let in_w${v} = w0 - ${line.shift}u + ${4 * v}u < ${width};
//% endfor
//% else
//% for x in line.columns
let in_w${x} = w0 + ${x}u < ${width};
//% endfor
//% endif
//% endmacro

//# The columns, named by `y` and their distance, of a row that begins at index `row`, if the row is there at all; what is outside reads `instead` and is
//# dropped.
//% macro load(line, y, row, in_row, instead)
//% if line.vector
//% for v in line.vectors
let v${y}_${v} = select(vec4<f32>(0.0), vec4<f32>(input[select(${instead}, ${row} - ${line.shift}u + ${4 * v}u, ${in_row} & in_w${v}) / 4u]), ${in_row} & in_w${v});
//% endfor
//% for x in line.columns
let x${y}_${x} = v${y}_${(x + line.shift) // 4}[${(x + line.shift) % 4}];
//% endfor
//% else
//% for x in line.columns
let x${y}_${x} = select(0.0, f32(input[select(${instead}, ${row} + ${x}u, ${in_row} & in_w${x})]), ${in_row} & in_w${x});
//% endfor
//% endif
//% endmacro
