//! Why a chart cannot be drawn.

/// A chart that cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// The chart library refused.
    #[error("chart '{title}': {problem}")]
    Draw {
        /// Title of the chart.
        title: String,
        /// What the library says.
        problem: String,
    },
    /// The picture could not be made of the drawing.
    #[error("chart as PNG: {0}")]
    Png(String),
}
