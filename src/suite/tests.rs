//! What a suite file may say, and what is answered to one that says something else.

use super::*;
use crate::conv::tests::any_conv;
use proptest::prelude::*;
use std::fs;

const CONV: &str = "n1c3h4w4_k2r1s1";

fn fault(text: &str) -> String {
    Suite::parse(text, "my.toml").expect_err(text).to_string()
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9.]{1,20}", r#"['"\\=+@,<>{}\[\]#é→ -]{1,20}"#, "\\PC{1,50}"]
        .prop_filter("no control characters", |name| !name.chars().any(char::is_control))
}

fn any_suite() -> impl Strategy<Value = Suite> {
    let layers = prop::collection::btree_map(any_name(), (any_conv(), 1_u64..100), 1..6);
    (any_name(), prop_oneof![Just(String::new()), any_name()], layers).prop_map(|(name, description, layers)| Suite {
        name,
        description,
        layers: layers.into_iter().map(|(name, (conv, count))| Layer { name, conv, count }).collect(),
    })
}

proptest! {
    #[test]
    fn files_round_trip(suite in any_suite()) {
        let text = suite.to_toml();
        prop_assert_eq!(Suite::parse(&text, "other.toml").expect("own text"), suite, "{}", text);
    }

    #[test]
    fn reader_never_panics_and_answers_in_one_line(text in r#"((name|conv|count|layer|\[\[layer\]\]|=|"|'|n1c1w1_k1s1|[0-9]|\n|\\|\{|\[|\PC){0,3} ?){0,12}"#) {
        if let Err(error) = Suite::parse(&text, "my.toml") {
            let message = error.to_string();
            prop_assert!(message.starts_with("my.toml:") && !message.chars().any(char::is_control), "{:?}", message);
        }
    }

    #[test]
    fn batch_replaces_every_batch(suite in any_suite(), batch in 0_u64..9) {
        let rebatched = suite.clone().with_batch(batch).expect("small");
        prop_assert_eq!(suite.layers.len(), rebatched.layers.len());
        for (old, new) in suite.layers.iter().zip(&rebatched.layers) {
            prop_assert_eq!((&old.name, old.count, batch), (&new.name, new.count, new.conv.batch()));
            prop_assert_eq!(new.conv.with_batch(old.conv.batch()).expect("as before"), old.conv);
        }
    }
}

#[test]
fn both_ways_to_write_layers_say_the_same() {
    let tables = "name = 'net'\ndescription = \"two\"\n[[layer]]\nname = 'a'\nconv = 'n1c3h4w4_k2r1s1'\ncount = 3\n\n[[layer]]\nconv = 'n2c1w8_k1s3'\n";
    let lines = "\u{feff}name = 'net'\r\ndescription = 'two'\r\nlayer = [\r\n  { name = 'a', conv = 'n1c3h4w4_k2r1s1', count = 3 },\r\n  { conv = 'n2c1w8_k1s3' },\r\n]\r\n";
    let suite = Suite::parse(tables, "my.toml").expect("tables");
    assert_eq!(Suite::parse(lines, "my.toml").expect("lines"), suite);
    let layers: Vec<_> = suite.layers.iter().map(|l| (l.name.as_str(), l.count)).collect();
    assert_eq!((suite.name.as_str(), suite.description.as_str(), layers), ("net", "two", vec![("a", 3), ("n2c1w8_k1s3", 1)]));
}

#[test]
fn a_suite_without_a_name_takes_the_files() {
    let suite = Suite::parse(&format!("layer = [{{ conv = '{CONV}' }}]"), "some/where/mine.v2.toml").expect("suite");
    assert_eq!((suite.name.as_str(), suite.description.as_str()), ("mine.v2", ""));
}

