// The uniform every kernel reads its sizes from. The fields are those the plan's step fills in, in its order.
struct Problem {
//% for field in problem_fields
    ${field}: u32,
//% endfor
}
@group(0) @binding(0) var<uniform> problem: Problem;
