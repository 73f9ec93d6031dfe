//! Codes of the findings of `compare`, and their `explain` texts.

use crate::findings::codes;

codes! {
    SLOWER_OPERATION = "DXT-D001",
        "An operation is slower in the second run.",
        "Tests: rank-sum over calls, signed-rank over ranks' means. Reported if, in one of them, (1) q <= compare_q \
         (Benjamini-Hochberg over all tests); (2) median slowdown >= min_slowdown; (3) calls >= compare_min_sample in \
         each run, or ranks in both >= units_min_sample. It compares durations, or bandwidths if mean sizes differ by \
         > 5 %. Saving: second run's time - first run's time x ratio of calls (of bytes, for bandwidths).",
        "Compare the runs' layouts, hints and sizes; repeat both runs before you blame the change.",
        "Mann & Whitney, 1947; Wilcoxon, 1945; Benjamini & Hochberg, 1995";
    MORE_CALLS = "DXT-D002",
        "The second run makes more calls of an operation.",
        "Reported if (1) calls in the second run > (1 + growth_share) x calls in the first; (2) calls added >= \
         growth_min_calls. If the numbers of ranks differ, the second run's calls are scaled to the ranks of the \
         first.",
        "Check which files the added calls are on; run `dxt-analyze checks` to see whether fewer calls would do.",
        "More calls take longer at the same speed";
    MORE_BYTES = "DXT-D003",
        "The second run moves more bytes by an operation.",
        "Reported if (1) bytes in the second run > (1 + growth_share) x bytes in the first; (2) bytes added >= \
         traffic_min_bytes. If the numbers of ranks differ, the second run's bytes are scaled to the ranks of the \
         first.",
        "Check which files the added bytes are in; run `dxt-analyze checks` to find bytes that move twice.",
        "More bytes take longer at the same speed";
    FILES_DIFFER = "DXT-D004",
        "Files that move bytes are in one run only.",
        "Reported, as info only, if a file that moves bytes has no match by (1) path; (2) path below the common folder \
         of the unmatched files; (3) that path apart from numbers; (4) data set: all unmatched files of each run, \
         different in number, with bytes within 10 %.",
        "If the runs use the same files under other names, select files that match in both runs with --files.",
        "Calls on different files cannot be compared one to one";
    LAYOUT_CHANGED = "DXT-D005",
        "A file has another stripe layout in the second run.",
        "Reported if stripe size, stripe count, start or pool of a component differs on a file in both runs. Storage \
         targets and guessed layouts are not compared.",
        "Give the files of both runs the same layout with `lfs setstripe` before you compare speeds.",
        "The stripe layout decides how many storage targets work in parallel";
    HINTS_CHANGED = "DXT-D006",
        "MPI-IO hints differ between the runs.",
        "Reported, as info only, if the value of a hint, as requested or as in effect, differs on a file in both runs.",
        "Set the same hints (ROMIO_HINTS, MPI_Info) in both runs before you compare speeds.",
        "Hints decide how MPI-IO moves the bytes";
    RANKS_CHANGED = "DXT-D007",
        "The number of ranks differs between the runs.",
        "Reported if the numbers of ranks in the traces differ. Calls and bytes are then compared per rank.",
        "To compare speeds, run the job with the same number of ranks both times.",
        "Speed and number of calls depend on the number of ranks";
    RANK_GOT_SLOWER = "DXT-D008",
        "From the first run to the second, a rank slowed down more than the other ranks.",
        "ratio = time per byte in the second run / in the first, per rank. Reported if (1) modified z-score of \
         ln(ratio) over ranks >= modified_z; (2) ratio >= min_slowdown; (3) ratio / median ratio >= min_slowdown; (4) \
         ranks that move bytes in both runs >= units_min_sample. Saving: time in the second run x (1 - 1 / ratio), \
         summed over these ranks.",
        "Run `dxt-analyze outliers --by rank` on the second run's trace.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
    OTHER_INTERFACE = "DXT-D010",
        "The second run reads or writes through another interface.",
        "Interface: the layer through which the program moves most bytes. Reported if it differs for reads or for \
         writes; DXT-D001 on reads and writes, DXT-D002 and DXT-D003 are then not reported. Severity: warn if the \
         bandwidth < 1 / min_slowdown x the first run's, else info. Saving, of a warning: bytes / bandwidth (by the \
         slowest process) of the second run minus that of the first.",
        "Compare the job's time and the bandwidths of both runs: single operations of different interfaces are not \
         comparable.",
        "Wright et al., RIOT: A Parallel Input/Output Tracer, UKPEW 2011, Table 5";
    SLOWER_RUNS = "DXT-D011",
        "The job got slower, by more than its repeats vary.",
        "Needs >= 2 runs of each side. Reported if (1) q of Welch's test of the run times, over all measures, <= \
         compare_q; (2) the ranges of run times do not overlap; (3) mean of the second side >= min_slowdown x mean of \
         the first; (4) ranks are equal in number.",
        "See which numbers differ by more than between repeats, then compare one run of each side in detail.",
        "Welch, Biometrika 34, 1947; Benjamini & Hochberg, 1995";
    FILE_GOT_SLOWER = "DXT-D009",
        "From the first run to the second, calls on a file slowed down more than on the other files.",
        "ratio = time per byte in the second run / in the first, per file. Reported if (1) modified z-score of \
         ln(ratio) over files >= modified_z; (2) ratio >= min_slowdown; (3) ratio / median ratio >= min_slowdown; (4) \
         files that move bytes in both runs >= units_min_sample. Saving: time in the second run x (1 - 1 / ratio), \
         summed over these files.",
        "Run `dxt-analyze outliers --by file` on the second run's trace.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
}
