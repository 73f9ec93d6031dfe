//! Codes of the findings of `stripes`, and their `explain` texts.

use crate::findings::codes;

codes! {
    UNALIGNED = "DXT-S001",
        "Many operations on a file begin or end inside a stripe.",
        "Reported if (1) reads and writes that reach storage and begin or end off a stripe boundary >= \
         unaligned_share of all; (2) all >= alignment_min_operations; (3) the layout is known, or the file is \
         written. Saving: (mean time of unaligned calls - mean time of aligned calls) x unaligned calls, for reads \
         and writes and each power of 2 of the size separately, if there are >= pace_min_sample calls of both and the \
         difference >= pace_clear_errors standard errors.",
        "Align data sets or the parts of ranks to stripes: H5Pset_alignment, the MPI-IO hint striping_unit, or the \
         program's own offsets.",
        "Drishti's check of misaligned requests";
    CROSSING = "DXT-S002",
        "Many operations on a file cross a stripe boundary though each would fit in one stripe.",
        "Reported if (1) operations no longer than a stripe that touch two >= crossing_share of all; (2) all >= \
         alignment_min_operations; (3) the layout is known or the file is written. Saving: 0.5 x time on the file x \
         share of these operations, unless DXT-S001 has a measured saving.",
        "Align operations to stripe boundaries, or choose a stripe size that is a multiple of the request size.",
        "Lustre Operations Manual, chapter on striping";
    FALSE_SHARING = "DXT-S003",
        "Several nodes write to the same stripes at once: the file system passes locks between them.",
        "Reported if writes of processes on >= 2 nodes, each of a part of the same stripe, overlap in time. Saving: \
         time of these writes beyond that of the fastest write of the same size; if larger, the same for all writes \
         that follow a write of another node (if these take >= 1.5 x as long as writes that follow one of the same \
         node, >= 16 of each); plus half of the time of overlapping writes within a node, if requests are unaligned \
         and >= 0.5 x the stripe size.",
        "Let each stripe have one writer: align the parts of ranks, or let collective buffering write whole stripes.",
        "Lustre's extent locks; Xu et al., CUG 2017, section V";
    IMBALANCE = "DXT-S004",
        "The storage targets of a file get unequal shares of its bytes.",
        "Reported if (1) bytes on the busiest target >= target_imbalance x mean over all targets of the layout; (2) \
         bytes of the file >= imbalance_min_stripes x stripe size x targets that it uses.",
        "Choose another stripe size or count: accesses at a regular distance miss some targets. Simulate a layout first: `dxt-analyze stripes --what-if`.",
        "Drishti's 30 % for imbalance; Yin et al., IOSIG, Figure 2";
    LOCAL_SHARING = "DXT-S005",
        "Processes of one node write to the same stripes at once and wait for each other.",
        "Reported if writes of >= 2 processes of one node, each of a part of the same stripe, overlap in time, and \
         with no write of another node. Severity: warn at most. Saving: time of these writes beyond that of the \
         fastest of the same size.",
        "Let each stripe have one writer: align the parts of ranks, or let collective buffering write whole stripes. \
         The cost grows if the job runs on more nodes.",
        "Lustre's extent locks belong to a client, which is a node";
}
