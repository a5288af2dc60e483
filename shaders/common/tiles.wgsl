// Which tile of which matrix a workgroup computes.
struct TileAt {
    m: u32,
    n: u32,
    matrix: u32,
}

// Bands of eight rows of tiles, each walked column by column: what runs at the same time shares rows of A and columns of B.
fn tile_of(index: u32) -> TileAt {
    let matrix = index / (problem.tiles_n * problem.tiles_m);
    let tile = index % (problem.tiles_n * problem.tiles_m);
    let band = tile / (8u * problem.tiles_n);
    let height = min(problem.tiles_m - 8u * band, 8u);
    let within = tile - band * 8u * problem.tiles_n;
    return TileAt(8u * band + within % height, within / height, matrix);
}
