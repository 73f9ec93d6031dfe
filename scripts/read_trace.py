#!/usr/bin/env python3
"""Prints the segments of a trace as CSV: a reader written from trace-format/FORMAT.md alone.

Usage: read_trace.py FILE

The output equals that of `dxt-analyze dump --format csv`, without call sites (`site`, `place`), if the nodes' clocks agree: times
are in ns since the earliest epoch of any process. Losses are reported on stderr, with exit code 3. Needs the module `zstandard`
(Debian: python3-zstandard) and memory for one process at a time. Section numbers below are those of FORMAT.md.
"""

import csv
import struct
import sys
import zlib

import zstandard

MAGIC, FRAME_MAGIC, TRAILER_MAGIC = b"\x89DXT\r\n\x1a\n", b"\xd7FRM", b"DXTend\r\n"
JOB, PROCESS, SEGMENTS = 1, 2, 3
MASK = (1 << 64) - 1
HEADER = (
    "rank,node,pid,thread,layer,op,nested,file,segment,offset,length,start_ns,end_ns,in_hdf5,data_set,mode,failed,errno"
)
LAYERS = ["POSIX", "STDIO", "MPIIO", "HDF5", "PNETCDF", "MPI", "DFS", "DAOS"]
MODES = ["", "vectored", "collective", "shared", "ordered", "nonblocking", "split"]
MAX_RAW, MAX_SEGMENTS_RAW, MAX_SEGMENTS, MAX_EXCEPTIONS = 256 << 20, 2_682_940, 65_536, 1_024


class Damaged(Exception):
    """Bytes that violate the format."""


def sealed(data, size, what):
    """Returns a fixed structure after checking its last four bytes, the CRC-32 of those before."""
    if len(data) < size:
        raise Damaged(f"{what} is cut short")
    if zlib.crc32(data[: size - 4]) != struct.unpack_from("<I", data, size - 4)[0]:
        raise Damaged(f"{what} has a wrong checksum")
    return data[:size]


class Values:
    """Section 5.1: a sequence of values."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        part = self.data[self.at : self.at + size]
        if len(part) != size:
            raise Damaged("a value is cut short")
        self.at += size
        return part

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        first = self.u8()
        if first < 251:
            return first
        if first > 253:
            raise Damaged(f"a number begins with {first}")
        return int.from_bytes(self.take(1 << (first - 250)), "little")

    def signed(self):
        return unzigzag(self.varint())

    def bytes(self):
        return self.take(self.varint())

    def string(self):
        return self.bytes().decode()

    def option(self, read):
        return read() if self.u8() else None

    def list(self, read):
        return [read() for _ in range(self.varint())]


def unzigzag(value):
    return (value >> 1) ^ -(value & 1)


def sections(raw):
    """Section 5.1: tag -> values."""
    found, at = {}, 0
    while at < len(raw):
        if len(raw) - at < 6:
            raise Damaged("a section is cut short")
        tag, length = struct.unpack_from("<HI", raw, at)
        if at + 6 + length > len(raw):
            raise Damaged("a section is cut short")
        found[tag] = Values(raw[at + 6 : at + 6 + length])
        at += 6 + length
    return found


class Frame:
    """Section 2: one frame header, and the block head of a segment frame."""

    def __init__(self, source, at, end):
        self.at = at
        head = sealed(source.read(at, min(32, end - at)), 32, "a frame header")
        if head[:4] != FRAME_MAGIC:
            raise Damaged("no frame begins here")
        self.kind, self.codec, self.region, self.stored, self.raw, self.crc = struct.unpack_from("<BBxxIIII", head, 4)
        if self.raw > (MAX_SEGMENTS_RAW if self.kind == SEGMENTS else MAX_RAW):
            raise Damaged(f"a frame of {self.raw} bytes")
        self.body = at + 32
        if self.kind == SEGMENTS:
            block = sealed(source.read(self.body, min(64, max(0, end - self.body))), 64, "a block head")
            self.count, self.thread = struct.unpack_from("<II", block)
            self.rate = struct.unpack_from("<i", block, 56)[0]
            self.body += 64
            if self.count > MAX_SEGMENTS:
                raise Damaged(f"a block of {self.count} segments")
        self.end = self.body + self.stored
        if self.end > end:
            raise Damaged("a frame is cut short")

    def payload(self, source):
        data = source.read(self.body, self.stored)
        if zlib.crc32(data) != self.crc:
            raise Damaged("a payload has a wrong checksum")
        if self.codec == 0 and self.stored == self.raw:
            return data
        if self.codec != 1 or self.stored >= self.raw:
            raise Damaged(f"codec {self.codec}, {self.stored} bytes stored for {self.raw}")
        try:
            raw = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompress(data, max_output_size=self.raw)
        except zstandard.ZstdError as error:
            raise Damaged(f"zstd: {error}") from error
        if len(raw) != self.raw:
            raise Damaged(f"{len(raw)} bytes instead of {self.raw}")
        return raw


class Source:
    """A file, and the problems found in it."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.size = self.file.seek(0, 2)
        self.problems = []

    def read(self, at, size):
        self.file.seek(at)
        return self.file.read(size)

    def frames(self, at, end):
        """Section 7, step 2: the frames of a range; skips damaged bytes between them."""
        while at < end:
            try:
                frame = Frame(self, at, end)
            except Damaged as error:
                self.problems.append(f"at byte {at}: {error}")
                at = self.next_frame(at + 1, end)
                continue
            yield frame
            at = frame.end

    def next_frame(self, at, end):
        step = 1 << 20
        while at < end:
            window = self.read(at, min(step + 31, end - at))
            found = window.find(FRAME_MAGIC)
            while found >= 0:
                try:
                    sealed(window[found : found + 32], 32, "")
                    return at + found
                except Damaged:
                    found = window.find(FRAME_MAGIC, found + 1)
            at += step
        return end

    def regions(self):
        """Sections 6 and 7, step 1: (begin, end, segments or None) of each region."""
        try:
            trailer = sealed(self.read(max(0, self.size - 32), 32), 32, "the trailer")
            index, count = struct.unpack_from("<QI", trailer, 8)
            if trailer[:8] != TRAILER_MAGIC or index + 64 * count + 32 != self.size:
                raise Damaged("the trailer does not add up")
            found = []
            for number in range(count):
                entry = sealed(self.read(index + 64 * number, 64), 64, "an index entry")
                begin, length, segments = struct.unpack_from("<QQQ", entry, 8)
                if begin + length > index:
                    raise Damaged("a region reaches behind the index")
                found.append((begin, begin + length, segments))
            return index, found
        except Damaged as error:
            self.problems.append(f"no index: {error}")
        found = []
        for frame in self.frames(64, self.size):
            if frame.kind in (PROCESS, SEGMENTS):
                if not found or found[-1][2] != frame.region:
                    found.append([frame.at, frame.end, frame.region])
                found[-1][1] = frame.end
        return self.size, [(begin, end, None) for begin, end, _ in found]


