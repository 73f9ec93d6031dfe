//! Environment for a program into which the tracer's library must not be preloaded: a copy whose LD_PRELOAD lacks the library (ld.so(8)).
//!
//! The copy is built on the stack, without allocation, since this may be a vfork(2) child of a process with other threads. An environment
//! that is too large for the stack is passed on unchanged.

use super::untraceable::{Fate, Strings, variables};
use crate::job;
use crate::say::say;
use libc::c_char;

const VARIABLE: &[u8] = b"LD_PRELOAD=";
/// Prefix of the file name of the tracer's library; a version may follow.
const LIBRARY: &[u8] = b"libdxt_tracer.so";
/// Maximum length of the changed variable LD_PRELOAD, in bytes, including its name and NUL.
const MOST_BYTES: usize = 1024;

/// Runs `call` with a copy of `environment` whose LD_PRELOAD lacks the tracer, or with `None` if `environment` needs no change.
pub(super) fn with<T>(
    fate: Fate,
    name: impl FnOnce() -> &'static [u8],
    environment: Strings,
    call: impl FnOnce(Option<Strings>) -> T,
) -> T {
    let names_us = |variable: &[u8]| variable.strip_prefix(VARIABLE).is_some_and(|value| items(value).any(is_ours));
    let at = || variables(environment).position(|variable| names_us(variable.to_bytes()));
    let Some(at) = (fate == Fate::Foreign).then(at).flatten() else { return call(None) };
    say(&[name(), b" uses a different dynamic linker than this process: it runs without the tracer"]);
    match variables(environment).count() {
        0..64 => without::<64, T>(environment, at, call),
        64..256 => without::<256, T>(environment, at, call),
        256..1024 => without::<1024, T>(environment, at, call),
        1024..4096 => without::<4096, T>(environment, at, call),
        _ => call(None),
    }
}

/// Runs `call` with an environment in which variable number `at` lacks the library. Not inlined, since each `ROOM` takes its own stack space.
#[inline(never)]
fn without<const ROOM: usize, T>(environment: Strings, at: usize, call: impl FnOnce(Option<Strings>) -> T) -> T {
    let (mut changed, mut all) = ([0_u8; MOST_BYTES], [std::ptr::null::<c_char>(); ROOM]);
    let (mut length, mut places, mut is_empty) = (0, all.iter_mut(), true);
    for (number, variable) in variables(environment).enumerate() {
        let mut passed_on = variable.as_ptr();
        if number == at {
            let value = variable.to_bytes().strip_prefix(VARIABLE).unwrap_or_default();
            let mut add = |part: &[u8]| {
                let place = changed.get_mut(length..length + part.len());
                length += part.len();
                place.into_iter().for_each(|place| place.copy_from_slice(part));
            };
            add(VARIABLE);
            for item in items(value).filter(|item| !is_ours(item)) {
                if !std::mem::take(&mut is_empty) {
                    add(b":");
                }
                add(item);
            }
            add(b"\0");
            if is_empty {
                continue;
            }
            passed_on = changed.as_ptr().cast();
        }
        if let Some(place) = places.next() {
            *place = passed_on;
        }
    }
    // The last element stays null: there is room for more than the variables.
    if length > MOST_BYTES { call(None) } else { call(Some(all.as_ptr())) }
}

/// Iterates over the libraries listed in `value`, a value of LD_PRELOAD.
fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| matches!(byte, b':' | b' ')).filter(|item| !item.is_empty())
}

fn is_ours(item: &[u8]) -> bool {
    job::basename(item).starts_with(LIBRARY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, CString};

    fn passed_on(fate: Fate, environment: &[&CStr]) -> Option<Vec<CString>> {
        let all: Vec<_> = environment.iter().map(|variable| variable.as_ptr()).chain([std::ptr::null()]).collect();
        with(fate, || b"x", all.as_ptr(), |changed| changed.map(|all| variables(all).map(CStr::to_owned).collect()))
    }

    #[test]
    fn the_library_is_taken_out_and_all_else_stays() {
        let with = |preload: &CStr| passed_on(Fate::Foreign, &[c"A=1", preload, c"B=LD_PRELOAD=libdxt_tracer.so"]);
        let of = |preload: Option<&CStr>| {
            let all = [Some(c"A=1"), preload, Some(c"B=LD_PRELOAD=libdxt_tracer.so")];
            Some(all.into_iter().flatten().map(CStr::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(with(c"LD_PRELOAD=/x/libdxt_tracer.so"), of(None));
        assert_eq!(with(c"LD_PRELOAD=libdxt_tracer.so.2 :"), of(None));
        assert_eq!(
            with(c"LD_PRELOAD=/x/liba.so:/x/libdxt_tracer.so libb.so"),
            of(Some(c"LD_PRELOAD=/x/liba.so:libb.so"))
        );
        for untouched in [c"LD_PRELOAD=", c"LD_PRELOAD=/libdxt_tracer.so/x.so", c"LD_PRELOADED=libdxt_tracer.so"] {
            assert_eq!(with(untouched), None, "{untouched:?}");
        }
        assert_eq!(passed_on(Fate::Traced, &[c"LD_PRELOAD=libdxt_tracer.so"]), None);
        assert_eq!(passed_on(Fate::Foreign, &[c"LD_PRELOAD=libdxt_tracer.so"]), Some(Vec::new()));
    }

    #[test]
    fn what_does_not_fit_is_passed_on() {
        for (count, fits) in [(62, true), (63, true), (64, true), (255, true), (4094, true), (4095, false)] {
            let mut all = vec![c"X=y"; count];
            all.push(c"LD_PRELOAD=libdxt_tracer.so");
            assert_eq!(passed_on(Fate::Foreign, &all).map(|all| all.len()), fits.then_some(count), "{count}");
        }
        for (bytes, fits) in [(900, true), (2000, false)] {
            let long = CString::new(format!("LD_PRELOAD=libdxt_tracer.so:/{}", "x".repeat(bytes))).unwrap();
            assert_eq!(passed_on(Fate::Foreign, &[&long]).is_some(), fits, "{bytes}");
        }
    }
}
