//! Verifies signatures: reads the trace again, and compares each read and write with the next access of its signature. The code that
//! expands signatures is independent of the code that recognises them.

use super::pass::{Signed, Whose};
use super::places::{Places, Reading, Taken};
use crate::model::{ProcessId, Run};
use crate::scan::{Analysis, Block};
use iosig::{Access, Expected, Untimed, expand};
use rustc_hash::FxHashMap;

/// Result of verifying signatures against the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Verified {
    /// Number of reads and writes compared with signatures.
    pub accesses: u64,
    /// Bytes of the reads and writes that were compared with signatures.
    pub bytes: u64,
    /// Number of accesses that signatures regenerate in the correct order.
    pub covered: u64,
    /// Bytes of the accesses that signatures regenerate in the correct order.
    pub covered_bytes: u64,
    /// Number of accesses that differ from their signature, or that only the signature contains; 0 if all signatures are correct.
    pub wrong: u64,
}

impl Verified {
    fn merge(&mut self, other: &Self) {
        self.accesses = self.accesses.saturating_add(other.accesses);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.covered = self.covered.saturating_add(other.covered);
        self.covered_bytes = self.covered_bytes.saturating_add(other.covered_bytes);
        self.wrong = self.wrong.saturating_add(other.wrong);
    }
}

/// Analysis that compares a run's reads and writes with its signatures.
#[derive(Debug)]
pub struct Verify<'a> {
    by: FxHashMap<Whose, &'a Signed>,
}

impl<'a> Verify<'a> {
    /// Creates the analysis that compares reads and writes with `signatures`.
    #[must_use]
    pub fn new(signatures: &'a [Signed]) -> Self {
        Self { by: signatures.iter().map(|signed| (signed.whose, signed)).collect() }
    }
}

/// Part of a signature that was not compared yet, and the number of accesses left in its current stretch without a pattern.
struct Ahead<'a> {
    expected: Box<dyn Iterator<Item = Expected> + Send + 'a>,
    unknown: u64,
}

impl Ahead<'_> {
    /// Returns the next access of the signature, `None` if that access has no pattern; an error at the end of the signature.
    fn next(&mut self) -> Result<Option<Untimed>, ()> {
        loop {
            if let Some(left) = self.unknown.checked_sub(1) {
                self.unknown = left;
                return Ok(None);
            }
            match self.expected.next() {
                Some(Expected::Access(what)) => return Ok(Some(what)),
                Some(Expected::Unknown { accesses, .. }) => self.unknown = accesses,
                None => return Err(()),
            }
        }
    }

    fn compare(&mut self, access: &Access, found: &mut Verified) {
        match self.next() {
            Ok(Some(what)) if what == access.untimed() => {
                found.covered += 1;
                found.covered_bytes = found.covered_bytes.saturating_add(access.length);
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(()) => found.wrong += 1,
        }
    }

    /// Returns the number of accesses at the end of the signature that the trace does not contain.
    fn rest(&mut self) -> u64 {
        let mut count = 0;
        while count < u64::from(u32::MAX) && self.next().is_ok() {
            count += 1;
        }
        count
    }
}

struct Current<'a> {
    process: ProcessId,
    thread: u32,
    places: Places,
    ahead: Vec<Option<Ahead<'a>>>,
    reading: Reading,
}

impl Current<'_> {
    fn compare(ahead: &mut [Option<Ahead<'_>>], found: &mut Verified, place: u32, access: &Access) {
        if let Some(Some(ahead)) = ahead.get_mut(place as usize) {
            ahead.compare(access, found);
        }
    }
}

/// Result so far of one thread of the analyzer, and the state of the traced thread whose calls it compares.
#[derive(Default)]
pub struct Partial<'a> {
    verified: Verified,
    current: Option<Current<'a>>,
}

impl std::fmt::Debug for Partial<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partial").field("verified", &self.verified).finish_non_exhaustive()
    }
}

impl Partial<'_> {
    fn end_thread(&mut self) {
        let Some(mut current) = self.current.take() else { return };
        let found = &mut self.verified;
        current.reading.order.end(|place, access| Current::compare(&mut current.ahead, found, place, access));
        for ahead in current.ahead.iter_mut().flatten() {
            found.wrong = found.wrong.saturating_add(ahead.rest());
        }
    }

    /// Returns the result of the verification; must be called after the last block.
    #[must_use]
    pub fn verified(mut self) -> Verified {
        self.end_thread();
        self.verified
    }
}

impl<'a> Analysis for Verify<'a> {
    type Partial = Partial<'a>;

    fn start(&self) -> Partial<'a> {
        Partial::default()
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial<'a>, block: &Block<'_>) {
        let same = |current: &Current<'_>| (current.process, current.thread) == (block.number, block.thread);
        if !partial.current.as_ref().is_some_and(same) {
            partial.end_thread();
            let places = Places::new(block.run, block.process);
            let (process, thread) = (block.number, block.thread);
            let ahead = places.of.iter().map(|&(file, layer, within)| {
                let signed = self.by.get(&Whose { process, thread, file, layer, within })?;
                Some(Ahead { expected: Box::new(expand(&signed.signature)), unknown: 0 })
            });
            let (ahead, reading) = (ahead.collect(), places.begin());
            partial.current = Some(Current { process, thread, ahead, reading, places });
        }
        let Some(current) = &mut partial.current else { return };
        let found = &mut partial.verified;
        for row in block.rows() {
            let Taken::Access(place, access, _) = current.reading.take(&current.places, block, &row) else { continue };
            found.accesses += 1;
            found.bytes = found.bytes.saturating_add(row.length);
            let ahead = &mut current.ahead;
            if current.places.by_start(place) {
                current
                    .reading
                    .order
                    .push(place, access, |place, access| Current::compare(ahead, found, place, access));
            } else {
                Current::compare(ahead, found, place, &access);
            }
        }
    }

    fn merge(&self, into: &mut Partial<'a>, mut other: Partial<'a>) {
        into.end_thread();
        other.end_thread();
        into.verified.merge(&other.verified);
    }
}

/// Compares a run's reads and writes with `signatures`, in a separate pass over the trace.
#[must_use]
pub fn verify(run: &Run, signatures: &[Signed]) -> Verified {
    let bar = crate::progress::Bar::new(run.segments(), "verifying");
    let (found, _) = crate::scan::scan(run, &Verify::new(signatures), &bar);
    found.verified()
}
