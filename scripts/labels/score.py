"""Scores the analyzer against labelled logs; scripts/labels.sh says how."""

import argparse
import collections
import csv
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import counted
import mapping

DIMENSIONS = mapping.DIMENSIONS


def run(command):
    """Runs a command; returns its output, processor time in seconds, and memory in MiB (None, 0, 0 if it fails)."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if process.returncode not in (0, 3):
        return None, 0, 0
    return text, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def analyzed(analyze, log):
    """Returns what the analyzer says about a log."""
    text, seconds, memory = run([analyze, "report", "--format", "json", str(log)])
    if text is None:
        return None
    report = json.loads(text)
    verdict = report["verdict"]
    loud = [found["code"] for found in verdict["findings"] if found["severity"] != "info"]
    return {
        "patterns": report["patterns"],
        "loud": loud,
        "first": verdict["states"],
        "seconds": seconds,
        "memory": memory,
    }


def drishti(log):
    """Returns the codes that Drishti reports on a log; None if it fails."""
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(["drishti", "--csv", str(log)], cwd=place, capture_output=True, check=False)
        tables = [path for path in [*Path(place).glob("*.csv"), *log.parent.glob(log.stem + "*.csv")] if path.is_file()]
        if done.returncode != 0 or not tables:
            return None
        rows = list(csv.DictReader(tables[0].open()))
        for path in tables:
            path.unlink()
    return [code for row in rows for code, value in row.items() if value in ("True", "true", "1")]


class Counts:
    """True positives, false positives and false negatives by label."""

    def __init__(self):
        self.by = collections.defaultdict(lambda: [0, 0, 0])

    def add(self, truth, said):
        for label in truth | said:
            self.by[label][0 if label in truth and label in said else 1 if label in said else 2] += 1

    def rows(self, names):
        return [(name, self.by[label]) for label, name in names if any(self.by[label])]

    def total(self):
        return [sum(of[at] for of in self.by.values()) for at in range(3)]


def scores(of):
    hit, false, missed = of
    precision = hit / (hit + false) if hit + false else 0.0
    recall = hit / (hit + missed) if hit + missed else 0.0
    f1 = 2 * hit / (2 * hit + false + missed) if hit + false + missed else 0.0
    return precision, recall, f1


def table(title, counts, names):
    print(f"\n{title}")
    print(f"{'':28}{'hit':>5}{'false':>7}{'missed':>8}{'precision':>11}{'recall':>8}{'F1':>7}")
    for name, of in [*counts.rows(names), ("all", counts.total())]:
        print(f"{name:28}{of[0]:5}{of[1]:7}{of[2]:8}" + "{:11.2f}{:8.2f}{:7.2f}".format(*scores(of)))


def refused(unread):
    if unread:
        print(f"\nDrishti fails on {unread} labelled logs, which its scores leave out")


def cost(results):
    if results:
        seconds, memory = sorted(one["seconds"] for one in results), max(one["memory"] for one in results)
        half = seconds[len(seconds) // 2]
        print(f"\nprocessor time per log: median {half:.2f} s, longest {seconds[-1]:.2f} s; memory at most {memory:.0f} MiB")


def stability(results):
    """Prints the share of repeats whose first finding has the dimension that is most frequent among the repeats of their configuration."""
    by = collections.defaultdict(list)
    for configuration, result in results:
        first = mapping.of_codes(mapping.CODES, [result["first"]] if result["first"] else [])
        by[configuration].append(min(first, default=None))
    several = [classes for classes in by.values() if len(classes) > 1]
    usual = sum(collections.Counter(classes).most_common(1)[0][1] for classes in several)
    runs = sum(len(classes) for classes in several)
    if runs:
        print(f"\nrepeats of one configuration whose first finding is in the usual dimension: {usual} of {runs}")


def labelled_logs(folder, options, out):
    """Scores logs that are named in index.tsv."""
    rows = list(csv.DictReader((folder / "index.tsv").open(), delimiter="\t"))
    found = {path.name: path for path in folder.rglob("*.darshan")}
    said = {way: Counts() for way in ("patterns", "findings above info", "first finding", "Drishti")}
    by_label, results, empty, failed, unread = Counts(), [], 0, 0, 0
    for row in rows:
        log = found.get(row["file"])
        result = analyzed(options.analyze, log) if log else None
        if result is None:
            failed += 1
            continue
        results.append((row["configuration"], result))
        out[row["file"]] = result
        labels = {label for label in re.split(r"[,\s]+", row["labels"] or "") if label in mapping.TRACEBENCH}
        if not labels:
            continue
        truth = {mapping.TRACEBENCH[label] for label in labels}
        empty += not any(one["aspect"] == "size" for one in result["patterns"])
        patterns = mapping.labels_of(result["patterns"])
        by_label.add(labels, patterns)
        said["patterns"].add(truth, {mapping.TRACEBENCH[label] for label in patterns})
        said["findings above info"].add(truth, mapping.of_codes(mapping.CODES, result["loud"]))
        said["first finding"].add(truth, mapping.of_codes(mapping.CODES, [result["first"] or ""]))
        peer = drishti(log) if options.peers else None
        unread += options.peers and peer is None
        if peer is not None:
            said["Drishti"].add(truth, mapping.of_codes(mapping.DRISHTI, peer))
    labelled = sum(1 for row in rows if (row["labels"] or "").strip())
    print(f"== {len(rows)} logs of {folder}, {labelled} with labels; {failed} not read, {empty} labelled ones without any reads or writes")
    for way, counts in said.items():
        if any(counts.total()):
            table(f"{way}, by dimension", counts, list(enumerate(DIMENSIONS)))
    refused(unread)
    table("patterns, by label", by_label, [(label, label) for label in mapping.TRACEBENCH])
    stability(results)
    cost([result for _, result in results])


def labelled_rows(source, options, out):
    """Scores rows of counters, of each of which a log is made."""
    opened = lzma.open(source, "rt") if source.suffix == ".xz" else source.open()
    with opened:
        rows = list(csv.DictReader(opened))
    said = {way: Counts() for way in ("patterns", "findings above info", "first finding", "Drishti")}
    names, results, alarms, healthy, failed, unread = counted.counters(), [], 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as made:
        place = Path(options.keep or made)
        place.mkdir(parents=True, exist_ok=True)
        for row in rows:
            log = place / f"{row['job_id']}-{re.sub(r'[^A-Za-z0-9_.-]', '_', row['scenario'])}.darshan"
            log.write_bytes(counted.log(row, names))
            truth = {at for at, name in enumerate(DIMENSIONS) if float(row[name] or 0)}
            result = analyzed(options.analyze, log)
            if result is None:
                failed += 1
                continue
            out[log.name] = result
            results.append((re.sub(r"_(rep|r)\d+$", "", row["scenario"]), result))
            said["patterns"].add(truth, mapping.cause_of(result["patterns"]))
            said["findings above info"].add(truth, mapping.of_codes(mapping.CODES, result["loud"]) or {7})
            said["first finding"].add(truth, mapping.of_codes(mapping.CODES, [result["first"] or ""]) or {7})
            if 7 in truth:
                healthy += 1
                alarms += bool(result["loud"])
            peer = drishti(log) if options.peers else None
            unread += options.peers and peer is None
            if peer is not None:
                said["Drishti"].add(truth, mapping.of_codes(mapping.DRISHTI, peer) or {7})
    print(f"\n== {len(rows)} rows of counters of {source}; {failed} not read")
    for way, counts in said.items():
        if any(counts.total()):
            table(f"{way}, by dimension", counts, list(enumerate(DIMENSIONS)))
    refused(unread)
    print(f"\nhealthy rows with a finding above info: {alarms} of {healthy}")
    stability(results)
    cost([result for _, result in results])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--analyze", required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    options = parser.parse_args()
    options.peers = options.peers and shutil.which("drishti") is not None
    out, tables = {}, sorted([*options.folder.glob("*.csv"), *options.folder.glob("*.csv.xz")])
    is_indexed = (options.folder / "index.tsv").exists()
    if not is_indexed and not tables:
        sys.exit(f"labels.sh: {options.folder} has neither index.tsv nor tables of counters (*.csv, *.csv.xz)")
    if is_indexed:
        labelled_logs(options.folder, options, out)
    for source in tables:
        labelled_rows(source, options, out)
    if not options.peers:
        print("\nDrishti was not run: it is not installed (pip install drishti-io), or --no-peers was given")
    if options.json:
        options.json.write_text(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
