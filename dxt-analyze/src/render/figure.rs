//! Figures as data: stacked panels over one time axis, each with boxes on its own grid. `svg` draws them.

use super::Table;

/// Distinguishable colours: <https://jfly.uni-koeln.de/color/>, and two more.
pub const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#8e6bbf", "#56b4e9", "#808a94"];

/// Index into [`COLOURS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ink(pub u8);

impl Ink {
    /// Returns the SVG colour.
    #[must_use]
    pub fn colour(self) -> &'static str {
        COLOURS.get(usize::from(self.0)).copied().unwrap_or("#808a94")
    }
}

/// Box on a panel's grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Left edge, in columns from the left.
    pub left: u32,
    /// Lower edge, in rows from the panel's lower edge.
    pub bottom: u32,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

/// Boxes of the same style.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Colour.
    pub ink: Ink,
    /// Opacity, in percent.
    pub opacity: u8,
    /// True if boxes have an outline, so that overlapping ones can be distinguished.
    pub outlined: bool,
    /// Boxes of the layer.
    pub areas: Vec<Area>,
}

/// Panel of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title.
    pub title: &'static str,
    /// Columns and rows of the grid.
    pub grid: (u32, u32),
    /// Horizontal lines: height, as a share of the panel's height, and label.
    pub levels: Vec<(f64, String)>,
    /// Layers, back to front.
    pub layers: Vec<Layer>,
}

/// Time window with its numbers as text, shown on hover.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Left edge, as a share of the width.
    pub from: f64,
    /// Width, as a share of the figure's width.
    pub width: f64,
    /// Text of the numbers.
    pub words: String,
}

/// Figure of stacked panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name in file names and anchors.
    pub name: &'static str,
    /// Short title.
    pub title: &'static str,
    /// Subject: path of a file or the like.
    pub subject: String,
    /// Explanation of how to read the figure.
    pub caption: String,
    /// Panels, top to bottom.
    pub panels: Vec<Panel>,
    /// Labels of the time axis, equally spaced, from left edge to right edge.
    pub times: Vec<String>,
    /// Colour legend, if the panels do not explain the colours.
    pub legend: Vec<(Ink, String)>,
    /// Time windows for hovering.
    pub slices: Vec<Slice>,
    /// Numbers of the time windows as a table.
    pub numbers: Table,
}
