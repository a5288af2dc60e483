use super::*;

#[test]
fn what_is_built_in_reads_and_every_class_has_a_tile_for_every_kernel() {
    for tuning in &TuningFile::builtin().device {
        for rule in &tuning.tiles {
            assert_eq!(rule.tile.fault(), None, "{}", rule.tile);
        }
    }
    for class in [DeviceClass::Discrete, DeviceClass::Integrated, DeviceClass::Virtual, DeviceClass::Software, DeviceClass::Other] {
        let tuning = TuningFile::builtin().select(class, "some adapter");
        assert!(tuning.lanes.is_some());
        for (kernel, shape) in TiledKernel::ALL.into_iter().flat_map(|kernel| ShapeClass::ALL.map(|shape| (kernel, shape))) {
            assert!(tuning.find(kernel, shape).is_some(), "{class:?} {kernel} {shape}");
        }
    }
}

#[test]
fn the_closest_entry_goes_first() {
    let text = r#"
        [[device]]
        lanes = 1
        tiles = [{ kernel = "gemm", tile = "4x4 lanes 8x8 depth 4 cache" }]
        [[device]]
        class = "discrete"
        lanes = 2
        [[device]]
        name = "radeon"
        tiles = [{ kernel = "gemm", shape = "large", tile = "8x8 lanes 8x8 depth 8 workgroup" }]
    "#;
    let file: TuningFile = toml::from_str(text).expect("reads");
    let tuning = file.select(DeviceClass::Discrete, "AMD Radeon RX");
    assert_eq!(tuning.lanes, Some(2));
    let tile = |shape| tuning.find(TiledKernel::Gemm, shape).map(|tile| tile.to_string());
    assert_eq!(tile(ShapeClass::Large).as_deref(), Some("8x8 lanes 8x8 depth 8 workgroup"));
    assert_eq!(tile(ShapeClass::Small).as_deref(), Some("4x4 lanes 8x8 depth 4 cache"));
    assert_eq!(file.select(DeviceClass::Software, "llvmpipe").lanes, Some(1));
}

#[test]
fn tiles_are_read_as_they_are_written_and_nothing_else() {
    let tile = Tile { rows: 16, columns: 2, lanes_n: 8, lanes_m: 1, depth: 4, sharing: Sharing::Subgroup };
    assert_eq!(tile.to_string(), "16x8 lanes 8x1 depth 4 subgroup");
    assert_eq!(tile.to_string().parse(), Ok(tile));
    let error = |text: &str| text.parse::<Tile>().expect_err(text).to_string();
    assert_eq!(
        error("16x8 lanes 8x1 depth 3 cache"),
        "'16x8 lanes 8x1 depth 3 cache' is not a tile such as '16x8 lanes 8x1 depth 4 cache': depth 3 is not 4, 8 or 16"
    );
    for (text, problem) in [
        ("", "rows x columns, 'lanes', along columns x along rows, 'depth', number, sharing"),
        ("16x6 lanes 8x1 depth 4 cache", "columns come in vectors of four"),
        ("axb lanes 8x1 depth 4 cache", "'a' is not a number"),
        ("16 lanes 8x1 depth 4 cache", "'16' is not two numbers joined by x"),
        ("0x8 lanes 8x1 depth 4 cache", "rows 0 is not within 1 to 64"),
        ("64x32 lanes 8x1 depth 4 cache", "a register tile of 64x32 has more than 512 accumulators"),
        ("16x8 lanes 8x2 depth 4 subgroup", "sharing in subgroups wants one lane along the rows, and rows and lanes by 8"),
        ("16x8 lanes 8x1 depth 4 telepathy", "'telepathy' is not cache, subgroup or workgroup"),
        ("16x8 lanes 8x1 depth 4 cache cache", "it has six words"),
    ] {
        assert!(error(text).ends_with(&format!(": {problem}")), "{}", error(text));
    }
}

#[test]
fn tiles_are_cut_down_to_the_device_and_the_shape() {
    let limits = Limits { max_workgroup_invocations: 128, max_workgroup_bytes: 4096, ..Limits::WEBGPU };
    let tile = |text: &str, m| text.parse::<Tile>().expect(text).fit(&limits, m).to_string();
    assert_eq!(tile("8x8 lanes 16x16 depth 8 workgroup", 100), "8x8 lanes 16x8 depth 8 cache");
    assert_eq!(tile("16x8 lanes 8x1 depth 4 subgroup", 100), "16x8 lanes 8x1 depth 4 cache");
    assert_eq!(tile("16x8 lanes 8x1 depth 4 cache", 3), "4x8 lanes 8x1 depth 4 cache");
}
