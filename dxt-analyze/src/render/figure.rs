//! A figure: panels one above the other over one axis of time, each with boxes on a grid of its own. It is data; `svg` draws it.

use super::Table;

/// Colours that can be told apart: <https://jfly.uni-koeln.de/color/>, and two more.
pub const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#8e6bbf", "#56b4e9", "#808a94"];

/// A colour, by its number in [`COLOURS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ink(pub u8);

impl Ink {
    /// As SVG has it.
    #[must_use]
    pub fn colour(self) -> &'static str {
        COLOURS.get(usize::from(self.0)).copied().unwrap_or("#808a94")
    }
}

/// A box on a panel's grid; it stands on `bottom`, counted from the panel's lower edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Left edge.
    pub left: u32,
    /// Lower edge.
    pub bottom: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Boxes that look the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Their colour.
    pub ink: Ink,
    /// How opaque they are, in hundredths.
    pub opacity: u8,
    /// Whether each has an outline, so that one is seen in front of another.
    pub outlined: bool,
    /// The boxes.
    pub areas: Vec<Area>,
}

/// A panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What it is about.
    pub title: &'static str,
    /// Columns and rows of its grid.
    pub grid: (u32, u32),
    /// Lines across it: the height, as a share of the panel's, and what it stands for.
    pub levels: Vec<(f64, String)>,
    /// What is drawn, the hindmost first.
    pub layers: Vec<Layer>,
}

/// A stretch of time with its numbers in words, for who points at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Where it begins, as a share of the width.
    pub from: f64,
    /// How wide it is.
    pub width: f64,
    /// Its numbers.
    pub words: String,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, in files and anchors.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub title: &'static str,
    /// Of what it is.
    pub subject: String,
    /// How it is to be read.
    pub caption: String,
    /// The panels, from above.
    pub panels: Vec<Panel>,
    /// What stands at equal distances below, from the left edge to the right one.
    pub times: Vec<String>,
    /// What colours stand for, where that is not said by the panels.
    pub legend: Vec<(Ink, String)>,
    /// The stretches of time.
    pub slices: Vec<Slice>,
    /// Their numbers as a table.
    pub numbers: Table,
}
