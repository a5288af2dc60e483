// The problem's sizes. Every kernel includes this file first; the plan's step names the fields and holds their values.
struct Problem {
//% for field in problem_fields
    ${field}: u32,
//% endfor
}
@group(0) @binding(0) var<uniform> problem: Problem;
