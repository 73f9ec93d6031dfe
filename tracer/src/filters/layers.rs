//! DXT_LAYERS: filter by interface (layer). Checked when a file's record for a layer is created, so that recorded calls have no extra cost.

use super::pattern::items;
use trace_format::op::Layer;

/// Set of I/O layers (POSIX, MPI-IO, ...) whose calls are not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layers {
    left_out: u8,
}

const NAMES: [(&[u8], Layer); 5] = [
    (b"posix", Layer::Posix),
    (b"stdio", Layer::Stdio),
    (b"mpiio", Layer::Mpiio),
    (b"hdf5", Layer::Hdf5),
    (b"mpi", Layer::Mpi),
];

/// Returns the bit of an I/O layer that DXT_LAYERS can name; 0 for other layers, which are always recorded.
fn bit(layer: Layer) -> u8 {
    NAMES.iter().position(|(_, named)| *named == layer).map_or(0, |place| 1 << place)
}

impl Layers {
    /// Parses comma-separated names of I/O layers to record; returns `None` if invalid.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let all = NAMES.iter().fold(0, |bits, (_, layer)| bits | bit(*layer));
        let mut left_out = all;
        for item in items(text, b",") {
            let (_, layer) = NAMES.iter().find(|(name, _)| item.eq_ignore_ascii_case(name))?;
            left_out &= !bit(*layer);
        }
        (left_out != all).then_some(Self { left_out })
    }

    pub(crate) fn contain(self, layer: Layer) -> bool {
        self.left_out & bit(layer) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_layers_are_recorded() {
        let layers = Layers::parse(b"posix, MPIIO").unwrap();
        assert!(layers.contain(Layer::Posix) && layers.contain(Layer::Mpiio) && !layers.contain(Layer::Stdio));
        assert!(Layers::default().contain(Layer::Stdio) && layers.contain(Layer::Pnetcdf));
        assert!(!layers.contain(Layer::Mpi) && Layers::parse(b"mpi").unwrap().contain(Layer::Mpi));
        for wrong in ["", "posix,mp", ","] {
            assert_eq!(Layers::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
