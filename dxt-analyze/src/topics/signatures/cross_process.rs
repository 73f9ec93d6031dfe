//! Patterns of accesses that form no loop within their process: single calls that touch several blocks under an MPI file view, and accesses
//! that form a pattern with accesses of other ranks or files.

use super::args::{Level, Options};
use super::comparable::{Order, groups, series};
use super::merged::Grouped;
use super::pass::{Signed, Whose};
use super::views::is_strided;
use crate::model::Run;
use iosig::Signature;
use iosig::ranks::across;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Returns the signatures, with accesses that form patterns only across ranks or under MPI file views as loops of one iteration. Searches
/// across ranks only at the global level.
pub(super) fn promoted<'a>(run: &Run, signed: &'a [Signed], options: &Options) -> Cow<'a, [Signed]> {
    let of_views = replaced(signed, of_views(run, signed));
    if options.level == Level::Local {
        return of_views;
    }
    let across = of_ranks(run, &of_views);
    if across.is_empty() { of_views } else { Cow::Owned(replaced(&of_views, across).into_owned()) }
}

fn replaced(signed: &[Signed], mut by: FxHashMap<Whose, Signature>) -> Cow<'_, [Signed]> {
    if by.is_empty() {
        return Cow::Borrowed(signed);
    }
    let mut out = signed.to_vec();
    for one in &mut out {
        if let Some(signature) = by.remove(&one.whose) {
            one.signature = signature;
        }
    }
    Cow::Owned(out)
}

fn of_views(run: &Run, signed: &[Signed]) -> FxHashMap<Whose, Signature> {
    if run.shapes.is_empty() {
        return FxHashMap::default();
    }
    let any = |signature: &Signature| {
        signature.residue().filter_map(|part| part.few.as_ref()).flatten().any(|access| is_strided(run, access))
    };
    let with = signed.iter().filter(|one| any(&one.signature));
    with.map(|one| (one.whose, one.signature.with_single(|access| is_strided(run, access)))).collect()
}

fn of_ranks(run: &Run, signed: &[Signed]) -> FxHashMap<Whose, Signature> {
    let order = Order::new(run);
    let mut out = FxHashMap::default();
    for group in series(run, groups(run, &order, signed)) {
        let grouped = Grouped::of(run, &order, &group);
        let few = |(_, signed): &(u64, &Signed)| signed.signature.residue().any(|part| part.few.is_some());
        if !grouped.numbered.iter().any(few) {
            continue;
        }
        let found = across(&grouped.signatures(), &|number| grouped.part(number));
        let whose = |(number, signature)| Some((grouped.member(number)?.whose, signature));
        out.extend(found.into_iter().filter_map(whose));
    }
    out
}
