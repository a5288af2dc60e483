//! A drawing as a document of its own, and as an element of a page.

use super::draw::{Drawing, Hit};
use super::style::replacements;
use std::fmt::Write as _;

/// The document: the drawing on white.
pub(super) fn document(drawing: &Drawing) -> String {
    let (head, body) = parts(&drawing.svg);
    format!("{head}\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n{body}", escaped(&drawing.title))
}

/// The element: variables for colours, and what is hovered and focused over the marks.
pub(super) fn element(drawing: &Drawing) -> String {
    let (head, body) = parts(&drawing.svg);
    let view_box = head.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    // Texts hold no bare quotes, so that only attributes are found.
    let body = replacements().fold(body.to_owned(), |body, (value, variable)| body.replace(&value, &variable));
    let body = body.strip_suffix("</svg>\n").unwrap_or(&body);
    let title = escaped(&drawing.title);
    let mut text = format!("<svg class=\"chart\" viewBox=\"{view_box}\" role=\"group\" aria-label=\"{title}\">\n{body}");
    for (i, Hit { place, text: told }) in drawing.hits.iter().enumerate() {
        let focus = if i == 0 { 0 } else { -1 };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "<rect class=\"hit\" tabindex=\"{focus}\" role=\"img\" x=\"{:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{:.0}\"><title>{}</title></rect>",
            place.left,
            place.top,
            place.right - place.left,
            place.bottom - place.top,
            escaped(told)
        );
    }
    text + "</svg>\n"
}

/// The opening tag and the rest.
fn parts(svg: &str) -> (&str, &str) {
    svg.find('>').map_or((svg, ""), |end| (&svg[..=end], svg[end + 1..].trim_start()))
}

/// Text as content or attribute of XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
