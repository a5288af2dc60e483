//! Pixels of an SVG document, with a font that comes with the program: a picture looks the same on every machine.

use super::ChartError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, LazyLock};

/// Pixels for each of the drawing's.
const SCALE: f32 = 2.0;

/// Ubuntu Light; characters it lacks are left out.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts.faces().flat_map(|face| &face.families).next().map(|(name, _)| name.clone());
    fonts.set_sans_serif_family(family.unwrap_or_default());
    Arc::new(fonts)
});

pub(super) fn render(svg: &str) -> Result<Vec<u8>, ChartError> {
    let options = Options { fontdb: Arc::clone(&FONTS), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| ChartError::Png(error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| ChartError::Png("it has no size".into()))?;
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| ChartError::Png(format!("{} x {} pixels are too many", size.width(), size.height())))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| ChartError::Png(error.to_string()))
}
