//! Codes of the findings of `stripes`, and their `explain` texts.

use crate::findings::codes;

codes! {
    UNALIGNED = "DXT-S001",
        "Many operations on a file begin or end inside a stripe.",
        "Share of reads and writes at the layer that reaches storage that do not begin and end at stripe boundaries: at least unaligned_share \
         of at least alignment_min_operations. Cost, an estimate: how much longer they took on the average than aligned ones of like size \
         (pace_min_sample of each, a difference of pace_clear_errors), times their number.",
        "Align data sets or the parts of ranks to stripes: H5Pset_alignment, the MPI-IO hint striping_unit, or the program's own offsets.",
        "Drishti's check of misaligned requests";
    CROSSING = "DXT-S002",
        "Many operations on a file cross a stripe boundary though they would fit in one stripe.",
        "Share of operations no longer than a stripe that touch two: at least crossing_share of at least alignment_min_operations. Cost, where no aligned \
         operations of like size tell it (DXT-S001): half of their time, as one stripe is half of two.",
        "Align them, or choose a stripe size that is a multiple of the request size.",
        "Lustre Operations Manual, chapter on striping";
    FALSE_SHARING = "DXT-S003",
        "Stripes of a file are written from several nodes at once: the file system passes each stripe's lock between them.",
        "Stripes of which processes on two nodes each wrote a part, and not the whole, at overlapping times. Cost: time of the writes \
         that overlap with one from another node.",
        "Let each stripe have one writer: align the parts of ranks, or let collective buffering write whole stripes.",
        "Lustre's extent locks; Xu et al., CUG 2017, section V";
    IMBALANCE = "DXT-S004",
        "The storage targets of a file get unequal shares of its bytes.",
        "Bytes on the busiest target against the mean over the layout's targets: at least target_imbalance, with at least \
         imbalance_min_stripes stripes' worth of bytes per target.",
        "Choose another stripe size or count: the accesses stride over the targets (`stripes --what-if`).",
        "Drishti's 30 % for imbalance; Yin et al., IOSIG, Figure 2";
    LOCAL_SHARING = "DXT-S005",
        "Stripes of a file are written by several processes of one node at once: they wait for each other in the node's file system client.",
        "As DXT-S003, but the writes that overlap are all of one node, whose client holds the stripe's lock for all. Cost: time of these writes. \
         Never more severe than warn.",
        "As for DXT-S003; it matters less, and soon more if the job is spread over more nodes.",
        "Lustre's extent locks belong to a client, which is a node";
}
