//# The output along an axis for which a tap reads an input coordinate, and whether there is one: where dividing by the stride leaves no rest,
//# which with `dense` it never does. What is before the first tap wraps below zero.
//% macro meet(axis, tap, out)
let from_${axis} = ${axis} + problem.pad_${axis} - ${tap} * problem.dilation_${axis};
//% if dense
            let ${out} = from_${axis};
            let in_${axis} = ${out} < problem.${out};
//% else
            let ${out} = from_${axis} / problem.stride_${axis};
            let in_${axis} = (from_${axis} <= ${axis} + problem.pad_${axis}) & (from_${axis} % problem.stride_${axis} == 0u) & (${out} < problem.${out});
//% endif
//% endmacro
