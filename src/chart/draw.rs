//! Draws a chart with `plotters` on an SVG without ground, and notes where its marks lie.

use super::label::{self, Box};
use super::layout::{ENTRY, LINE, Layout, RIGHT, TEXT, TITLE, axis_title, clean, fitted, row, width};
use super::scale::tick_text;
use super::{Chart, ChartError, Color, Kind, Mark, Marker, Scale, Style, WIDTH};
use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::{ChartBuilder, DrawingArea, IntoDrawingArea, IntoFont, RGBColor, SVGBackend, ShapeStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontStyle, TextStyle};

/// Half the size of a marker, and of what is hovered over it.
const RADIUS: i32 = 5;
const HIT: f64 = 9.0;
/// Half the height of a bar.
const BAR: f64 = 8.0;
/// `plotters` writes a text of a size so many times smaller into an SVG.
const FONT_SCALE: f64 = 1.24;

/// A drawing.
pub(super) struct Drawing {
    pub(super) title: String,
    pub(super) svg: String,
    pub(super) hits: Vec<Hit>,
    /// Where labels were placed.
    #[cfg(test)]
    pub(super) labels: Vec<Box>,
    /// The bars in the order drawn.
    #[cfg(test)]
    pub(super) bars: Vec<Box>,
}

/// A place that tells something when it is hovered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) place: Box,
    pub(super) text: String,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), plotters::drawing::DrawingAreaErrorKind<std::io::Error>>;

pub(super) fn draw(chart: &Chart) -> Result<Drawing, ChartError> {
    let layout = Layout::of(chart);
    let mut svg = String::new();
    let mut canvas = Canvas { chart, layout: &layout, hits: Vec::new(), labels: Vec::new(), bars: Vec::new(), taken: Vec::new() };
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, pixels(layout.height).unsigned_abs())).into_drawing_area();
        let wrong = |problem: String| ChartError::Draw { title: clean(&chart.title), problem };
        canvas.draw(&area).and_then(|()| area.present()).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(Drawing {
        title: clean(&chart.title),
        hits: canvas.hits,
        #[cfg(test)]
        labels: canvas.labels,
        #[cfg(test)]
        bars: canvas.bars,
        svg,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "a pixel, and the cast saturates")]
fn pixels(x: f64) -> i32 {
    x.round() as i32
}

fn rgb(color: Color) -> RGBColor {
    let (r, g, b) = color.rgb();
    RGBColor(r, g, b)
}

fn stroke(color: Color, width: u32) -> ShapeStyle {
    ShapeStyle { color: rgb(color).into(), filled: false, stroke_width: width }
}

fn fill(color: Color) -> ShapeStyle {
    ShapeStyle { color: rgb(color).into(), filled: true, stroke_width: 1 }
}

fn font<'a>(size: f64, color: Color, at: (HPos, VPos)) -> TextStyle<'a> {
    let style = if size > TEXT { FontStyle::Bold } else { FontStyle::Normal };
    let font = ("sans-serif", size * FONT_SCALE, style).into_font();
    let mut text = TextStyle::from(font);
    (text.color, text.pos) = (rgb(color).to_backend_color(), Pos::new(at.0, at.1));
    text
}

struct Canvas<'a> {
    chart: &'a Chart,
    layout: &'a Layout,
    hits: Vec<Hit>,
    labels: Vec<Box>,
    bars: Vec<Box>,
    /// What labels keep clear of.
    taken: Vec<Box>,
}

