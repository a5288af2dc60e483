//! Colours that colour-blind people can tell apart, and marker shapes for those who see none.
//!
//! The palette is that of M. Okabe and K. Ito, "Color Universal Design", 2008 (<https://jfly.uni-koeln.de/color/>), without its yellow, which
//! is hard to see on white, and with grey. Algorithms of one family share colour and marker.

use std::fmt::Write as _;

/// What a colour stands for; each has a value for print and light pages, and one for dark pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Color {
    /// Text and axes.
    Ink,
    /// Lines of the grid.
    Grid,
    /// The ground under the chart.
    Ground,
    /// Black of the palette; white on dark pages.
    Black,
    /// Orange.
    Orange,
    /// Sky blue.
    Sky,
    /// Bluish green.
    Green,
    /// Blue.
    Blue,
    /// Vermilion.
    Vermilion,
    /// Reddish purple.
    Purple,
    /// Not of the palette: what has no colour of its own.
    Grey,
}

/// Shape of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A square on its corner.
    Diamond,
    /// A triangle that points up.
    Up,
    /// A triangle that points down.
    Down,
    /// A plus.
    Plus,
    /// A plus on its side.
    Cross,
    /// A star of five points.
    Star,
}

/// Colour and marker of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Style {
    /// Its colour.
    pub color: Color,
    /// Its marker.
    pub marker: Marker,
}

/// Every colour: name of its CSS variable, value on white, value on dark ground. The values on dark ground are those of the palette, lightened
/// where the contrast with the ground would be below 4.5 to 1. No two values on white may be equal.
const COLORS: [(Color, &str, u32, u32); 11] = [
    (Color::Ink, "--chart-ink", 0x22_22_22, 0xDE_E2_E6),
    (Color::Grid, "--chart-grid", 0xDD_DD_DD, 0x3A_40_48),
    (Color::Ground, "--chart-ground", 0xFF_FF_FF, 0x16_1A_1F),
    (Color::Black, "--chart-black", 0x00_00_00, 0xFF_FF_FF),
    (Color::Orange, "--chart-orange", 0xE6_9F_00, 0xF0_AE_1E),
    (Color::Sky, "--chart-sky", 0x56_B4_E9, 0x7C_C7_F2),
    (Color::Green, "--chart-green", 0x00_9E_73, 0x2B_C4_98),
    (Color::Blue, "--chart-blue", 0x00_72_B2, 0x4F_A3_DB),
    (Color::Vermilion, "--chart-vermilion", 0xD5_5E_00, 0xF2_7E_2A),
    (Color::Purple, "--chart-purple", 0xCC_79_A7, 0xE0_9A_C2),
    (Color::Grey, "--chart-grey", 0x76_76_76, 0x9A_A2_AB),
];

/// Families of algorithms by how their ids begin: of those that read patches in place, through tables too, and of those that write down a
/// part of them there is one each.
const FAMILIES: [(&str, &str, Color, Marker); 10] = [
    ("implicit", "implicit GEMM", Color::Blue, Marker::Circle),
    ("indirect", "implicit GEMM", Color::Blue, Marker::Circle),
    ("mec", "im2col", Color::Vermilion, Marker::Square),
    ("kn2row", "im2col", Color::Vermilion, Marker::Square),
    ("winograd", "Winograd", Color::Green, Marker::Up),
    ("depthwise", "depthwise", Color::Purple, Marker::Plus),
    ("gemm_1x1", "1×1 GEMM", Color::Orange, Marker::Diamond),
    ("im2col", "im2col", Color::Vermilion, Marker::Square),
    ("direct", "direct", Color::Black, Marker::Cross),
    ("fft", "FFT", Color::Grey, Marker::Star),
];

impl Style {
    /// A colour and a marker.
    pub const fn new(color: Color, marker: Marker) -> Self {
        Self { color, marker }
    }

    /// The style of an algorithm, and the name of its family for the legend.
    pub fn of_algorithm(id: &str) -> (Self, &'static str) {
        if id.starts_with("winograd") && id.ends_with("_fused") {
            return (Self::new(Color::Sky, Marker::Down), "Winograd, fused");
        }
        let family = FAMILIES.iter().find(|(beginning, ..)| id.starts_with(beginning));
        family.map_or((Self::new(Color::Grey, Marker::Star), "other"), |&(_, name, color, marker)| (Self::new(color, marker), name))
    }

