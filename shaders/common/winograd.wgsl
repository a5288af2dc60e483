//# One row of a transform applied to values named before0after, before1after, …: a sum of products whose zero terms are left out.
//% macro combine(row, before, after)
//% for j in range(row | length) if row[j] != "0.0"
    ${"" if loop.first else "+ "}${row[j]} * ${before}${j}${after}
//% endfor
//% endmacro

//# The image of a tile and its first output row and column. Rows of tiles go through the phases of the dilation first.
//% macro origin(tile, m_h, m_w)
let tile = ${tile};
    var image = tile / problem.tiles_image;
    var tile_row = tile % problem.tiles_image / problem.tiles_w;
    var tile_column = tile % problem.tiles_image % problem.tiles_w;
    var p0 = tile_row / problem.dilation_h * ${m_h}u * problem.dilation_h + tile_row % problem.dilation_h;
    var q0 = tile_column / problem.dilation_w * ${m_w}u * problem.dilation_w + tile_column % problem.dilation_w;
//% endmacro

//# The same for the tile after it, without divisions where there is no dilation.
//% macro next(m_h, m_w)
tile_column++;
    if tile_column == problem.tiles_w {
        tile_column = 0u;
        tile_row++;
        if tile_row * problem.tiles_w == problem.tiles_image {
            tile_row = 0u;
            image++;
        }
    }
    p0 = tile_row / problem.dilation_h * ${m_h}u * problem.dilation_h + tile_row % problem.dilation_h;
    q0 = tile_column / problem.dilation_w * ${m_w}u * problem.dilation_w + tile_column % problem.dilation_w;
//% endmacro
