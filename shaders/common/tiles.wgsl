// Which tile of which matrix a workgroup computes, and with `split` which part of the sum over k.
struct TileAt {
    m: u32,
    n: u32,
    matrix: u32,
//% if split
    part: u32,
//% endif
}

// Bands of eight rows of tiles, each walked column by column: what runs at the same time shares rows of A and columns of B.
fn tile_of(index: u32) -> TileAt {
//% if split
    let part = index / (problem.tiles_n * problem.tiles_m * problem.batch);
    let matrix = index / (problem.tiles_n * problem.tiles_m) % problem.batch;
//% else
    let matrix = index / (problem.tiles_n * problem.tiles_m);
//% endif
    let tile = index % (problem.tiles_n * problem.tiles_m);
    let band = tile / (8u * problem.tiles_n);
    let height = min(problem.tiles_m - 8u * band, 8u);
    let within = tile - band * 8u * problem.tiles_n;
    return TileAt(8u * band + within % height, within / height, matrix${", part" if split else ""});
}

//% if split
// Where a part of the sum begins, in k; the parts are equally many blocks of k, to within one.
fn part_start(part: u32) -> u32 {
    return part * problem.blocks_k / problem.parts * ${block_k}u;
}
//% endif
