//! What a drawing holds, read back from its SVG.

use super::draw::{Drawing, draw};
use super::*;
use resvg::usvg::roxmltree::Document;

fn axis(unit: Unit, scale: Scale) -> Axis {
    Axis { label: "quantity".into(), unit, scale }
}

/// Time against workspace of some cases, zero among them.
fn scatter(cases: &[(f64, f64, &str)]) -> Chart {
    let marks = cases.iter().map(|&(x, y, name)| Mark::new(x, y, format!("{name}\n{x} B")).labelled(name)).collect();
    Chart {
        title: "Time against workspace".into(),
        x: axis(Unit::Bytes, Scale::Log),
        y: axis(Unit::Time, Scale::Log),
        series: vec![Series { name: "im2col".into(), style: Style::of_algorithm("im2col").0, kind: Kind::Points, marks }],
    }
}

fn bars(names: &[&str], parts: &[(&str, &[f64])]) -> Chart {
    let series = parts.iter().enumerate().map(|(i, (name, values))| Series {
        name: (*name).into(),
        style: Style::nth(i),
        kind: Kind::Bars,
        marks: values.iter().enumerate().map(|(row, v)| Mark::new(*v, row as f64, format!("{v} B"))).collect(),
    });
    Chart {
        title: "Ledgers".into(),
        x: axis(Unit::Bytes, Scale::Linear),
        y: axis(Unit::Number(""), Scale::Categories(names.iter().map(|&n| n.into()).collect())),
        series: series.collect(),
    }
}

fn drawn(chart: &Chart) -> Drawing {
    draw(chart).expect("drawn")
}

fn middle(drawing: &Drawing, hit: usize) -> (f64, f64) {
    let place = drawing.hits[hit].place;
    (f64::midpoint(place.left, place.right), f64::midpoint(place.top, place.bottom))
}

#[test]
fn marks_lie_in_the_order_of_their_values_and_zero_before_all_others() {
    let drawing = drawn(&scatter(&[(0.0, 4e6, "free"), (1024.0, 2e6, "strip"), (1_048_576.0, 1e6, "batch")]));
    let at: Vec<(f64, f64)> = (0..3).map(|i| middle(&drawing, i)).collect();
    assert!(at[0].0 < at[1].0 && at[1].0 < at[2].0, "more bytes are further right: {at:?}");
    assert!(at[0].1 < at[1].1 && at[1].1 < at[2].1, "less time is further down: {at:?}");
    assert!(((at[1].1 - at[0].1) - (at[2].1 - at[1].1)).abs() <= 2.0, "halving moves by the same, wherever: {at:?}");
    // The markers of the drawing are where the hits are.
    let text = format!("x=\"{:.0}\"", drawing.hits[0].place.left);
    assert!(scatter_html(&[(0.0, 4e6, "free"), (1024.0, 2e6, "strip"), (1_048_576.0, 1e6, "batch")]).contains(&text));
}

fn scatter_html(cases: &[(f64, f64, &str)]) -> String {
    scatter(cases).to_html().expect("drawn")
}

#[test]
fn stacked_bars_stand_end_to_end_in_proportion() {
    let drawing = drawn(&bars(&["a", "b"], &[("parameter", &[100.0, 50.0]), ("activation", &[300.0, 0.0])]));
    let (bars, hits) = (&drawing.bars, &drawing.hits);
    assert!((bars[0].right - bars[2].left).abs() < 1e-6, "the second begins where the first ends");
    let wide = |i: usize| bars[i].right - bars[i].left;
    assert!((wide(2) / wide(0) - 3.0).abs() < 1e-6 && (wide(0) / wide(1) - 2.0).abs() < 1e-6);
    assert!(bars[0].bottom < bars[1].top, "categories go down and do not overlap");
    assert_eq!(hits.iter().map(|hit| hit.text.as_str()).collect::<Vec<_>>(), ["100 B\n300 B", "50 B\n0 B"], "one place a category");
    assert!((hits[0].place.right - bars[2].right).abs() < 1e-6);
    let nothing = drawn(&bars_of_nothing()).hits[0].place;
    assert!(nothing.right > nothing.left, "a bar of nothing can be hovered");
}

fn bars_of_nothing() -> Chart {
    bars(&["a", "b"], &[("x", &[0.0, 1.0])])
}