impl Canvas<'_> {
    fn plot(&self) -> Box {
        Box { left: self.layout.left, top: self.layout.top, right: f64::from(WIDTH) - RIGHT, bottom: self.layout.bottom }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let plot = self.plot();
        let (x, y) = (self.layout.x.position(x), self.layout.y.position(y));
        (plot.left + x * (plot.right - plot.left), plot.bottom - y * (plot.bottom - plot.top))
    }

    fn draw(&mut self, area: &Area<'_>) -> Drawn {
        self.texts(area)?;
        self.axes(area)?;
        let chart = self.chart;
        for line in chart.series.iter().filter(|s| s.kind == Kind::Line) {
            let path: Vec<(i32, i32)> = chart.drawable(line).map(|m| point(self.at(m.x, m.y))).collect();
            for ends in path.windows(2) {
                self.taken.extend(along(ends[0], ends[1]));
            }
            if path.len() > 1 {
                area.draw(&PathElement::new(path, stroke(line.style.color, 2)))?;
            }
        }
        self.bars(area)?;
        for series in chart.series.iter().filter(|s| s.kind != Kind::Bars) {
            let quiet = |m: &&Mark| series.kind == Kind::Points || !m.hover.is_empty();
            for mark in chart.drawable(series).filter(quiet) {
                let at = self.at(mark.x, mark.y);
                marker(area, point(at), series.style, mark.hollow)?;
                self.taken.push(Box::around(at, f64::from(RADIUS)));
                self.hit(Box::around(at, HIT), mark);
            }
        }
        self.mark_labels(area)?;
        self.legend(area)
    }

    fn hit(&mut self, place: Box, mark: &Mark) {
        if !mark.hover.is_empty() {
            self.hits.push(Hit { place, text: clean_lines(&mark.hover) });
        }
    }

    fn texts(&self, area: &Area<'_>) -> Drawn {
        let (plot, chart) = (self.plot(), self.chart);
        let room = f64::from(WIDTH) - 16.0;
        // Bold text is some tenth wider.
        let title = fitted(&chart.title, TITLE * 1.1, room);
        text(area, &title, (8.0, 6.0), font(TITLE, Color::Ink, (HPos::Left, VPos::Top)))?;
        if !matches!(chart.y.scale, Scale::Categories(_)) {
            let label = fitted(&axis_title(&chart.y), TEXT, room);
            text(area, &label, (8.0, LINE + 8.0), font(TEXT, Color::Ink, (HPos::Left, VPos::Top)))?;
        }
        let label = fitted(&axis_title(&chart.x), TEXT, room);
        // Under the plot's middle, but not past the edge.
        let half = width(&label, TEXT) / 2.0;
        let middle = f64::midpoint(plot.left, plot.right).min(f64::from(WIDTH) - half - 8.0).max(half + 8.0);
        text(area, &label, (middle, plot.bottom + LINE + 8.0), font(TEXT, Color::Ink, (HPos::Center, VPos::Top)))
    }

    fn axes(&self, area: &Area<'_>) -> Drawn {
        let (plot, layout) = (self.plot(), self.layout);
        for (map, vertical) in [(&layout.x, true), (&layout.y, false)] {
            // What is at zero stands in a band of its own.
            let Some(end) = map.zero_band() else { continue };
            let corners = if vertical {
                [(plot.left, plot.top), (plot.left + end * (plot.right - plot.left), plot.bottom)]
            } else {
                [(plot.left, plot.bottom - end * (plot.bottom - plot.top)), (plot.right, plot.bottom)]
            };
            let mut band = fill(Color::Grid);
            band.color.3 = 0.4;
            area.draw(&Rectangle::new(corners.map(point), band))?;
        }
        let inner = area.margin(pixels(layout.top), pixels(layout.height - layout.bottom - LINE), 0, pixels(RIGHT));
        let mut axes = ChartBuilder::on(&inner)
            .x_label_area_size(pixels(LINE))
            .y_label_area_size(pixels(layout.left))
            .build_cartesian_2d(layout.x.clone(), layout.y.clone())?;
        let rows = !layout.categories.is_empty();
        let name = |y: &f64| match row(*y).filter(|_| rows) {
            Some(row) => layout.categories.get(row).cloned().unwrap_or_default(),
            None => tick_text(*y, self.chart.y.unit),
        };
        let number = |x: &f64| tick_text(*x, self.chart.x.unit);
        let mut mesh = axes.configure_mesh();
        if rows {
            mesh.disable_y_mesh();
        }
        mesh.axis_style(stroke(Color::Ink, 1))
            .bold_line_style(stroke(Color::Grid, 1))
            .label_style(font(TEXT, Color::Ink, (HPos::Left, VPos::Top)))
            .x_labels(32)
            .y_labels(layout.y.ticks().len() + 1)
            .x_label_formatter(&number)
            .y_label_formatter(&name)
            .draw()
    }

    fn bars(&mut self, area: &Area<'_>) -> Drawn {
        let rows = self.layout.categories.len();
        let (mut ends, mut hits): (_, Vec<Option<Hit>>) = (vec![0.0; rows], vec![None; rows]);
        for series in self.chart.series.iter().filter(|s| s.kind == Kind::Bars) {
            for mark in self.chart.drawable(series) {
                let Some(row) = row(mark.y).filter(|row| *row < rows) else { continue };
                let (from, to) = (self.at(ends[row], mark.y), self.at(ends[row] + mark.x, mark.y));
                ends[row] += mark.x;
                let place = Box { left: from.0, top: from.1 - BAR, right: to.0, bottom: to.1 + BAR };
                if mark.x > 0.0 {
                    let corners = [(place.left, place.top), (place.right, place.bottom)].map(point);
                    area.draw(&Rectangle::new(corners, fill(series.style.color)))?;
                }
                self.taken.push(place);
                self.bars.push(place);
                if !mark.hover.is_empty() {
                    let hit = hits[row].get_or_insert_with(|| Hit { place, text: String::new() });
                    if !hit.text.is_empty() {
                        hit.text.push('\n');
                    }
                    hit.text.push_str(&clean_lines(&mark.hover));
                    // Bars of nothing can be hovered, too.
                    hit.place.right = place.right.max(hit.place.left + 6.0);
                }
            }
        }
        self.hits.extend(hits.into_iter().flatten());
        Ok(())
    }

    /// The labels of filled marks first: they matter more.
    fn mark_labels(&mut self, area: &Area<'_>) -> Drawn {
        let plot = self.plot();
        let mut ends = vec![0.0; self.layout.categories.len()];
        for hollow in [false, true] {
            for series in &self.chart.series {
                for mark in self.chart.drawable(series).filter(|m| m.hollow == hollow) {
                    let mut x = mark.x;
                    if series.kind == Kind::Bars {
                        let Some(end) = row(mark.y).and_then(|row| ends.get_mut(row)) else { continue };
                        *end += mark.x;
                        x = *end;
                    }
                    if mark.label.is_empty() {
                        continue;
                    }
                    let label = fitted(&mark.label, TEXT, plot.right - plot.left);
                    let size = (width(&label, TEXT), TEXT + 2.0);
                    let Some(place) = label::place(self.at(x, mark.y), size, &plot, &self.taken) else { continue };
                    let middle = f64::midpoint(place.top, place.bottom);
                    text(area, &label, (place.left, middle), font(TEXT, Color::Ink, (HPos::Left, VPos::Center)))?;
                    self.taken.push(place);
                    self.labels.push(place);
                }
            }
        }
        Ok(())
    }

    fn legend(&self, area: &Area<'_>) -> Drawn {
        let first = self.layout.bottom + 2.0 * LINE + 14.0;
        for &(i, x, line) in &self.layout.legend {
            let series = &self.chart.series[i];
            let middle = first + (line as f64 + 0.5) * LINE;
            let at = point((x + 9.0, middle));
            match series.kind {
                Kind::Bars => area.draw(&Rectangle::new([(at.0 - 6, at.1 - 5), (at.0 + 6, at.1 + 5)], fill(series.style.color)))?,
                Kind::Line => {
                    area.draw(&PathElement::new(vec![(at.0 - 9, at.1), (at.0 + 9, at.1)], stroke(series.style.color, 2)))?;
                    if series.marks.iter().any(|m| !m.hover.is_empty()) {
                        marker(area, at, series.style, false)?;
                    }
                }
                Kind::Points => marker(area, at, series.style, false)?,
            }
            let name = fitted(&series.name, TEXT, f64::from(WIDTH) - ENTRY - 16.0);
            text(area, &name, (x + ENTRY - 4.0, middle), font(TEXT, Color::Ink, (HPos::Left, VPos::Center)))?;
        }
        Ok(())
    }
}

