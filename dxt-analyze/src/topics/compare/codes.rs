//! Codes of the findings of `compare`, and their `explain` texts.

use crate::findings::codes;

codes! {
    SLOWER_OPERATION = "DXT-D001",
        "An operation got slower between two runs.",
        "Single calls by a rank-sum test, or each rank's mean by a signed-rank test: false discovery rate at most compare_q, and slower by min_slowdown; at least compare_min_sample calls or units_min_sample ranks in both runs. Cost: time beyond the same calls or bytes at the first run's mean.",
        "Compare layouts, hints and sizes; repeat both runs.",
        "Mann & Whitney, 1947; Wilcoxon, 1945; Benjamini & Hochberg, 1995";
    MORE_CALLS = "DXT-D002",
        "The second run makes more calls of an operation.",
        "More by growth_share and growth_min_calls; per rank if the number of ranks changed.",
        "See on which file; `checks` says whether they could be fewer.",
        "ours";
    MORE_BYTES = "DXT-D003",
        "The second run moves more bytes by an operation.",
        "More by growth_share and traffic_min_bytes; per rank if the number of ranks changed.",
        "See on which file; `checks` finds bytes that move twice.",
        "ours";
    FILES_DIFFER = "DXT-D004",
        "Files that move bytes are in one run only.",
        "By path, then below different folders, then with numbers left open.",
        "Compare with --files that match both.",
        "ours";
    LAYOUT_CHANGED = "DXT-D005",
        "A file has another stripe layout.",
        "Stripe sizes, counts and extents of files in both runs.",
        "Lay both out alike.",
        "ours";
    HINTS_CHANGED = "DXT-D006",
        "MPI-IO hints differ.",
        "Hints asked for and in effect, of files in both runs.",
        "Set the same hints.",
        "ours";
    RANKS_CHANGED = "DXT-D007",
        "The number of ranks differs.",
        "Ranks in the traces.",
        "Run both with as many ranks.",
        "ours";
    RANK_GOT_SLOWER = "DXT-D008",
        "A rank got slower against the others.",
        "Modified z-score of the logarithm of the ratio of its times per byte at least modified_z, and slower by min_slowdown, both than before and than the rest; at least units_min_sample ranks.",
        "See `outliers --by rank` of the second run.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
    OTHER_INTERFACE = "DXT-D010",
        "The second run reads or writes through another interface.",
        "The layer through which the program moves most bytes, of reads or of writes, is another one; calls and bytes of single operations are then not compared one by one. Cost: time of the slowest process in these calls beyond that of the first run.",
        "Compare the lines at the top: time, time inside, bandwidth.",
        "Wright et al., RIOT: A Parallel Input/Output Tracer, UKPEW 2011, Table 5";
    SLOWER_RUNS = "DXT-D011",
        "The job got slower, by more than its repeats differ.",
        "Run times of both ways by Welch's test, with a false discovery rate over all numbers of at most compare_q, ranges that have nothing in common, and means that differ by min_slowdown. Only with as many ranks.",
        "See which numbers differ beyond the scatter, then the two runs in detail.",
        "Welch, Biometrika 34, 1947; Benjamini & Hochberg, 1995";
    FILE_GOT_SLOWER = "DXT-D009",
        "A file got slower against the others.",
        "As DXT-D008, over files.",
        "See `outliers --by file` of the second run.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
}