def read_job(source, end):
    """Section 5.2: operations by code, and shared names by hash."""
    for frame in source.frames(64, end):
        if frame.kind in (PROCESS, SEGMENTS):
            break
        if frame.kind == JOB:
            try:
                found = sections(frame.payload(source))
                ops, names = found.get(2, Values(b"\0")), found.get(3, Values(b"\0"))
                table = ops.list(lambda: (ops.varint(), ops.varint(), ops.varint(), ops.varint(), ops.string()))
                return {op[0]: (op[1], op[3], op[4]) for op in table}, dict(names.list(lambda: (names.varint(), names.bytes())))
            except Damaged as error:
                source.problems.append(f"the job frame at byte {frame.at}: {error}")
            return {}, {}
    source.problems.append("the job frame is lost")
    return {}, {}


class Process:
    """Section 5.3: description of a process."""

    def __init__(self, raw, names):
        found = sections(raw)
        info = found[1] if 1 in found else Values(bytes(13))
        self.rank, self.node, self.pid = info.signed(), info.string(), info.varint()
        info.varint()
        info.bytes()
        self.epoch = info.signed()
        info.varint(), info.varint(), info.option(info.varint), info.varint(), info.string()
        self.segments = info.varint()
        threads, files, streams, sets = (found.get(tag, Values(b"\0")) for tag in (2, 3, 4, 12))
        self.tids = dict(threads.list(lambda: (threads.varint(), threads.varint())))
        self.files = []
        for _ in range(files.varint()):
            digest, path = files.varint(), files.option(files.bytes)
            files.varint(), files.varint(), files.varint(), files.varint()
            path = path if path is not None else names.get(digest, b"file#%016x" % digest)
            self.files.append(path.decode(errors="replace"))
        table = streams.list(
            lambda: (streams.varint(), streams.varint(), streams.varint(), streams.u8(), streams.varint())
        )
        self.streams = {stream[0]: stream[1:5] for stream in table}
        self.data_set_of = {}
        for _ in range(sets.varint()):
            sets.varint()
            path = sets.bytes().decode(errors="replace") or "?"
            sets.varint(), sets.list(sets.varint)
            for _ in range(sets.varint()):
                self.data_set_of[sets.varint()] = path
                [sets.varint() for _ in range(7)]


