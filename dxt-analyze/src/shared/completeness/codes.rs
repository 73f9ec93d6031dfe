//! Codes of findings on missing or damaged parts of the trace, and their explanations.

use crate::findings::codes;

codes! {
    DAMAGED = "DXT-T001",
        "A part of the trace is damaged, cut or absent.",
        "Reported if (1) a checksum or length does not match; (2) recorded calls or processes cannot be read; (3) \
         ranks of the job are absent; (4) recorded calls belong to no known file; (5) the trace was recovered after a \
         crash, and its calls were cut off or may be counted twice.",
        "Run `dxt-analyze check`; give all trace files of the job as arguments, and recover the calls of killed processes with \
         `dxt-analyze recover`. Until then take all numbers as lower bounds.",
        "trace-format/FORMAT.md";
    FOLDED = "DXT-T002",
        "Some operations are recorded only in sums, which are exact, and not as single calls.",
        "Reported, as info only, if operations without a segment (record of a single call) >= 1: those for which the \
         tracer's buffer had no room, or that a Darshan log only counts.",
        "Raise DXT_BUFFER_MAX, or set DXT_OVERFLOW=spill, if single operations matter; with Darshan, raise \
         DARSHAN_MODMEM.",
        "docs/configuration.md";
}
