//# One row of a transform applied to values named before0after, before1after, …: a sum of products whose zero terms are left out.
//% macro combine(row, before, after)
//% for j in range(row | length) if row[j] != "0.0"
    ${"" if loop.first else "+ "}${row[j]} * ${before}${j}${after}
//% endfor
//% endmacro