def segments(raw, count, rate):
    """Section 4.2: (stream, offset, length, start, end) of each row; times corrected by section 4.1."""
    if len(raw) < 60:
        raise Damaged("no column heads")
    heads = [struct.unpack_from("<QBBH", raw, 12 * column) for column in range(5)]
    for column, (_, width, prediction, exceptions) in enumerate(heads):
        if width > 8 or exceptions > MAX_EXCEPTIONS or prediction > (column == 1):
            raise Damaged(f"a column of {width} bytes, prediction {prediction}, {exceptions} exceptions")
    at = 60 + 12 * sum(head[3] for head in heads)
    if len(raw) != at + count * sum(head[1] for head in heads):
        raise Damaged("planes and exceptions do not fill the payload")
    columns, patch_at = [], 60
    for base, width, _, exceptions in heads:
        values = [base] * count
        for plane in range(width):
            shift = 8 * plane
            values = [value + (byte << shift) for value, byte in zip(values, raw[at : at + count])]
            at += count
        for _ in range(exceptions):
            row, value = struct.unpack_from("<IQ", raw, patch_at)
            patch_at += 12
            if row >= count:
                raise Damaged("an exception behind the last row")
            values[row] = value
        columns.append([value & MASK for value in values])
    following, last_end = [0] * 1024, 0
    for stream, offset, length, gap, duration in zip(*columns):
        if heads[1][2] == 0:
            offset = following[stream % 1024] + unzigzag(offset)
        offset &= MASK
        following[stream % 1024] = offset + length
        start = (last_end + unzigzag(gap)) & MASK
        last_end = start + duration
        if last_end > MASK or stream >> 24:
            raise Damaged("an end that overflows, or a stream id that is too large")
        times = ((time + (time * rate >> 42)) & MASK for time in (start, last_end))
        yield stream, offset - (1 << 64) if offset >> 63 else offset, length, *times


def print_process(source, process, blocks, shift, ops, out):
    """Prints the rows of one process, thread by thread; returns their number."""
    numbers, printed = {}, 0
    for frame in sorted(blocks, key=lambda frame: (frame.thread, frame.at)):
        try:
            rows = list(segments(frame.payload(source), frame.count, frame.rate))
        except Damaged as error:
            source.problems.append(f"a segment block at byte {frame.at}: {error}")
            continue
        printed += len(rows)
        tid = process.tids.get(frame.thread, frame.thread)
        for stream, offset, length, start, end in rows:
            if stream not in process.streams:
                continue
            file, op, flags, errno = process.streams[stream]
            layer, mode, name = ops.get(op, (None, 0, "unknown"))
            number = numbers[file, layer] = numbers.get((file, layer), -1) + 1
            path = process.files[file] if file < len(process.files) else "?"
            layer = LAYERS[layer] if layer is not None and layer < len(LAYERS) else "OTHER"
            times = (min(start + shift, MASK), min(end + shift, MASK))
            start_of_row = (process.rank, process.node, process.pid, tid, layer, name, flags & 1)
            inside = (flags >> 3 & 1, process.data_set_of.get(stream, ""))
            how = (MODES[mode] if mode < len(MODES) else "other", flags >> 1 & 1, errno)
            out.writerow((*start_of_row, path, number, offset, length, *times, *inside, *how))
    return printed


def main(path):
    source = Source(path)
    head = source.read(0, 64)
    if head[:8] != MAGIC:
        sys.exit(f"{path}: not a DXT trace")
    try:
        if struct.unpack_from("<H", sealed(head, 64, "the header"), 8)[0] > 1:
            sys.exit(f"{path}: written in a newer format than this reader's, version 1")
    except Damaged as error:
        source.problems.append(str(error))
    end, places = source.regions()
    ops, names = read_job(source, end)
    found = []
    for begin, region_end, expected in places:
        process, blocks = None, []
        for frame in source.frames(begin, region_end):
            if frame.kind == SEGMENTS:
                blocks.append(frame)
            elif frame.kind == PROCESS and process is None:
                try:
                    process = Process(frame.payload(source), names)
                except Damaged as error:
                    source.problems.append(f"a process frame at byte {frame.at}: {error}")
        if process:
            found.append((process, blocks))
        elif expected:
            source.problems.append(f"{expected} segments of a process whose description is lost")
    found.sort(key=lambda pair: (pair[0].rank, pair[0].pid))
    start = min((process.epoch for process, _ in found), default=0)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(HEADER.split(","))
    for process, blocks in found:
        printed = print_process(source, process, blocks, process.epoch - start, ops, out)
        if printed != process.segments:
            source.problems.append(f"rank {process.rank}: {process.segments - printed} segments are lost")
    for problem in source.problems:
        print(f"read_trace.py: {path}: {problem}", file=sys.stderr)
    return 3 if source.problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
