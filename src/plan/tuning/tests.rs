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
        ("axb lanes 8x1 depth 4 cache", "'a' is not a whole number up to 4294967295"),
        ("16 lanes 8x1 depth 4 cache", "'16' is not two numbers joined by x"),
        ("0x8 lanes 8x1 depth 4 cache", "rows 0 is not within 1 to 64"),
        ("64x32 lanes 8x1 depth 4 cache", "a register tile of 64x32 has more than 512 accumulators"),
        ("16x8 lanes 8x2 depth 4 subgroup", "sharing in subgroups wants one lane along the rows, and rows and lanes by 8"),
        ("4294967296x8 lanes 8x1 depth 4 cache", "'4294967296' is not a whole number up to 4294967295"),
        ("8x64 lanes 8x1 depth 4 cache", "columns 64 is not within 4 to 32"),
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
    assert_eq!(tile("8x8 lanes 16x16 depth 8 workgroup", 100), "8x8 lanes 16x8 depth 4 cache");
    assert_eq!(tile("16x8 lanes 8x1 depth 4 subgroup", 100), "16x8 lanes 8x1 depth 4 cache");
    assert_eq!(tile("16x8 lanes 8x1 depth 4 cache", 3), "4x8 lanes 8x1 depth 4 cache");
}

#[test]
fn an_entry_may_name_the_driver_too() {
    let text = r#"
        [[device]]
        name = "Radeon"
        lanes = 1
        [[device]]
        name = "radeon rx 580"
        lanes = 2
        [[device]]
        name = "Radeon"
        driver = "Mesa 25"
        lanes = 3
        [[device]]
        driver = "radv"
        specialise = false
        [[device]]
        class = "discrete"
        specialise = true
    "#;
    let file = TuningFile::parse(text, "f").expect("reads");
    let lanes = |name, driver| file.select_for(DeviceClass::Discrete, name, driver).lanes;
    assert_eq!(lanes("Radeon RX 580", "radv Mesa 25.1"), Some(2), "the whole name before a part of it and the driver");
    assert_eq!(lanes("Radeon RX 590", "radv Mesa 25.1"), Some(3));
    assert_eq!(lanes("Radeon RX 590", "amdvlk 2025.Q1"), Some(1));
    assert_eq!(lanes("GeForce", "radv Mesa 25.1"), None);
    let specialise = |driver| file.select_for(DeviceClass::Discrete, "GeForce", driver).specialise;
    assert_eq!((specialise("RADV"), specialise("NVIDIA 550")), (Some(false), Some(true)), "the driver before the class");
    assert_eq!(
        file.select_for(DeviceClass::Other, "GeForce", "NVIDIA 550"),
        Tuning { class: Some(DeviceClass::Other), name: Some("GeForce".into()), ..Tuning::NONE }
    );
}

#[test]
fn a_file_goes_before_what_is_built_in_and_falls_back_on_it() {
    let text = r#"
        [[device]]
        class = "software"
        tiles = [{ kernel = "gemm", shape = "large", tile = "4x4 lanes 4x1 depth 4 cache" }]
    "#;
    let select = |file: &TuningFile| file.select_for(DeviceClass::Software, "llvmpipe", "llvmpipe Mesa 22");
    let builtin = select(TuningFile::builtin());
    let tuning = select(&TuningFile::parse(text, "f").expect("reads")).before(&builtin);
    let limits = Limits { class: DeviceClass::Software, tuning, ..Limits::UNLIMITED };
    let before = Limits { tuning: builtin, ..limits.clone() };
    assert_eq!(limits.tile_of(TiledKernel::Gemm, ShapeClass::Large).to_string(), "4x4 lanes 4x1 depth 4 cache");
    assert_ne!(limits.tile_of(TiledKernel::Gemm, ShapeClass::Large), before.tile_of(TiledKernel::Gemm, ShapeClass::Large));
    for shape in [ShapeClass::Small, ShapeClass::Medium, ShapeClass::FewRows] {
        assert_eq!(limits.tile_of(TiledKernel::Gemm, shape), before.tile_of(TiledKernel::Gemm, shape));
    }
    assert_eq!(limits.lanes(), before.lanes());
}