#[test]
fn hostile_names_are_taken_as_they_are() {
    for name in ["<script>alert(1)</script>", "=1+1", "@SUM(A1)", "-2", "a,b;c", "a b", "'; --", "\\\"", "日本語", "../../etc", "%s{}{0}"]
    {
        let suite = Suite {
            name: name.into(),
            description: name.into(),
            layers: vec![Layer { name: name.into(), conv: CONV.parse().expect("key"), count: 1 }],
        };
        assert_eq!(Suite::parse(&suite.to_toml(), "my.toml").expect(name), suite);
    }
}

#[test]
fn faults_name_file_line_column_and_value() {
    let long = "x".repeat(201);
    for (text, message) in [
        ("", "my.toml:1:1: the suite has no layers; one is written [[layer]] with name and conv"),
        ("name = 'a'\nlayer = []\n", "my.toml:1:1: the suite has no layers; one is written [[layer]] with name and conv"),
        (
            "[[layer]]\nname = 'é'\nconv = 'n1c3h4w4_k2'",
            "my.toml:3:8: 'n1c3h4w4_k2', character 12: expected 'r': the kernel's extents come as t, r, s, one for each axis of the input",
        ),
        (
            "layer = [\n  { name = 'é', conv = \"n1c1h2w2_k1r3s3\" },\n]",
            "my.toml:2:24: 'n1c1h2w2_k1r3s3': kernel r spans 3 elements but h has only 2 with its padding",
        ),
        ("[[layer]]\nconv = ''", "my.toml:2:8: conv is empty"),
        ("[[layer]]\nconv = \"n1\\n\\u001b[2J\"", "my.toml:2:8: conv 'n1\\n\\u{1b}[2J' has a control character"),
        ("[[layer]]\nconv = 'n1c3h4w4_k2r1s1'\nname = \"\\t\"", "my.toml:3:8: name '\\t' has a control character"),
        ("[[layer]]\nconv = 'n1c3h4w4_k2r1s1'\nname = ''", "my.toml:3:8: name is empty"),
        ("[[layer]]\nconv = 'n1c3h4w4_k2r1s1'\ncount = 0", "my.toml:3:9: count of layer 'n1c3h4w4_k2r1s1' is 0, must be at least 1"),
        ("description = '''\na\nb'''", "my.toml:1:15: description 'a\\nb' has a control character"),
        (
            "[[layer]]\nconv = 'n1c3h4w4_k2r1s1'\n[[layer]]\nconv = 'n1c3h4w4_k2r1s1'",
            "my.toml:4:8: a second layer 'n1c3h4w4_k2r1s1', the first is on line 2",
        ),
        (
            "layer = [\n{ name = 'a', conv = 'n1c3h4w4_k2r1s1' },\n{ name = 'a', conv = 'n2c3h4w4_k2r1s1' }]",
            "my.toml:3:10: a second layer 'a', the first is on line 2",
        ),
        (&format!("name = '{long}'"), "my.toml:1:8: name has 201 characters, more than 200"),
        (&format!("[[layer]]\nconv = 'n{long}{long}'"), "my.toml:2:8: conv has 403 characters, more than 400"),
    ] {
        assert_eq!(fault(text), message);
    }
}

#[test]
fn toml_faults_are_one_line_with_their_place() {
    for (text, starts) in [
        ("name = ", "my.toml:1:8: "),
        ("name = 'a'\nname = 'b'", "my.toml:2:1: duplicate key"),
        ("layers = 3", "my.toml:1:1: unknown field `layers`, expected one of `name`, `description`, `layer`"),
        ("[[layer]]\nconv = 'n1'\nrepeat = 2", "my.toml:3:1: unknown field `repeat`, expected one of `name`, `conv`, `count`"),
        ("[[layer]]\nname = 'a'", "my.toml:1:1: missing field `conv`"),
        ("[[layer]]\nconv = 3", "my.toml:2:8: invalid type: integer `3`, expected a string"),
        ("[[layer]]\nconv = 'n1c3h4w4_k2r1s1'\ncount = -1", "my.toml:3:9: invalid value: integer `-1`"),
        ("[[layer]]\nconv = 'n1c3h4w4_k2r1s1'\ncount = 1.5", "my.toml:3:9: invalid type: floating point `1.5`"),
        ("layer = 'a'", "my.toml:1:9: invalid type: string \"a\", expected a sequence"),
        ("\"a\\u001b\" = 1", "my.toml:1:1: unknown field `a\\u{1b}`"),
        ("name = 'a\nb'", "my.toml:"),
    ] {
        let message = fault(text);
        assert!(message.starts_with(starts) && !message.contains('\n'), "{text}\n{message}");
    }
}

