//! Compares the places in the program that make calls. Places of the two runs are matched by the names of their functions and source files,
//! whatever the lines, and by those of their callers. A place without a name is matched by its address if the module's build ids are equal.

use super::result::{PlaceRow, Totalled};
use crate::model::Run;
use crate::symbols::{Place, name_of};
use crate::topics::sites::result::{CallSite, Row};
use crate::topics::sites::{Options, sites_of};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Properties by which places are matched.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Function of the place and of its callers, each with what distinguishes it from others of the same name.
    functions: Vec<(String, String)>,
    through: Option<String>,
    layer: &'static str,
    operation: String,
}

/// Returns a row for each operation and place, largest difference of time first; none if a run has no call sites. `dirs`: directories with
/// debug information.
#[must_use]
pub fn rows(before: &Run, after: &Run, dirs: &[PathBuf]) -> Vec<PlaceRow> {
    let [one, two] = [before, after].map(|run| sites_of(run, &Options::default(), dirs));
    if one.none_recorded || two.none_recorded {
        return Vec::new();
    }
    let mut all: BTreeMap<Key, PlaceRow> = BTreeMap::new();
    for (run, row) in one.sites.iter().map(|row| (before, row)) {
        let found = all.entry(key(run, row, "first")).or_insert_with(|| empty(row));
        add(&mut found.before, &mut found.place, row);
    }
    for (run, row) in two.sites.iter().map(|row| (after, row)) {
        let found = all.entry(key(run, row, "second")).or_insert_with(|| empty(row));
        if found.after.is_none() {
            found.place = row.site.place.clone();
        }
        add(&mut found.after, &mut found.place, row);
    }
    let time = |of: Option<Totalled>| of.map_or(0, |sum| sum.time_ns);
    let mut rows: Vec<PlaceRow> = all.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(time(row.before).abs_diff(time(row.after))));
    rows
}

fn empty(row: &Row) -> PlaceRow {
    let Row { site, layer, operation, .. } = row;
    let CallSite { place, through, callers, .. } = site.clone();
    let callers = callers.into_iter().map(|caller| caller.function).collect();
    PlaceRow { place, through, callers, layer, operation: operation.clone(), before: None, after: None }
}

fn add(to: &mut Option<Totalled>, place: &mut Place, row: &Row) {
    let sum = to.get_or_insert_default();
    sum.calls = sum.calls.saturating_add(row.calls);
    sum.bytes = sum.bytes.saturating_add(row.bytes);
    sum.time_ns = sum.time_ns.saturating_add(row.time_ns);
    if place.line != row.site.place.line {
        place.line = None;
    }
}

/// Returns the properties by which a row is matched. `which` names the run, for places that match none of the other run.
fn key(run: &Run, row: &Row, which: &str) -> Key {
    let function = |place: &Place| {
        let distinct = match &place.file {
            Some(file) => name_of(file).to_owned(),
            None if place.is_address() => build_id(run, &place.function).unwrap_or_else(|| which.to_owned()),
            None => String::new(),
        };
        (place.function.clone(), distinct)
    };
    let functions = std::iter::once(&row.site.place).chain(&row.site.callers).map(function).collect();
    let Row { layer, operation, .. } = row;
    Key { functions, through: row.site.through.clone(), layer, operation: operation.clone() }
}

/// Returns the build id of the module in `address`, such as `app+0x1b2c`; `None` if it has none, or if modules of this name differ in it.
fn build_id(run: &Run, address: &str) -> Option<String> {
    let (name, _) = address.rsplit_once("+0x")?;
    let mut ids =
        run.sites.modules.iter().filter(|module| name_of(&module.path) == name).map(|module| &module.build_id);
    let id = ids.next().filter(|id| !id.is_empty())?;
    ids.all(|other| other == id).then(|| id.iter().map(|byte| format!("{byte:02x}")).collect())
}