#[test]
fn documents_are_well_formed_whatever_the_names() {
    let hostile = [
        "<script>alert(1)</script>",
        "\"quoted\" & 'more'",
        "=cmd|' /C calc'!A0",
        "\u{202e}abc\u{0}\u{7}",
        "]]>",
        "{{ 7*7 }}",
        "#0072B2\"#0072B2\"",
    ];
    let long = "x".repeat(10_000);
    for name in hostile.iter().copied().chain([long.as_str(), ""]) {
        let mut chart = scatter(&[(0.0, 4e6, name), (10.0, 2e6, name)]);
        chart.title = name.into();
        chart.x.label = name.into();
        chart.series[0].name = name.into();
        let mut rows = bars(&[name, name], &[(name, &[1.0, 2.0])]);
        rows.title = name.into();
        for chart in [chart, rows] {
            for text in [chart.to_svg().expect("drawn"), chart.to_html().expect("drawn")] {
                let document = Document::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
                assert!(document.descendants().all(|node| node.tag_name().name() != "script"));
                assert!(!text.contains('\u{202e}'));
            }
            assert!(chart.to_png().expect("a picture").starts_with(b"\x89PNG"));
        }
    }
}

#[test]
fn values_that_cannot_be_drawn_are_left_out() {
    let odd = [(f64::NAN, 1.0, "nan"), (f64::INFINITY, 1.0, "infinite"), (-1.0, 1.0, "negative"), (1.0, 2.0, "good")];
    let drawing = drawn(&scatter(&odd));
    assert_eq!(drawing.hits.iter().map(|hit| hit.text.as_str()).collect::<Vec<_>>(), ["good\n1 B"]);
    assert_eq!(drawn(&scatter(&[])).hits, []);
    drawn(&bars(&[], &[]));
    let mut astray = bars(&["a"], &[("x", &[1.0, 2.0])]);
    astray.series[0].marks[1].y = 0.5;
    assert_eq!(drawn(&astray).hits.len(), 1, "no category, no bar");
}

#[test]
fn labels_overlap_neither_each_other_nor_marks() {
    let cases: Vec<(f64, f64, &str)> =
        (0..30).map(|i| (f64::from(i % 6) * 1000.0, 1e6 + f64::from(i) * 3e4, "winograd_f4:tiles=64")).collect();
    let drawing = drawn(&scatter(&cases));
    assert!(!drawing.labels.is_empty() && drawing.labels.len() < 30, "{} labels", drawing.labels.len());
    for (i, label) in drawing.labels.iter().enumerate() {
        assert!(!drawing.labels[..i].iter().any(|other| other.overlaps(label)));
        let marker = |hit: &super::draw::Hit| {
            let place = hit.place;
            label::Box::around((f64::midpoint(place.left, place.right), f64::midpoint(place.top, place.bottom)), 4.0)
        };
        assert!(!drawing.hits.iter().any(|hit| marker(hit).overlaps(label)));
    }
}

#[test]
fn a_page_gets_variables_hits_and_one_stop_for_the_keyboard() {
    let chart = scatter(&[(0.0, 4e6, "free"), (1024.0, 2e6, "strip")]);
    let (page, paper) = (chart.to_html().expect("drawn"), chart.to_svg().expect("drawn"));
    assert!(paper.contains("#D55E00") && paper.contains("fill=\"#FFFFFF\"") && !paper.contains("var("));
    assert!(page.contains("\"var(--chart-vermilion)\"") && !page.contains("\"#"), "{page}");
    let document = Document::parse(&page).expect("well formed");
    let hits: Vec<_> = document.descendants().filter(|node| node.attribute("class") == Some("hit")).collect();
    assert_eq!(hits.iter().map(|hit| hit.attribute("tabindex").expect("focusable")).collect::<Vec<_>>(), ["0", "-1"]);
    assert_eq!(hits[1].text(), None);
    assert_eq!(hits[1].first_element_child().and_then(|title| title.text()), Some("strip\n1024 B"));
    for (variable, _) in style_sheet(false).split(';').filter_map(|declaration| declaration.split_once(':')) {
        assert!(style_sheet(true).contains(variable));
    }
}

#[test]
fn the_built_in_font_draws_what_charts_say() {
    let white = |png: &[u8]| {
        let pixels = resvg::tiny_skia::Pixmap::decode_png(png).expect("a picture");
        pixels.pixels().iter().filter(|p| (p.red(), p.green(), p.blue()) == (255, 255, 255)).count()
    };
    let empty = Chart { title: String::new(), ..scatter(&[]) };
    let titled = Chart { title: "π, β and 9× of 3 µs…".into(), ..scatter(&[]) };
    assert!(white(&empty.to_png().expect("drawn")) > white(&titled.to_png().expect("drawn")) + 200);
}
