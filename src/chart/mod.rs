//! Charts as plain data, drawn as SVG or PNG.
//!
//! A [`Chart`] holds numbers, names and the text to show on hovering; it knows nothing of records. [`Chart::to_svg`] draws it with real colours
//! on white, for papers; [`Chart::to_html`] as an element of a page, whose colours are CSS variables and whose marks can be hovered and
//! focused; [`Chart::to_png`] as pixels, with a font that is built in. `plotters` draws axes and shapes, `resvg` makes the pixels.
//!
//! Zero has a place on a logarithmic axis, too: a band before the first decade, labelled `0`. Labels of marks are placed greedily where
//! nothing else is; what finds no place is left to the hover.

mod draw;
mod error;
mod label;
mod layout;
mod png;
mod scale;
mod style;
mod svg;
#[cfg(test)]
mod tests;

pub use error::ChartError;
pub use style::{Color, Marker, Style};

/// Pixels of a chart's width, before it is scaled: narrow enough for its text to stay readable on a phone.
pub const WIDTH: u32 = 440;

/// A chart: two axes and what is drawn between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows; one line.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top; categories from top to bottom.
    pub y: Axis,
    /// Drawn in this order, listed in the legend in this order.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity: `median time`.
    pub label: String,
    /// How its values are written.
    pub unit: Unit,
    /// How they are laid out.
    pub scale: Scale,
}

/// How values are laid out along an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from 0.
    Linear,
    /// By ratio; zero has a band of its own.
    Log,
    /// One row for each name; a mark's value is the index. For the y axis only.
    Categories(Vec<String>),
}

/// How values are written at the ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of bytes, in powers of two.
    Bytes,
    /// Nanoseconds.
    Time,
    /// A ratio: `9×`.
    Times,
    /// A number whose unit, if it has one, stands beside the axis.
    Number(&'static str),
}

/// Marks that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its entry in the legend; none where it is empty.
    pub name: String,
    /// Its colour and marker.
    pub style: Style,
    /// What is drawn.
    pub kind: Kind,
    /// The values.
    pub marks: Vec<Mark>,
}

/// What is drawn for the marks of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A marker each.
    Points,
    /// A line through them, with markers on those that have something to tell on hovering.
    Line,
    /// A bar from the left each; bars of several series in one category stand end to end, and tell their hover texts together. The y axis has
    /// categories.
    Bars,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mark {
    /// Along the x axis. What is not finite or below zero is not drawn.
    pub x: f64,
    /// Along the y axis, as above; among categories from half a row before the first.
    pub y: f64,
    /// Written beside it where there is room; may be empty.
    pub label: String,
    /// Shown on hovering and on focus: the exact values. Nothing is shown where it is empty.
    pub hover: String,
    /// An outline instead of a filled marker.
    pub hollow: bool,
}

impl Mark {
    /// A filled mark without a label.
    pub fn new(x: f64, y: f64, hover: impl Into<String>) -> Self {
        Self { x, y, hover: hover.into(), ..Self::default() }
    }

    /// The same with a label.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
}

impl Chart {
    /// The marks of a series that have a place on the axes.
    fn drawable<'a>(&self, series: &'a Series) -> impl Iterator<Item = &'a Mark> + use<'a> {
        // The middle of the first row is 0, its edge half a row before.
        let least = if matches!(self.y.scale, Scale::Categories(_)) { -0.5 } else { 0.0 };
        let placed = move |mark: &&Mark| mark.x.is_finite() && mark.x >= 0.0 && mark.y.is_finite() && mark.y >= least;
        series.marks.iter().filter(placed)
    }

    /// The chart as an SVG document: colours of the palette on white.
    ///
    /// # Errors
    /// [`ChartError::Draw`] where the chart library refuses.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        Ok(svg::document(&draw::draw(self)?))
    }

    /// The chart as an `<svg>` element of an HTML page: colours are the CSS variables that [`style_sheet`] declares, the background is the
    /// page's. Over each mark with a hover text lies an element of class `hit` that holds the text as its `<title>` and can be focused: the first
    /// of a chart by Tab, the others by a script that moves the focus among them.
    ///
    /// # Errors
    /// As [`Self::to_svg`].
    pub fn to_html(&self) -> Result<String, ChartError> {
        Ok(svg::element(&draw::draw(self)?))
    }

    /// The chart as a PNG image at twice its size, on white.
    ///
    /// # Errors
    /// As [`Self::to_svg`], and [`ChartError::Png`] where the picture cannot be made.
    pub fn to_png(&self) -> Result<Vec<u8>, ChartError> {
        png::render(&self.to_svg()?)
    }
}

/// The declarations of the CSS variables that [`Chart::to_html`] uses, for a light or a dark page.
pub fn style_sheet(dark: bool) -> String {
    style::variables(dark)
}