#[test]
fn files_that_are_no_suites_name_themselves() {
    let dir = tempfile::tempdir().expect("directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let write = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).expect(name);
    let load = |name: &str| Suite::load(&path(name)).map_err(|e| e.to_string());

    write("good.toml", format!("layer = [{{ conv = '{CONV}' }}]").as_bytes());
    assert_eq!(load("good.toml").expect("suite").name, "good");
    write("bytes.toml", b"# \xc3\xa9\nname = '\xc3\xa9\xff'");
    assert_eq!(load("bytes.toml"), Err(format!("{}:2:10: byte 0xff is not UTF-8 text", path("bytes.toml"))));
    let large = fs::File::create(dir.path().join("large.toml")).expect("large.toml");
    large.set_len(file::MAX_BYTES + 1).expect("large.toml");
    assert_eq!(load("large.toml"), Err(format!("{}: larger than 1048576 bytes, too large for a suite file", path("large.toml"))));
    fs::create_dir(dir.path().join("folder.toml")).expect("folder");
    assert_eq!(load("folder.toml"), Err(format!("{}: is a directory, not a suite file", path("folder.toml"))));
    let missing = load("missing").expect_err("missing");
    assert!(missing.starts_with(&format!("{}: cannot read the suite: ", path("missing"))), "{missing}");
    let missing = Suite::load("missing.toml").expect_err("missing").to_string();
    assert!(missing.starts_with("missing.toml: cannot read the suite: "), "{missing}");
}

#[test]
fn unknown_names_get_the_list_and_a_suggestion() {
    let known = Suite::names().collect::<Vec<_>>().join(", ");
    for (name, suggestion) in [("resnet", "resnet18"), ("ResNet50", "resnet50"), ("mobilenetv2", "mobilenet_v2"), ("vgg19", "vgg16")] {
        let message = Suite::load(name).expect_err(name).to_string();
        assert_eq!(message, format!("no built-in suite and no file '{name}' (did you mean '{suggestion}'?); built in: {known}"));
    }
    for name in ["", "zzz", "no\nsuch"] {
        let message = Suite::load(name).expect_err(name).to_string();
        assert_eq!(message, format!("no built-in suite and no file '{}'; built in: {known}", name.replace('\n', "\\n")));
    }
}

#[test]
fn convolutions_given_twice_are_one_layer() {
    let keys = ["n1c3h4w4_k2r1s1", "n1c1w8_k1s3", "n1c3h4w4_k2r1s1"];
    let suite = Suite::from_convs(keys.iter().map(|key| key.parse().expect("key")).collect());
    assert_eq!(suite.name, "command_line");
    let layers: Vec<_> = suite.layers.iter().map(|l| (l.name.as_str(), l.conv.to_string(), l.count)).collect();
    assert_eq!(layers, [(keys[0], keys[0].to_owned(), 2), (keys[1], keys[1].to_owned(), 1)]);
}

#[test]
fn impossible_batches_name_the_layer() {
    let suite = Suite::from_convs(vec![CONV.parse().expect("key")]);
    let message = suite.with_batch(1 << 32).expect_err("too large").to_string();
    assert_eq!(message, "layer 'n1c3h4w4_k2r1s1' with batch 4294967296: N is 4294967296, past the largest extent 4294967295");
}
