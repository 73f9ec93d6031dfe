"""Makes Darshan logs (3.41, counters alone) of rows of counters that are sums over a run's files.

A row says if the files were shared. If so, the log has one record that stands for all ranks. If not, each rank has records of its own, among
which the sums are split evenly; the largest written file has the row's largest offset. Standard streams are rank 0's.
"""

import re
import struct
import zlib
from pathlib import Path

RECORDS = 32768
"""Maximum number of records of a log."""

NAMES = Path(__file__).resolve().parents[2] / "dxt-analyze/darshan-log/src/counters/names.rs"
"""Names and order of the counters of each module."""

INDEX = {"POSIX": (1, 4), "MPI_IO": (2, 3), "STDIO": (9, 2)}
"""Number and version of each module in a log."""


def counters():
    """Returns the names of the counters of each module: {"POSIX": [...], "POSIX_F": [...], ...}."""
    tables = re.findall(r"const (\w+): \[&str; \d+\] = \[(.*?)\];", NAMES.read_text(), re.S)
    return {name: re.findall(r'"(\w+)"', of) for name, of in tables}


def number(row, name):
    return float(row.get(name) or 0)


BOUNDS = (0, 100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30, 1 << 40)
"""Bounds of the ten bins of request sizes, bytes."""

STREAMS = 5
"""Number of files of a row that are standard streams and the launcher's."""


def is_sum(name):
    """True if an integer counter is a sum over files, which can be split."""
    other = ("_ACCESS", "_STRIDE", "ALIGNMENT", "MODE", "MAX_", "RANK", "RENAMED")
    return not any(part in name for part in other) or name.endswith("_COUNT")


LARGE = 5
"""Number of the first bin of large requests: 1 MiB and more."""


def bins(of, kind):
    """Returns the names of the counters of request sizes, of reads or writes."""
    return [name for name in of if name.startswith(f"POSIX_SIZE_{kind}_")]


def split(value, count, at):
    """Returns part number `at` of a sum that is split evenly into `count` parts."""
    return (at + 1) * int(value) // count - at * int(value) // count


