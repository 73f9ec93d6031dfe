//! Walks the stack of a hook's caller by the unwind tables of the modules (.eh_frame), or by frame pointers where code has no tables.
//!
//! The program's stack is read by process_vm_readv(2), so that no address can be wrong enough to end the program.
#![expect(unsafe_code, reason = "process_vm_readv(2), caches in static pointers")]

use super::cache::{Cache, OUTER, Offsets, Seen, look, remember};
use super::modules::{Modules, Says, User};
use super::objects::object_at;
use super::program::{WINDOW, Window, is_own_stack};
use super::{Site, frames, objects, program, python};
use crate::notes::Note;
use crate::tls::Thread;
use crate::{errno, process, stack, sys};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder};
use std::sync::atomic::{AtomicPtr, Ordering};
use trace_format::meta::FrameDef;

/// Maximum number of frames of a call stack. Outer frames of a deeper stack are left out.
const MOST_DEPTH: usize = 64;
/// Lowest return address; the kernel maps no code below (vm.mmap_min_addr).
const LOWEST: u64 = 4096;

type Rules = CacheX86_64<MustNotAllocateDuringUnwind>;

/// Looks up what walks need. Called from the library's constructor.
pub(super) fn prepare() -> bool {
    program::prepare();
    objects::prepare()
}

/// Number of rule caches: of threads that walk their stacks at the same time, others make one for a single walk.
const CACHES: usize = 4;
static RULES: [AtomicPtr<Rules>; CACHES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; CACHES];

/// Returns the call site of the caller with these registers; 0 if it is unknown. `python`: number that stands for the thread's Python frames.
/// Preserves errno.
pub(super) fn site(thread: &Thread, cache: &Cache, python: u64, [address, at, frame]: [usize; 3]) -> Site {
    let known = match look(cache, address, at, python) {
        Seen::Again(site) => Some(site),
        Seen::New => None,
        Seen::TooMany => {
            Note::Site.count();
            return 0;
        }
    };
    // After vfork(2) the thread's block and the tables belong to another process.
    if sys::is_shut() || !process::is_own() {
        return known.unwrap_or(0);
    }
    if frames::are_full() || program::is_refused() {
        Note::Site.count();
        return known.unwrap_or(0);
    }
    let errno = errno::save();
    // Outside of the work, which is abandoned if memory runs out.
    let user = User::begin();
    let walked = thread.while_busy(|| stack::in_hook(|| walk(&user, address, at, frame)));
    if walked.is_none() {
        super::modules::abandoned();
    }
    drop(user);
    errno.restore();
    let walked = walked.flatten();
    match (walked, known) {
        (Some((site, outer)), known) => {
            if known.is_some_and(|known| known != site) {
                Note::SiteChanged.count();
            }
            // The first walk of a process finds the interpreter.
            let python = if python == 0 { python::key(at) } else { python };
            // SAFETY: `walk` gives only offsets on this thread's own stack, or in the page of the stack pointer.
            unsafe { remember(cache, [address, at], outer, python, site) };
            site
        }
        (None, known) => {
            Note::Site.count();
            known.unwrap_or(0)
        }
    }
}

/// Maximum number of modules that are added, or found to be gone, during a walk.
const MOST_CHANGES: usize = 2 * MOST_DEPTH;

/// Walks a stack; returns its call site, and where the return addresses of the program's innermost frames lie.
fn walk(user: &User, address: usize, at: usize, frame: usize) -> Option<(Site, Offsets)> {
    let mut frames = [(0_u64, 0_usize); MOST_DEPTH];
    for _ in 0..MOST_CHANGES {
        let modules = user.modules();
        let walked = match modules {
            Some(modules) => with_rules(|rules| walk_by(modules, rules, [address, at, frame], &mut frames)),
            None => Err(address),
        };
        match (walked, modules) {
            (Ok(_), _) if program::is_refused() => return None,
            (Ok(depth), Some(modules)) => return site_of(modules, at, frames.get(..depth)?),
            (Err(changed), _) if user.learn(changed) => {}
            _ => return None,
        }
    }
    None
}

