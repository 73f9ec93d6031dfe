//! Table that maps the operations distinguished by a Darshan log to operations of a trace.

use trace_format::op::{Layer, OpClass, OpDef, OpMode};

/// Index of an operation in the trace's table of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Code(pub(crate) u16);

/// Forms of an MPI-IO call, in the order of Darshan's counters.
pub(crate) const FORMS: [OpMode; 4] = [OpMode::Plain, OpMode::Collective, OpMode::Split, OpMode::Nonblocking];

const LAYERS: [Layer; 7] =
    [Layer::Posix, Layer::Mpiio, Layer::Stdio, Layer::Hdf5, Layer::Pnetcdf, Layer::Dfs, Layer::Daos];
const KINDS: [(OpClass, &str); 11] = [
    (OpClass::Read, "read"),
    (OpClass::Write, "write"),
    (OpClass::Open, "open"),
    (OpClass::Seek, "seek"),
    (OpClass::Metadata, "stat"),
    (OpClass::Sync, "sync"),
    (OpClass::Map, "mmap"),
    (OpClass::Metadata, "redef"),
    (OpClass::Metadata, "wait"),
    (OpClass::Metadata, "set_view"),
    (OpClass::Sync, "fdatasync"),
];

/// Operations that occur only on DAOS, numbered after all others.
const ON_DAOS: [(OpClass, &str); 4] = [
    (OpClass::Metadata, "punch"),
    (OpClass::Metadata, "remove"),
    (OpClass::Metadata, "list"),
    (OpClass::Metadata, "set_size"),
];

/// Returns the code of operation `name` in a layer and form. An unknown name, layer or form is replaced by the first entry of the respective list.
pub(crate) fn code(layer: Layer, name: &str, mode: OpMode) -> Code {
    let place = |found: Option<usize>| found.unwrap_or(0) as u16;
    let layer = place(LAYERS.iter().position(|known| *known == layer));
    let at = |kinds: &[(OpClass, &str)]| kinds.iter().position(|(_, known)| *known == name);
    let form = place(FORMS.iter().position(|known| *known == mode));
    if let Some(kind) = at(&ON_DAOS) {
        let before = 1 + (LAYERS.len() * KINDS.len() * FORMS.len()) as u16;
        return Code(before + layer * ON_DAOS.len() as u16 + kind as u16);
    }
    let kind = place(at(&KINDS));
    Code(1 + (layer * KINDS.len() as u16 + kind) * FORMS.len() as u16 + form)
}

/// Returns the table of all operations; DAOS operations are included if `has_daos` is true.
pub(crate) fn table(has_daos: bool) -> Vec<OpDef> {
    let mut out = Vec::new();
    for layer in LAYERS {
        let on_daos = matches!(layer, Layer::Dfs | Layer::Daos);
        let kinds = KINDS.iter().chain(ON_DAOS.iter().filter(|_| on_daos)).filter(|_| has_daos || !on_daos);
        for &(class, name) in kinds {
            for mode in FORMS {
                let data = matches!(class, OpClass::Read | OpClass::Write);
                let in_use = match (layer, mode) {
                    _ if name == "set_view" && layer != Layer::Mpiio => false,
                    _ if name == "fdatasync" && layer != Layer::Posix => false,
                    (_, OpMode::Plain) => true,
                    (Layer::Mpiio, OpMode::Collective) => data || class == OpClass::Open,
                    (Layer::Pnetcdf, OpMode::Collective) => data || name == "wait",
                    (Layer::Mpiio, _)
                    | (Layer::Hdf5, OpMode::Collective)
                    | (Layer::Pnetcdf | Layer::Dfs, OpMode::Nonblocking) => data,
                    _ => false,
                };
                if in_use {
                    out.push(OpDef { code: code(layer, name, mode).0, layer, class, mode, name: name.into() });
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_there_once() {
        let mut codes: Vec<u16> = table(true).iter().map(|op| op.code).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        let read = code(Layer::Mpiio, "read", OpMode::Collective);
        let found = table(false).into_iter().find(|op| op.code == read.0).expect("it is there");
        assert_eq!((found.layer, found.mode, found.name.as_str()), (Layer::Mpiio, OpMode::Collective, "read"));
    }
}