#[test]
fn files_that_say_something_else_are_refused_by_line_column_and_value() {
    let told = |text: &str| TuningFile::parse(text, "my.toml").expect_err(text).to_string();
    let tiles = |rules: &str| told(&format!("[[device]]\nname = \"x\"\ntiles = [\n  {rules},\n]\n"));
    let faults = [
        told(""),
        told("device = []"),
        told("[[device]]\nname = "),
        told("[[device]]\nclass = \"toaster\""),
        told("[[device]]\nname = \"\""),
        told("[[device]]\nname = \"a\\u0007b\""),
        told("[[device]]\nlanes = 0"),
        told("[[device]]\nlanes = -8"),
        told("[[device]]\nlanes = \"8\""),
        told("[[device]]\ncolour = \"red\""),
        told("[[gadget]]\nname = \"x\""),
        tiles(r#"{ kernel = "gemm", tile = "16x8 lanes 8x1 depth 5 cache" }"#),
        tiles(r#"{ kernel = "depthwise", tile = "8x8 lanes 4x4 depth 16 workgroup" }"#),
        tiles(r#"{ kernel = "direct_tiled", tile = "8x8 lanes 4x4 depth 16 workgroup" }"#),
        told("[[device]]\nname = \"Arc\"\nclass = \"discrete\"\n[[device]]\nclass = \"discrete\"\nname = \"ARC\""),
        tiles(r#"{ kernel = "gemm", tile = 16 }"#),
        tiles(r#"{ kernel = "gemm", shape = "huge", tile = "16x8 lanes 8x1 depth 4 cache" }"#),
        tiles(r#"{ kernel = "gemm" }"#),
        tiles(
            "{ kernel = \"gemm\", tile = \"16x8 lanes 8x1 depth 4 cache\" },\n  { kernel = \"gemm\", shape = \"large\", tile = \"8x8 lanes 8x1 depth 4 cache\" }",
        ),
    ];
    insta::assert_snapshot!(faults.join("\n"), @r#"
    my.toml:1:1: it has no entry; one is written [[device]] with name and tiles
    my.toml:1:1: it has no entry; one is written [[device]] with name and tiles
    my.toml:2:8: string values must be quoted, expected literal string
    my.toml:2:9: unknown variant `toaster`, expected one of `discrete`, `integrated`, `virtual`, `software`, `other`
    my.toml:2:8: name '' is empty: leave it out to mean every one
    my.toml:2:8: name 'a\u{7}b' has a control character
    my.toml:2:9: lanes 0 is not within 1 to 1024
    my.toml:2:9: lanes -8 is not within 1 to 1024
    my.toml:2:9: invalid type: string "8", expected i64
    my.toml:2:1: unknown field `colour`, expected one of `class`, `name`, `driver`, `lanes`, `specialise`, `vector_loads`, `tiles`
    my.toml:1:3: unknown field `gadget`, expected `device`
    my.toml:4:29: '16x8 lanes 8x1 depth 5 cache' is not a tile such as '16x8 lanes 8x1 depth 4 cache': depth 5 is not 4, 8 or 16
    my.toml:4:34: kernel 'depthwise' shares by cache, not by 'workgroup'
    my.toml:4:37: kernel 'direct_tiled' shares by cache or subgroup, not by 'workgroup'
    my.toml:4:1: a second entry for the devices of the one on line 1
    my.toml:4:29: invalid type: integer `16`, expected a string
    my.toml:4:30: unknown variant `huge`, expected one of `few_rows`, `small`, `medium`, `large`
    my.toml:4:3: missing field `tile`
    my.toml:5:14: tile of kernel 'gemm' for shape 'large' is never taken: the one on line 4 goes before it
    "#);
    let unknown = tiles(r#"{ kernel = "gemn", tile = "16x8 lanes 8x1 depth 4 cache" }"#);
    assert!(unknown.starts_with("my.toml:4:14: unknown variant `gemn`, expected "), "{unknown}");
}

#[test]
fn what_is_no_text_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |name: &str, bytes: Option<&[u8]>| {
        let path = folder.path().join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).expect("written");
        }
        let error = TuningFile::read(&path).expect_err(name).to_string();
        error.replace(&folder.path().display().to_string(), "DIR")
    };
    assert!(told("none.toml", None).starts_with("DIR/none.toml: cannot read the tuning file: "));
    assert_eq!(told("", None), "DIR/: is a directory, not a tuning file");
    assert_eq!(told("bytes.toml", Some(b"# \xff")), "DIR/bytes.toml:1:3: byte 0xff is not UTF-8 text");
    assert_eq!(
        told("large.toml", Some(&vec![b'#'; (1 << 20) + 1])),
        "DIR/large.toml: larger than 1048576 bytes, too large for a tuning file"
    );
}
