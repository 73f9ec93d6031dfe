//! Codes of the findings of `outliers`, and their `explain` texts.

use crate::findings::codes;

codes! {
    SLOW_OPERATIONS = "DXT-O001",
        "Single operations take far longer than their like.",
        "Bandwidth below Q1 - fence_iqr IQR (or duration above Q3 + fence_iqr IQR) of operations of the same layer, name and form; \
         at least box_min_sample of them. Cost: time beyond what the same takes at the median.",
        "See what they share: a stripe, an OST, a node, a moment (`outliers`, `timeline`). Everything late in one moment points to other jobs; \
         one OST to the file system; one rank to its node.",
        "Xu et al., DXT: Darshan eXtended Tracing, CUG 2017, section IV; Tukey, Exploratory Data Analysis, 1977";
    SLOW_RANK = "DXT-O002",
        "A rank is slower than the others at the same operations.",
        "Its time over the usual time of requests of the same sizes, on a logarithmic scale: robust score over all ranks at least modified_z, \
         kept by Benjamini & Hochberg's procedure at false_discovery_rate, and at least min_slowdown times slower than the median; at least \
         units_min_sample ranks. Cost: its time beyond the same work at the median. In `causes` also by the time in its reads or writes against as many of \
         their like, 1.15 times at least (a target: 1.6), where the gap to all others is as wide as these spread: who is slow for a while only, or by those calls that no cache serves.",
        "Compare its node, its offsets and its sizes with the others' (`outliers --by node`, `stripes`).",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SLOW_NODE = "DXT-O003",
        "A node is slower than the others at the same operations.",
        "As DXT-O002, over nodes.",
        "Have the node checked: its network link, its file system client, what else runs there.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SLOW_TARGET = "DXT-O004",
        "A storage target (OST) is slower than the others at the same operations.",
        "As DXT-O002, over storage targets; an operation over several targets counts on each, with its time shared out by bytes. Overloaded: with 3 times the calls of \
         the median of the others.",
        "Report it to the file system's administrators; place files elsewhere with `lfs setstripe -o` or `lfs migrate`.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SLOW_FILE = "DXT-O005",
        "A file, a part of one, or a folder of files is slower than the others at the same operations.",
        "As DXT-O002, over files. A folder has at least two of them and is twice as slow; of two folders each process that uses both must find the same one slower. \
         A file that one process alone uses is told as that process's (DXT-O002) if it has no other with such calls, or if opens and closes are slow as well (1.5 times, and by half of the \
         other calls' logarithm); else both are named.",
        "See how it is accessed: `stripes --files`, `outliers --by op --files`.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
}
