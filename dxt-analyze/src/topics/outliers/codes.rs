//! Codes of the findings of `outliers`, and their `explain` texts.

use crate::findings::codes;

codes! {
    SLOW_OPERATIONS = "DXT-O001",
        "Single operations take far longer than others of the same kind.",
        "Compares operations of the same layer, name and form. Reported if (1) operations >= box_min_sample; (2) \
         bandwidth < Q1 - fence_iqr x IQR, or, by duration, duration > Q3 + fence_iqr x IQR. Saving: excess over the \
         time of the same bytes at the median bandwidth, or over a call of median duration. Severity: always info, \
         since DXT-V001, DXT-V002 and DXT-V003 rate long calls by the run time that they cost.",
        "Check what the slow operations share: a stripe, an OST, a node, a time window (run `dxt-analyze \
         outliers` and `dxt-analyze timeline`). One time window points to other jobs; one OST to the file system; one \
         rank to its node.",
        "Xu et al., DXT: Darshan eXtended Tracing, CUG 2017, section IV; Tukey, Exploratory Data Analysis, 1977";
    SLOW_RANK = "DXT-O002",
        "A rank is slower than the others at the same operations.",
        "Slowdown: time / time of the same calls, by request size, at the median rank. Reported if (1) ranks >= \
         units_min_sample; (2) z-score of ln(slowdown) >= modified_z; (3) slowdown >= min_slowdown; and (4) q <= \
         false_discovery_rate; or (5) of >= 3 ranks with >= several_min calls, <= half are >= \
         min_slowdown, each at p <= false_discovery_rate / (4 x ranks), or, of >= 8, with a gap to all others >= \
         max(log_gap, their range); or (6) of >= 8 with >= many_calls_min calls, <= quarter_share likewise by total \
         time; or (7) one rank has >= most_share of >= few_min outliers (DXT-V002). Saving: time minus the time at the median slowdown.",
        "Compare the rank's node, offsets and sizes with those of other ranks (run `dxt-analyze outliers --by node` \
         and `dxt-analyze stripes`).",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SLOW_NODE = "DXT-O003",
        "A node is slower than the others at the same operations.",
        "Slowdown: time / time of the same calls, by request size, at the median node. Reported if (1) nodes >= \
         units_min_sample; (2) z-score of ln(slowdown) >= modified_z; (3) slowdown >= min_slowdown; and (4) q <= \
         false_discovery_rate; or (5) as for DXT-O002; or (6) of >= 3 nodes, <= quarter_share by total \
         time; or (7) one node has >= most_share of >= few_min outliers (DXT-V002); or (8) all ranks of <= half of \
         the nodes are slower than all other ranks by >= half_share of the range of the others. Saving: time minus \
         that of the same calls at the median slowdown.",
        "Have the node checked: its network link, its file system client, what else runs there.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SLOW_TARGET = "DXT-O004",
        "A storage target (OST) is slower than the others at the same operations.",
        "Slowdown as for DXT-O002, over targets. Reported if (1) targets >= units_min_sample; (2) z-score >= modified_z; (3) \
         slowdown >= min_slowdown; and (4) q <= false_discovery_rate; or (5) to (7) as for DXT-O002, \
         but >= max(slower_ratio, min_slowdown), or, of two targets, >= max(double_ratio, min_slowdown), also in the \
         target's fastest calls, or more than its load explains. Calls on several targets count for each; of the sets \
         with a target, the least slow decides. Overloaded: the target's calls would usually take >= double_ratio x \
         the others' median. Saving: time minus that at the median slowdown.",
        "Report the slow OST to the file system's administrators; place files on other OSTs with `lfs setstripe -o` \
         or `lfs migrate`.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SLOW_FILE = "DXT-O005",
        "A file, a part of it, or a folder of files is slower than others at the same operations.",
        "Slowdown as for DXT-O002, over files. Reported if (1) files >= units_min_sample; (2) z-score >= modified_z; \
         (3) slowdown >= min_slowdown; and (4) q <= false_discovery_rate; or (5) slowdown >= \
         slower_ratio (folders of >= 2 files: >= double_ratio) at p <= false_discovery_rate / (4 x files). A slow \
         file that only one rank uses is a slow rank (DXT-O002) if that rank makes < several_min such calls on other \
         files, or if opens and closes take >= max(slower_ratio, slowdown^half_share) x the usual time; else both are \
         named. Saving: time minus that of the same calls at the median slowdown.",
        "See how the file is accessed: run `dxt-analyze stripes` and `dxt-analyze outliers --by op`, each with \
         --files.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
}