    /// A style for a series by its place, for charts whose series are no algorithms; places repeat after eight.
    pub fn nth(place: usize) -> Self {
        const STYLES: [Style; 8] = [
            Style::new(Color::Blue, Marker::Circle),
            Style::new(Color::Vermilion, Marker::Square),
            Style::new(Color::Green, Marker::Up),
            Style::new(Color::Orange, Marker::Diamond),
            Style::new(Color::Sky, Marker::Down),
            Style::new(Color::Purple, Marker::Plus),
            Style::new(Color::Black, Marker::Cross),
            Style::new(Color::Grey, Marker::Star),
        ];
        STYLES[place % STYLES.len()]
    }
}

impl Color {
    fn entry(self) -> (&'static str, u32, u32) {
        let found = COLORS.iter().find(|(color, ..)| *color == self);
        found.map_or(("--chart-ink", 0, 0), |&(_, variable, light, dark)| (variable, light, dark))
    }

    /// Red, green and blue on white.
    pub(super) fn rgb(self) -> (u8, u8, u8) {
        let [_, r, g, b] = self.entry().1.to_be_bytes();
        (r, g, b)
    }
}

/// The value on white, as the drawing has it, and the variable that takes its place on a page.
pub(super) fn replacements() -> impl Iterator<Item = (String, String)> {
    COLORS.iter().map(|(_, variable, light, _)| (format!("\"#{light:06X}\""), format!("\"var({variable})\"")))
}

pub(super) fn variables(dark: bool) -> String {
    COLORS.iter().fold(String::new(), |mut text, (_, variable, light, night)| {
        let value = if dark { night } else { light };
        // Writing to a string cannot fail.
        let _ = write!(text, "{variable}:#{value:06x};");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::ALGORITHMS;
    use std::collections::HashSet;

    #[test]
    fn every_algorithm_has_a_family_and_families_differ_in_colour_and_marker() {
        for algorithm in ALGORITHMS {
            assert_ne!(Style::of_algorithm(algorithm.id()).1, "other", "{}", algorithm.id());
        }
        let families: HashSet<(&str, Style)> = FAMILIES.iter().map(|f| (f.1, Style::new(f.2, f.3))).collect();
        let mut styles: Vec<Style> = families.into_iter().map(|(_, style)| style).collect();
        styles.push(Style::of_algorithm("winograd_f2_fused").0);
        assert_eq!(styles.iter().map(|s| s.color).collect::<HashSet<_>>().len(), styles.len());
        assert_eq!(styles.iter().map(|s| s.marker).collect::<HashSet<_>>().len(), styles.len());
    }

    #[test]
    fn every_colour_is_declared_once_and_values_on_white_tell_them_apart() {
        let values: HashSet<u32> = COLORS.iter().map(|c| c.2).collect();
        assert_eq!(values.len(), COLORS.len());
        assert_eq!(Color::Blue.rgb(), (0x00, 0x72, 0xB2));
        assert!(variables(true).contains("--chart-blue:#4fa3db;") && variables(false).contains("--chart-blue:#0072b2;"));
    }

    /// Contrast by WCAG 2.2, "relative luminance".
    #[test]
    fn colours_stand_out_from_the_ground() {
        let luminance = |rgb: u32| {
            let [_, r, g, b] = rgb.to_be_bytes().map(|v| {
                let v = f64::from(v) / 255.0;
                if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let contrast = |a: u32, b: u32| {
            let (a, b) = (luminance(a), luminance(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        let ground = Color::Ground.entry();
        for (color, _, light, dark) in COLORS.iter().filter(|c| !matches!(c.0, Color::Grid | Color::Ground)) {
            // The palette's own orange and sky blue reach 2.2 on white; shape and label tell their marks apart, too.
            assert!(contrast(*light, ground.1) > 2.0, "{color:?} on white");
            assert!(contrast(*dark, ground.2) > 4.5, "{color:?} on dark ground: {}", contrast(*dark, ground.2));
        }
    }
}
