//! How wide texts are, what of them fits, and where the parts of a chart lie.

use super::scale::{Map, tick_text};
use super::{Axis, Chart, Kind, Scale, Unit, WIDTH};

/// Size of the title's text.
pub(super) const TITLE: f64 = 14.0;
/// Size of all other text.
pub(super) const TEXT: f64 = 12.0;
/// Height of a line.
pub(super) const LINE: f64 = 17.0;
/// Height of a plot whose y axis has no categories.
const PLOT: f64 = 260.0;
/// Height of a category.
const ROW: f64 = 24.0;
/// The most of the width that names of categories take.
const NAMES: f64 = 0.42;
/// Room at the right.
pub(super) const RIGHT: f64 = 18.0;
/// Width of the narrowest characters, in em.
const LEAST: f64 = 0.4;
/// Width of a legend entry beside its text.
pub(super) const ENTRY: f64 = 26.0;

/// The parts of a chart, in pixels.
pub(super) struct Layout {
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Map,
    pub(super) y: Map,
    /// Names of the categories as they are drawn.
    pub(super) categories: Vec<String>,
    /// Series of the legend with left edge and line.
    pub(super) legend: Vec<(usize, f64, usize)>,
}

/// The width of a text, estimated: the font is the reader's.
pub(super) fn width(text: &str, size: f64) -> f64 {
    // As wide as in DejaVu Sans, which is wider than most.
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | 'f' | 't' | 'r' | '(' | ')' => LEAST,
        'm' | 'w' | 'M' | 'W' => 0.95,
        'A'..='Z' | '=' | '+' | '<' | '>' | '%' | '&' | '@' | '#' => 0.8,
        _ if c.is_ascii() => 0.63,
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// A text on one line without what could change how the rest is read: control characters and marks of direction.
pub(super) fn clean(text: &str) -> String {
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
    };
    text.chars().map(|c| if invisible(c) { ' ' } else { c }).collect()
}

/// As much of a text as fits, the rest an ellipsis in its middle: names of layers often differ at their end.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    // A text of any length is looked at only as far as it can fit.
    let most = (0_u16..10_000).take_while(|n| f64::from(*n) * LEAST * size <= room).count();
    let characters: Vec<char> = text.chars().collect();
    let whole = characters.len() <= most;
    let clean_text = clean(text);
    if whole && width(&clean_text, size) <= room {
        return clean_text;
    }
    let part = |keep: usize| -> String {
        let (head, tail) = (keep.div_ceil(2), keep / 2);
        let text: String = characters[..head].iter().chain(&['…']).chain(&characters[characters.len() - tail..]).collect();
        clean(&text)
    };
    (0..most.min(characters.len())).rev().map(part).find(|text| width(text, size) <= room).unwrap_or_else(|| "…".into())
}

impl Layout {
    pub(super) fn of(chart: &Chart) -> Self {
        let marks = || chart.series.iter().flat_map(|s| chart.drawable(s).map(move |m| (s.kind, m)));
        let full = f64::from(WIDTH);
        let ys: Vec<f64> = marks().map(|(_, m)| m.y).collect();
        let y = Map::new(&chart.y, &ys, 7, 0.0);
        let categories: Vec<String> = match &chart.y.scale {
            Scale::Categories(names) => names.iter().map(|name| fitted(name, TEXT, NAMES * full)).collect(),
            _ => Vec::new(),
        };
        let numbers = || y.ticks().iter().map(|tick| tick_text(*tick, chart.y.unit));
        let names = if categories.is_empty() { numbers().collect() } else { categories.clone() };
        let left = names.iter().map(|name| width(name, TEXT)).fold(20.0, f64::max) + 14.0;

        let room = full - left - RIGHT;
        let mut xs: Vec<f64> = marks().filter(|(kind, _)| *kind != Kind::Bars).map(|(_, m)| m.x).collect();
        // Labels stand at the ends of bars.
        let labels = marks().filter(|(kind, m)| *kind == Kind::Bars && !m.label.is_empty()).map(|(_, m)| width(&m.label, TEXT));
        let widest = labels.fold(0.0, f64::max).min(room / 3.0);
        if chart.series.iter().any(|s| s.kind == Kind::Bars) {
            xs.extend(stacked(chart));
        }
        let headroom = if widest > 0.0 { (widest + 14.0) / (room - widest - 14.0) } else { 0.03 };
        let x = fewer_ticks(&chart.x, &xs, headroom, room);

        let rows = if categories.is_empty() { PLOT } else { ROW * categories.len() as f64 };
        let axis_line = if categories.is_empty() { LINE } else { 4.0 };
        let top = LINE + 10.0 + axis_line;
        let bottom = top + rows;
        let legend = legend(chart, full);
        let lines = legend.last().map_or(0, |(_, _, line)| line + 1);
        let height = bottom + 2.0 * LINE + 10.0 + lines as f64 * LINE + 6.0;
        Self { height, left, top, bottom, x, y, categories, legend }
    }
}

