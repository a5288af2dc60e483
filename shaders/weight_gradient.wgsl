// Gradient of the weights as a matrix product: the gradient of the output, K/g rows by output points, times the transposed column matrix
// of the input, output points by C/g·T·R·S columns, which nobody wrote down.
//
// Stage `implicit_gemm`. Each invocation keeps a register tile of `rows` rows by `columns` vectors of four columns; a column is a tap of a
// channel, which it goes along the rows of outputs with. Rows of outputs are shared out among `parts`, each with results of its own; with
// `add` those over the rows of outputs before are there already. Tails: loads are clamped into the matrix, stores are guarded; taps in the
// padding read the first element and drop it.
//% include "common/problem.wgsl"
@group(0) @binding(1) var<storage, read> input: array<${element}>;
//% if vector_a
@group(0) @binding(2) var<storage, read> gradient: array<vec4<${element}>>;
//% else
@group(0) @binding(2) var<storage, read> gradient: array<${element}>;
//% endif
@group(0) @binding(3) var<storage, read_write> weights: array<f32>;

override workgroup_x: u32;
override workgroup_y: u32;
//% include "common/linear.wgsl"
//# `count` outputs of a row from q on.
//% macro block(count)
//% for i in range(rows)
//% if vector_a
            let a${i} = vec4<f32>(gradient[(source${i} + line_a + q) / 4u]);
//% else
            let a${i} = vec4<f32>(
//% for u in range(count)
                f32(gradient[source${i} + line_a + q + ${u}u]),
//% endfor
//% for u in range(4 - count)
                0.0,
//% endfor
            );
//% endif
//% endfor
//% for u in range(count)
//% for j in range(columns)
            let x${j}_${u} = (q + ${u}u) * ${size.stride_w} + w0_${j};
            let meets${j}_${u} = inside${j} & (x${j}_${u} < vec4<u32>(${size.w}));
            let at${j}_${u} = select(vec4<u32>(problem.input_skip), line${j} + x${j}_${u}, meets${j}_${u});
            let b${j}_${u} = select(vec4<f32>(0.0), vec4<f32>(f32(input[at${j}_${u}.x]), f32(input[at${j}_${u}.y]), f32(input[at${j}_${u}.z]), f32(input[at${j}_${u}.w])), meets${j}_${u});
//% for i in range(rows)
            c${i}_${j} = fma(vec4<f32>(a${i}[${u}]), b${j}_${u}, c${i}_${j});
//% endfor
//% endfor
//% endfor
//% endmacro

@compute @workgroup_size(workgroup_x, workgroup_y)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>) {
    let index = linear_group(group);
    let tiles = problem.tiles_m * problem.tiles_n;
    let part = index / (tiles * problem.batch);
    if part >= problem.parts {
        return;
    }
    let matrix = index / tiles % problem.batch;
    let row0 = (index % tiles % problem.tiles_m * workgroup_y + lane.y) * ${rows}u;
    let first_column = (index % tiles / problem.tiles_m * workgroup_x * ${columns}u + lane.x) * 4u;

//% for i in range(rows)
    let source${i} = problem.output_skip + (matrix * problem.m + min(row0 + ${i}u, problem.m - 1u)) * ${size.points};
//% endfor
//% for j in range(columns)
    let column${j} = first_column + ${j * 4}u * workgroup_x;
    let own${j} = min(vec4<u32>(column${j}) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(problem.n - 1u));
    let tap${j} = own${j} % ${size.taps};
    let plane${j} = problem.input_skip + (matrix * problem.group_c + own${j} / ${size.taps}) * ${size.volume};
    // An input coordinate in the padding wraps below zero and so compares as too large.
    let w0_${j} = tap${j} % ${size.s} * ${size.dilation_w} - ${size.pad_w};
    let h0_${j} = tap${j} / ${size.s} % ${size.r} * ${size.dilation_h} - ${size.pad_h};
    let d0_${j} = tap${j} / (${size.s} * ${size.r}) * ${size.dilation_d} - ${size.pad_d};
//% endfor
    let results = part * problem.weights + matrix * problem.m * problem.n;
//% for i in range(rows)
//% for j in range(columns)
//% if add
    let was${i}_${j} = results + min(row0 + ${i}u, problem.m - 1u) * problem.n + own${j};
    var c${i}_${j} = vec4<f32>(weights[was${i}_${j}.x], weights[was${i}_${j}.y], weights[was${i}_${j}.z], weights[was${i}_${j}.w]);
//% else
    var c${i}_${j} = vec4<f32>(0.0);
//% endif
//% endfor
//% endfor

    let share = problem.rows / problem.parts;
    let more = problem.rows % problem.parts;
    let begin = problem.first_row + part * share + min(part, more);
    let end = begin + share + select(0u, 1u, part < more);
    for (var line = begin; line < end; line++) {
        let p = line % ${size.p};
        let o = line / ${size.p} % ${size.o};
        let image = line / (${size.p} * ${size.o});
        let line_a = image * problem.k * ${size.points} + (o * ${size.p} + p) * ${size.q};
//% for j in range(columns)
        let h${j} = p * ${size.stride_h} + h0_${j};
        let d${j} = o * ${size.stride_d} + d0_${j};
        let inside${j} = (h${j} < vec4<u32>(${size.h})) & (d${j} < vec4<u32>(${size.d}));
        let line${j} = plane${j} + image * problem.c * ${size.volume} + (d${j} * ${size.h} + h${j}) * ${size.w};
//% endfor
        var q = 0u;
        for (; q + 4u <= ${size.q}; q += 4u) {
            ${block(4)}
        }
//% if rest > 0
        {
            ${block(rest)}
        }
//% endif
    }

//% for i in range(rows)
    if row0 + ${i}u < problem.m {
        let out = results + (row0 + ${i}u) * problem.n;
//% for j in range(columns)
//% for x in range(4)
        if column${j} + ${x}u < problem.n { weights[out + column${j} + ${x}u] = c${i}_${j}[${x}]; }
//% endfor
//% endfor
    }
//% endfor
}
