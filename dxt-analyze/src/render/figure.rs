//! Figures as data: stacked panels over one time axis, each with rectangles on its own grid. The module `svg` draws them.

use super::Table;

/// Distinguishable colours: six of <https://jfly.uni-koeln.de/color/>, and two more.
pub const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#8e6bbf", "#56b4e9", "#808a94"];

/// Colour, as an index into [`COLOURS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ink(pub u8);

impl Ink {
    /// Returns the colour as an SVG colour value, such as `#0072b2`.
    #[must_use]
    pub fn colour(self) -> &'static str {
        COLOURS.get(usize::from(self.0)).copied().unwrap_or("#808a94")
    }
}

/// Rectangle on the grid of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Left edge, in grid columns from the panel's left edge.
    pub left: u32,
    /// Lower edge, in grid rows from the panel's lower edge.
    pub bottom: u32,
    /// Number of grid columns that the rectangle covers.
    pub width: u32,
    /// Number of grid rows that the rectangle covers.
    pub height: u32,
}

/// Rectangles drawn in the same style.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Colour of the rectangles.
    pub ink: Ink,
    /// Opacity of the rectangles, in percent.
    pub opacity: u8,
    /// True if the rectangles have outlines, so that overlapping ones can be distinguished.
    pub outlined: bool,
    /// Rectangles of the layer.
    pub areas: Vec<Area>,
}

/// Panel of a figure: a grid with rectangles, and labelled horizontal lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title above the panel.
    pub title: &'static str,
    /// Number of columns and rows of the panel's grid.
    pub grid: (u32, u32),
    /// Horizontal lines: (height as a share of the panel's height, label).
    pub levels: Vec<(f64, String)>,
    /// Layers of rectangles, back to front.
    pub layers: Vec<Layer>,
}

/// Time window of a figure; its numbers are shown as text when the mouse hovers over the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Left edge of the time window, as a share of the figure's width.
    pub from: f64,
    /// Width of the time window, as a share of the figure's width.
    pub width: f64,
    /// Text with the numbers of the time window, shown on hover.
    pub words: String,
}

/// Figure of stacked panels over one time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of the figure in file names and HTML anchors.
    pub name: &'static str,
    /// Short title of the figure.
    pub title: &'static str,
    /// Subject that the figure is about, such as the path of a file.
    pub subject: String,
    /// Explanation of how to read the figure.
    pub caption: String,
    /// Panels, top to bottom.
    pub panels: Vec<Panel>,
    /// Labels of the time axis, equally spaced, from left edge to right edge.
    pub times: Vec<String>,
    /// Colours and their meaning; empty if the panels explain the colours.
    pub legend: Vec<(Ink, String)>,
    /// Time windows whose numbers are shown on hover.
    pub slices: Vec<Slice>,
    /// Numbers of the time windows as a table.
    pub numbers: Table,
}