/// The axis with as many ticks as have room for their texts.
fn fewer_ticks(axis: &Axis, values: &[f64], headroom: f64, room: f64) -> Map {
    let apart = |map: &Map, pair: &[f64]| {
        let half = |tick: f64| width(&tick_text(tick, axis.unit), TEXT) / 2.0;
        (map.position(pair[1]) - map.position(pair[0])) * room >= half(pair[0]) + half(pair[1]) + 6.0
    };
    let mut map = Map::new(axis, values, 1, headroom);
    for ticks in (1..=9).rev() {
        map = Map::new(axis, values, ticks, headroom);
        // Zero keeps its place; the first tick after it may have none.
        if map.ticks().len() > 2 && map.zero_band().is_some() && !apart(&map, &map.ticks()[..2]) {
            map.drop_tick(1);
        }
        if map.ticks().windows(2).all(|pair| apart(&map, pair)) {
            break;
        }
    }
    map
}

/// The end of the last bar of each category.
pub(super) fn stacked(chart: &Chart) -> Vec<f64> {
    let Scale::Categories(names) = &chart.y.scale else { return Vec::new() };
    let mut ends = vec![0.0; names.len()];
    for mark in chart.series.iter().filter(|s| s.kind == Kind::Bars).flat_map(|s| chart.drawable(s)) {
        if let Some(end) = row(mark.y).and_then(|row| ends.get_mut(row)) {
            *end += mark.x;
        }
    }
    ends
}

/// The category of a mark.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and not negative")]
pub(super) fn row(y: f64) -> Option<usize> {
    (y.fract() == 0.0 && (0.0..1e9).contains(&y)).then_some(y as usize)
}

/// Entries side by side, on as many lines as they need. A name that two series share has one entry.
fn legend(chart: &Chart, full: f64) -> Vec<(usize, f64, usize)> {
    let (mut x, mut line) = (8.0, 0);
    let mut entries = Vec::new();
    for (i, series) in chart.series.iter().enumerate() {
        if series.name.is_empty() || chart.series[..i].iter().any(|earlier| earlier.name == series.name) {
            continue;
        }
        let wide = ENTRY + width(&fitted(&series.name, TEXT, full - ENTRY - 16.0), TEXT);
        if x > 8.0 && x + wide > full {
            (x, line) = (8.0, line + 1);
        }
        entries.push((i, x, line));
        x += wide + 8.0;
    }
    entries
}

/// What stands beside an axis: quantity, unit where the ticks do not have it, and that it is logarithmic.
pub(super) fn axis_title(axis: &Axis) -> String {
    let unit = match axis.unit {
        Unit::Number(unit) if !unit.is_empty() => format!(", {unit}"),
        _ => String::new(),
    };
    let scale = if axis.scale == Scale::Log { " (log scale)" } else { "" };
    format!("{}{unit}{scale}", axis.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_hostile_texts_are_cut_in_the_middle_and_cleaned() {
        assert_eq!(fitted("short", TEXT, 100.0), "short");
        let long = format!("layer{}end", "x".repeat(10_000));
        let cut = fitted(&long, TEXT, 100.0);
        assert!(cut.starts_with("layer") && cut.ends_with("end") && cut.contains('…') && width(&cut, TEXT) <= 100.0, "{cut}");
        assert_eq!(fitted("a\u{202e}b\nc", TEXT, 100.0), "a b c");
        assert_eq!(fitted("漢字漢字漢字", TEXT, 30.0), "漢…");
        assert_eq!(fitted("anything", TEXT, 1.0), "…");
    }
}