/// A line as boxes: labels keep clear of it.
fn along(from: (i32, i32), to: (i32, i32)) -> impl Iterator<Item = Box> {
    let ((x, y), (dx, dy)) = ((f64::from(from.0), f64::from(from.1)), (f64::from(to.0 - from.0), f64::from(to.1 - from.1)));
    let parts = (to.0 - from.0).abs().max((to.1 - from.1).abs()) / 4 + 1;
    (0..=parts).map(move |i| f64::from(i) / f64::from(parts)).map(move |share| Box::around((x + share * dx, y + share * dy), 2.0))
}

fn point((x, y): (f64, f64)) -> (i32, i32) {
    (pixels(x), pixels(y))
}

fn text(area: &Area<'_>, text: &str, at: (f64, f64), style: TextStyle<'_>) -> Drawn {
    area.draw(&Text::new(text.to_owned(), point(at), style))
}

fn marker(area: &Area<'_>, (x, y): (i32, i32), Style { color, marker }: Style, hollow: bool) -> Drawn {
    let r = RADIUS;
    let ring = |corners: Vec<(i32, i32)>| -> Drawn {
        let mut closed = corners.clone();
        closed.extend(corners.first().copied());
        area.draw(&Polygon::new(corners, fill(if hollow { Color::Ground } else { color })))?;
        area.draw(&PathElement::new(closed, stroke(color, 1)))
    };
    let bars = |ends: [[(i32, i32); 2]; 2]| -> Drawn {
        ends.into_iter().try_for_each(|ends| area.draw(&PathElement::new(ends.to_vec(), stroke(color, if hollow { 1 } else { 3 }))))
    };
    match marker {
        Marker::Circle if hollow => {
            area.draw(&Circle::new((x, y), r, fill(Color::Ground)))?;
            area.draw(&Circle::new((x, y), r, stroke(color, 1)))
        }
        Marker::Circle => area.draw(&Circle::new((x, y), r, fill(color))),
        Marker::Square => ring(vec![(x - r + 1, y - r + 1), (x + r - 1, y - r + 1), (x + r - 1, y + r - 1), (x - r + 1, y + r - 1)]),
        Marker::Diamond => ring(vec![(x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y)]),
        Marker::Up => ring(vec![(x, y - r), (x + r, y + r - 1), (x - r, y + r - 1)]),
        Marker::Down => ring(vec![(x, y + r), (x + r, y - r + 1), (x - r, y - r + 1)]),
        Marker::Plus => bars([[(x - r, y), (x + r, y)], [(x, y - r), (x, y + r)]]),
        Marker::Cross => bars([[(x - r + 1, y - r + 1), (x + r - 1, y + r - 1)], [(x - r + 1, y + r - 1), (x + r - 1, y - r + 1)]]),
        Marker::Star => {
            let corner = |i: i32| {
                let (angle, radius) = (f64::from(i) * std::f64::consts::PI / 5.0, if i % 2 == 0 { 6.5 } else { 2.7 });
                (x + pixels(radius * angle.sin()), y - pixels(radius * angle.cos()))
            };
            ring((0..10).map(corner).collect())
        }
    }
}

/// Each line cleaned; line breaks stay.
fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}
