//! Plots made of characters.

use std::fmt::Write;

/// A point of a scatter plot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    /// Not negative; 0 has a column of its own.
    pub(super) x: f64,
    /// Positive.
    pub(super) y: f64,
    /// What stands there.
    pub(super) letter: char,
    /// Drawn over others.
    pub(super) front: bool,
}

/// Rows of a scatter plot.
const HEIGHT: usize = 12;
/// Columns for the numbers of the y axis.
const GUTTER: usize = 9;

/// A scatter plot with logarithmic axes. The first column is that of x = 0, which no logarithm has; where several points fall into one place
/// the front's stands, or `+`. `x_text` and `y_text` write the numbers at the ends of the axes.
pub(super) fn scatter(points: &[Point], width: usize, x_text: impl Fn(f64) -> String, y_text: impl Fn(f64) -> String) -> String {
    let columns = width.saturating_sub(GUTTER + 4).max(10);
    let range = |values: &mut dyn Iterator<Item = f64>| values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let (x_low, x_high) = range(&mut points.iter().map(|p| p.x).filter(|&x| x > 0.0));
    let (y_low, y_high) = range(&mut points.iter().map(|p| p.y));
    let mut grid = vec![vec![' '; columns]; HEIGHT];
    let mut zero = [' '; HEIGHT];
    let mut ordered: Vec<&Point> = points.iter().collect();
    ordered.sort_by_key(|point| point.front);
    for point in ordered {
        let row = HEIGHT - 1 - place(point.y, y_low, y_high, HEIGHT);
        let cell = if point.x > 0.0 { &mut grid[row][place(point.x, x_low, x_high, columns)] } else { &mut zero[row] };
        *cell = if *cell == ' ' || point.front || *cell == point.letter { point.letter } else { '+' };
    }
    let mut text = String::new();
    for row in 0..HEIGHT {
        let label = match row {
            0 => y_text(y_high),
            row if row == HEIGHT - 1 => y_text(y_low),
            _ => String::new(),
        };
        let line: String = grid[row].iter().collect();
        text += format!("{label:>GUTTER$} │{}┊{line}", zero[row]).trim_end();
        text.push('\n');
    }
    let _ = writeln!(text, "{:>GUTTER$} └─┴{}", "", "─".repeat(columns));
    let (low, high) = if x_high > 0.0 { (x_text(x_low), x_text(x_high)) } else { (String::new(), String::new()) };
    let gap = columns.saturating_sub(low.chars().count() + high.chars().count());
    text += format!("{:>GUTTER$}  0 {low}{}{high}", "", " ".repeat(gap)).trim_end();
    text + "\n"
}

/// The place of a value among `count` on a logarithmic axis.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded and within 0 and count - 1")]
fn place(value: f64, low: f64, high: f64, count: usize) -> usize {
    let span = (high / low).ln();
    let share = if span > 0.0 { (value / low).ln() / span } else { 0.0 };
    (share.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize
}

/// Parts of a whole as a bar: each part's letter as often as its share of `most` asks for, `width` for all of it. A part that is there is
/// at least one letter.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded and within 0 and width")]
pub(super) fn bar(parts: &[(f64, char)], most: f64, width: usize) -> String {
    let length = |part: f64| {
        let exact = if most > 0.0 { (part / most).clamp(0.0, 1.0) * width as f64 } else { 0.0 };
        if part > 0.0 { exact.round().max(1.0) as usize } else { 0 }
    };
    parts.iter().flat_map(|&(part, letter)| std::iter::repeat_n(letter, length(part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_where_their_logarithms_are() {
        let point = |x: f64, y: f64, letter: char| Point { x, y, letter, front: letter.is_uppercase() };
        let points = [point(0.0, 100.0, 'A'), point(1e3, 10.0, 'B'), point(1e6, 1.0, 'C'), point(1e6, 100.0, 'd'), point(1e6, 100.0, 'e')];
        let text = scatter(&points, 44, |x| format!("{x:.0} B"), |y| format!("{y:.0} ms"));
        assert_eq!(text.lines().next(), Some("   100 ms │A┊                              +"));
        assert_eq!(text.lines().nth(11), Some("     1 ms │ ┊                              C"));
        assert_eq!(text.lines().nth(13), Some("           0 1000 B                1000000 B"));
        assert_eq!(text.lines().nth(5), Some("          │ ┊B"));
        assert!(text.lines().all(|line| line.chars().count() <= 44));
    }

    #[test]
    fn points_all_in_one_place_make_a_plot() {
        let one = [Point { x: 0.0, y: 5.0, letter: 'A', front: true }];
        let text = scatter(&one, 10, |x| x.to_string(), |y| y.to_string());
        assert_eq!(text.matches('A').count(), 1);
        assert!(text.ends_with("  0\n"), "{text}");
    }

    #[test]
    fn bars_show_every_part() {
        assert_eq!(bar(&[(50.0, '#'), (25.0, '='), (0.1, '.'), (0.0, 'x')], 100.0, 20), "##########=====.");
        assert_eq!(bar(&[(1.0, '#')], 0.0, 20), "#");
        assert_eq!(bar(&[], 1.0, 20), "");
    }
}
