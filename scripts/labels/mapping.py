"""Mapping of the analyzer's patterns and finding codes, and of Drishti's codes, to the labels of other people.

TraceBench (Lustre, IO500) labels patterns: its mapping was fixed before the first run. DIOBench labels the cause that its makers built into a
run, one or two of eight: its mapping was settled on the open half of the rows, so only other rows can confirm it.
"""

DIMENSIONS = (
    "access_granularity",
    "metadata_intensity",
    "parallelism_efficiency",
    "access_pattern",
    "interface_choice",
    "file_strategy",
    "throughput_utilization",
    "healthy",
)

PAGE = 4096
"""Size of the data of a file below which DIOBench's makers mean its metadata, bytes."""

MANY = 32
"""Number of processes from which DIOBench's makers call a file per process a problem."""

# TraceBench's labels, by dimension.
TRACEBENCH = {
    "SML-R": 0, "SML-W": 0, "MSL-R": 0, "MSL-W": 0, "HMD": 1, "SLIM": 2, "RLIM": 2, "RMA-R": 3, "RMA-W": 3, "RDA-R": 3,
    "NC-R": 4, "NC-W": 4, "MPNM": 4, "LLL-R": 4, "LLL-W": 4, "SHF": 5,
}  # fmt: skip

# Finding codes, by dimension.
CODES = {
    0: "C004 C005 C006 C007 C029 C030 C031 S001 S002 V007 V021 V030 V033",
    1: "C011 C012 C034 C035 C036 C037 V010 V017 V018 V039",
    2: "C013 C014 C015 C016 C017 C039 L008 O002 O003 O004 S004 V006 V011 V013 V035",
    3: "C008 C009 C024 C025 C026 C027 V024 V025 V034 V040",
    4: "C001 C018 C019 C020 L006 V008 V019",
    5: "C010 S003 S005 V005 V022 V023 V026",
    6: "C032 V015 V020 V028",
}

# Drishti's codes, by dimension; P17 to P22 are its checks of metadata and balance, M01 to M05 those of MPI-IO.
DRISHTI = {
    0: "P05 P06 P07 P08 P15 P16",
    1: "P17",
    2: "P18 P19 P21 P22",
    3: "P09 P10 P11 P12 P13 P14",
    4: "S01 M01 M02 M03",
}


def of_codes(table, codes):
    """Returns the dimensions of finding codes such as DXT-C004 or P05."""
    names = {code: dimension for dimension, of in table.items() for code in of.split()}
    return {names[code.rpartition("-")[2]] for code in codes if code.rpartition("-")[2] in names}


def labels_of(patterns):
    """Returns TraceBench's labels for a list of patterns."""
    out = set()
    for one in patterns:
        kind, end = one["pattern"], {"read": "-R", "write": "-W"}.get(one.get("operation"), "")
        match one["aspect"]:
            case "size" if kind in ("small", "mixed"):
                out.add("SML" + end)
            case "alignment" if kind == "unaligned":
                out |= {"MSL-R", "MSL-W"}
            case "order" if kind in ("strided", "random"):
                out.add("RMA" + end)
            case "repetition" if kind in ("read_again", "read_by_all"):
                out.add("RDA-R")
            case "sharing" if kind == "shared_file":
                out.add("SHF")
            case "targets" if kind == "one_target":
                out.add("SLIM")
            case "ranks" if kind in ("unbalanced", "one_rank"):
                out.add("RLIM")
            case "collectives" if kind == "independent":
                out.add("NC" + end)
            case "interface" if kind == "posix" and one["notable"]:
                out.add("MPNM")
            case "interface" if kind == "streams":
                out |= {"LLL-R", "LLL-W"}
            case "metadata" if kind == "heavy":
                out.add("HMD")
    return out


def cause_of(patterns):
    """Returns DIOBench's dimensions for a list of patterns.

    Its labels name what a run was built to suffer from, not all of its patterns. What follows from something else is therefore left out: small
    requests of small files and of random order, and what is shared or independent without cost.
    """
    kinds = {(one["aspect"], one["pattern"]): one for one in patterns}
    size = max((one["amount"] for one in patterns if one["aspect"] == "size"), default=0)
    processes = max((one["amount"] for one in patterns if one["pattern"] == "file_per_process"), default=0)
    if ("syncs", "frequent") in kinds:
        return {6}
    small, is_shared = ("size", "small") in kinds, ("sharing", "shared_file") in kinds
    if (("ranks", "unbalanced") in kinds or ("ranks", "one_rank") in kinds) and not (small and is_shared):
        return {2}
    if ("metadata", "heavy") in kinds and not is_shared:
        of_files = {one.get("operation") for one in patterns if one["pattern"] == "small_files"}
        # Small files that are only read are those of packages and scripts.
        return {7} if of_files == {"read"} else {5} if of_files and size >= PAGE else {1}
    if ("order", "random") in kinds:
        return {3}
    out = set()
    if small:
        out.add(0)
    posix = kinds.get(("interface", "posix"), {}).get("notable") and is_shared
    if posix or ("collectives", "independent") in kinds:
        out.add(4)
    if processes >= MANY:
        out.add(5)
    return out or {7}
