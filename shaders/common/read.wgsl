//# An element of a tensor as the type it is multiplied in. With `packed` tensors hold 8-bit integers, four to a word.
//% macro read(buffer, index)
//% if packed
extractBits(bitcast<i32>(${buffer}[(${index}) / 4u]), (${index}) % 4u * 8u, 8u)
//% else
f32(${buffer}[${index}])
//% endif
//% endmacro