def pairs(row, ranks):
    """Returns the number of files per rank: as many as files, or as reads and writes that follow no other, but no more than opens."""
    first = max(number(row, f"POSIX_{kind}S") - number(row, f"POSIX_SEQ_{kind}S") for kind in ("READ", "WRITE"))
    files = max(number(row, "num_files") - STREAMS, first, ranks)
    return max(1, min(int(min(number(row, "POSIX_OPENS"), files)), RECORDS) // ranks)


def of_files(row, of, ranks, each):
    """Returns the integers of each record of a row without shared files.

    Requests of at least 1 MiB are on one file of each rank, all others on all files. If the row's largest offset is beyond the mean, the first
    rank has as many of the large writes.
    """
    count = ranks * each
    largest, written = int(number(row, "POSIX_MAX_BYTE_WRITTEN")) + 1, int(number(row, "POSIX_BYTES_WRITTEN"))
    uneven = ranks > 1 and 1.05 * written / ranks < largest < written
    out = []
    for at in range(count):
        put = {name: int(number(row, name)) for name in of}
        put |= {name: split(value, count, at) for name, value in put.items() if is_sum(name)}
        for kind in ("READ", "WRITE"):
            for place, name in enumerate(bins(of, kind)):
                value = int(number(row, name))
                if place < LARGE:
                    continue
                put[name] = 0
                if at % each == 0 and uneven and kind == "WRITE":
                    mine = -(-value * largest // written)
                    put[name] = mine if at == 0 else split(value - mine, ranks - 1, at // each - 1)
                elif at % each == 0:
                    put[name] = split(value, ranks, at // each)
            put[f"POSIX_{kind}S"] = sum(put[name] for name in bins(of, kind))
            sequential = min(put[f"POSIX_SEQ_{kind}S"], max(0, put[f"POSIX_{kind}S"] - 1))
            put[f"POSIX_SEQ_{kind}S"] = sequential
            put[f"POSIX_CONSEC_{kind}S"] = min(put[f"POSIX_CONSEC_{kind}S"], sequential)
        put["POSIX_FILE_NOT_ALIGNED"] = min(put["POSIX_FILE_NOT_ALIGNED"], put["POSIX_READS"] + put["POSIX_WRITES"])
        out.append(put)
    for kind, moved in (("READ", "READ"), ("WRITE", "WRITTEN")):
        low = [sum(put[name] * BOUNDS[place] for place, name in enumerate(bins(of, kind))) for put in out]
        high = [sum(put[name] * BOUNDS[place + 1] for place, name in enumerate(bins(of, kind))) for put in out]
        part = (int(number(row, f"POSIX_BYTES_{moved}")) - sum(low)) / max(1, sum(high) - sum(low))
        for put, least, most in zip(out, low, high):
            put[f"POSIX_BYTES_{moved}"] = int(least + max(0.0, min(1.0, part)) * (most - least))
            put[f"POSIX_MAX_BYTE_{moved}"] = max(0, put[f"POSIX_BYTES_{moved}"] - 1)
    return out


class Times:
    """Splits the times of a row: those of reads and writes by bytes and calls, those of metadata calls evenly."""

    def __init__(self, row, all_records):
        self.row, self.count = row, len(all_records)
        self.sums = {kind: max(1, sum(self.weight(put, kind) for put in all_records)) for kind in ("READ", "WRITE")}

    @staticmethod
    def weight(put, kind):
        moved = "READ" if kind == "READ" else "WRITTEN"
        return put[f"POSIX_BYTES_{moved}"] + put[f"POSIX_{kind}S"] * BOUNDS[LARGE - 1]

    def of(self, names, put):
        """Returns the times of a record."""
        part = {f"POSIX_F_{kind}_TIME": self.weight(put, kind) / of for kind, of in self.sums.items()}
        part["POSIX_F_META_TIME"] = 1 / self.count
        return [number(self.row, name) * part.get(name, 1.0) for name in names]


def records(row, names, module):
    """Returns the records of one module of a row: (rank, file, integers, floats)."""
    of, of_f = names[module], names[module + "_F"]
    ints, floats = [int(number(row, name)) for name in of], [number(row, name) for name in of_f]
    if not any(ints):
        return
    ranks = max(1, int(number(row, "nprocs")))
    if module == "STDIO":
        # Each rank may have files; reads and writes are on different ones, such as settings and standard output.
        users = ranks if number(row, "STDIO_OPENS") >= ranks else 1
        for at in range(users):
            for file, other in ((RECORDS + 1 + at, "WRIT"), (RECORDS + 1 + users + at, "READ")):
                values = [
                    0 if other in name or (other == "WRIT" and name == "STDIO_OPENS") else split(value, users, at)
                    for name, value in zip(of, ints)
                ]
                put = [0.0 if other in name else value / users if name.endswith("_TIME") else value for name, value in zip(of_f, floats)]
                if any(values):
                    yield at, file, values, put
    elif number(row, "is_shared_file") or module != "POSIX":
        yield -1, 0, ints, floats
    else:
        each = pairs(row, ranks)
        all_records = of_files(row, of, ranks, each)
        times = Times(row, all_records)
        for at, put in enumerate(all_records):
            yield at // each, at + 1, [put[name] for name in of], times.of(of_f, put)


def log(row, names):
    """Returns the bytes of the log of a row."""
    seconds = max(0.001, number(row, "runtime_seconds"))
    ranks = max(1, int(number(row, "nprocs")))
    job = struct.pack("<6q", 1000, 1_700_000_000, 0, 1_700_000_000 + int(seconds), int(seconds % 1 * 1e9), ranks)
    job += b"%d" % (int(number(row, "job_id")) % 10**9) + b"\0" * 64
    job = job[:56] + b"lib_ver=3.4.4\n".ljust(1024, b"\0")
    job += f"/bin/{row['benchmark']}\nlustre\t/data".encode() + b"\0"
    files, modules = set(), {}
    for module in INDEX:
        parts = []
        for rank, file, ints, floats in records(row, names, module):
            files.add(file)
            head = struct.pack("<Qq", 1000 + file, rank)
            parts.append(head + struct.pack(f"<{len(ints)}q{len(floats)}d", *ints, *floats))
        if parts:
            modules[module] = b"".join(parts)
    text = b"".join(struct.pack("<Q", 1000 + file) + b"/data/file.%d\0" % file for file in sorted(files))
    regions = [zlib.compress(job), zlib.compress(text)]
    header = bytearray(1328)
    header[0:4] = b"3.41"
    struct.pack_into("<q", header, 8, 6567223)
    at = len(header) + len(regions[0])
    struct.pack_into("<2Q", header, 32, at, len(regions[1]))
    at += len(regions[1])
    for module, (place, version) in sorted(INDEX.items(), key=lambda item: item[1]):
        if module in modules:
            region = zlib.compress(modules[module])
            struct.pack_into("<2Q", header, 48 + 16 * place, at, len(region))
            struct.pack_into("<I", header, 1072 + 4 * place, version)
            regions.append(region)
            at += len(region)
    return bytes(header) + b"".join(regions)
