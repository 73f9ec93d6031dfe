//! Codes of findings on the trace itself, and their explanations.

use crate::findings::codes;

codes! {
    DAMAGED = "DXT-T001",
        "A part of the trace is damaged, cut or absent.",
        "Every checksum is verified, every rank and process of the job is looked for, and every length is compared with the file's.",
        "Run `dxt-analyze check`; name all files of the job, and recover spools with `dxt-analyze recover`. Until then take all numbers as lower bounds.",
        "trace-format/FORMAT.md";
    FOLDED = "DXT-T002",
        "Operations were folded into counters: their sums are exact, the single operations are gone.",
        "The tracer counts every operation for which its buffer had no room.",
        "Raise DXT_BUFFER_MAX, or set DXT_OVERFLOW=spill, if single operations matter.",
        "docs/configuration.md";
}