/// Stores the return address of each frame of the stack, innermost first, and the address of the word that holds it; returns their number.
///
/// # Errors
/// Returns an address in a module that the set lacks, or that is not loaded any more.
fn walk_by(
    modules: &Modules,
    rules: &mut Rules,
    [address, at, frame]: [usize; 3],
    into: &mut [(u64, usize)],
) -> Result<usize, usize> {
    let mut window = Window::new();
    let mut read = |address: u64| window.word(address as usize).ok_or(());
    let mut registers = UnwindRegsX86_64::new(address as u64, at as u64 + 8, frame as u64);
    let mut next = address as u64;
    for (depth, into) in into.iter_mut().enumerate() {
        *into = (next, (registers.sp() as usize).wrapping_sub(8));
        if !modules.is_as_known(next as usize, object_at(next as usize).as_ref()) {
            return Err(next as usize);
        }
        let Some(here) = FrameAddress::from_return_address(next) else { return Ok(depth) };
        match modules.walker.unwind_frame(here, &mut registers, rules, &mut read) {
            Ok(Some(outer)) if outer >= LOWEST => next = outer,
            _ => return Ok(depth + 1),
        }
    }
    Ok(into.len())
}

/// Returns the call site of a stack's frames, and where the return addresses of the program's innermost frames lie.
fn site_of(modules: &Modules, at: usize, frames: &[(u64, usize)]) -> Option<(Site, Offsets)> {
    // In a Python program: the frames of libraries that the interpreter has called, then those of scripts.
    let mut scripts = [python::Place::default(); python::MOST_DEPTH];
    let depth = python::places(at, &mut scripts);
    let scripts = scripts.get(..depth)?;
    let native =
        if scripts.is_empty() { None } else { frames.iter().position(|(at, _)| python::is_interpreter(*at as usize)) };
    let native = frames.get(..native.unwrap_or(frames.len()))?;
    let native = native.iter().rev().map(|(address, _)| modules.place(*address));
    let mut caller = 0;
    for (module, address) in scripts.iter().rev().map(|place| (place.module, place.address)).chain(native) {
        let Some(site) = frames::frame(FrameDef { caller, module, address }) else {
            frames::no_room();
            return None;
        };
        caller = site;
    }
    // Frames of the executable first, and those that enter another library: inside of a library the stacks of many calls are equal.
    let mut chosen = [0_usize; OUTER];
    let mut count = 0;
    for wanted in [Says::Much, Says::Some] {
        for (at, pair) in frames.windows(2).enumerate() {
            if let [(inner, _), (outer, _)] = pair
                && modules.says(*inner, *outer) == wanted
                && let Some(place) = chosen.get_mut(count)
            {
                *place = at + 1;
                count += 1;
            }
        }
    }
    let chosen = chosen.get_mut(..count)?;
    chosen.sort_unstable();
    let mut outer = Offsets::default();
    for (place, frame) in outer.iter_mut().zip(chosen) {
        let (_, to) = *frames.get(*frame)?;
        let words = to.checked_sub(at).map(|bytes| bytes / size_of::<u64>());
        let is_safe = to / WINDOW == at / WINDOW || is_own_stack(at, to);
        match words.and_then(|words| u16::try_from(words).ok()).filter(|words| *words > 0 && is_safe) {
            Some(words) => *place = words,
            None => break,
        }
    }
    Some((caller, outer))
}

/// Lends a cache of unwind rules to `work`.
fn with_rules<T>(work: impl FnOnce(&mut Rules) -> T) -> T {
    let kept = RULES.iter().find_map(|place| {
        let rules = place.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: the pointer came from `Box::into_raw` below, and the swap gave it to this thread alone.
        (!rules.is_null()).then(|| unsafe { Box::from_raw(rules) })
    });
    let mut rules = kept.unwrap_or_else(|| Box::new(Rules::new_in()));
    let result = work(&mut rules);
    let mut rules = Box::into_raw(rules);
    for place in &RULES {
        if place.compare_exchange(std::ptr::null_mut(), rules, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            rules = std::ptr::null_mut();
            break;
        }
    }
    if !rules.is_null() {
        // SAFETY: as above; no place took it.
        drop(unsafe { Box::from_raw(rules) });
    }
    result
}

/// Forgets, in a forked child, what its parent's threads were doing, and memory that its parent has allocated.
pub(super) fn in_child() {
    RULES.iter().for_each(|rules| rules.store(std::ptr::null_mut(), Ordering::SeqCst));
    super::modules::in_child();
}
