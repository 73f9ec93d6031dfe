"""Compares what the report of a slow way of doing I/O promises with what the fast way saves; scripts/pairs.sh says how."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
DELAYS = "op=write,us=2000,perkib=2;op=read,us=2000,perkib=2;op=open,us=3000;op=sync,us=10000"
"""Delay of each call on the slow file system (testdata/workloads/delays.c): a parallel file system without caches."""

PAIRS = [
    ("transfer", 1, "requests of 4 KiB, of 1 MiB", "Bez and others, Drishti, PDSW 2022; IOR -t"),
    ("strided", 4, "alternating records of a shared file, in large parts", "Thakur and others, Frontiers 1999; IOR strided, segmented"),
    ("collective", 4, "independent MPI-IO, collective with a view", "Thakur and others, Frontiers 1999"),
    ("chunks", 1, "HDF5 chunk cache for one chunk, for a row of chunks", "h5bench, Li and others, CUG 2021"),
    ("files", 1, "400 files of 4 KiB, one of 1.6 MiB", "Carns and others, CLUSTER 2009"),
    ("syncs", 1, "a sync per record, one at the end", "Carns and others, CLUSTER 2009"),
    ("names", 4, "each rank opens the same 20 files 20 times, one opens them once", "Carns and others, CLUSTER 2009"),
    ("again", 1, "a file read in each of 20 steps, once", "Xu and others, DXT, CUG 2017"),
]


def run(launcher, analyze, delays, name, ranks, way):
    """Runs one way of a pair under the tracer; returns the verdict of its report."""
    with tempfile.TemporaryDirectory() as place:
        data, traces = Path(place, "data"), Path(place, "traces")
        data.mkdir()
        command = ["/usr/bin/python3", str(PROJECT / "testdata/workloads/pairs.py"), str(data), name, way]
        if ranks > 1:
            command = ["mpirun", "--oversubscribe", "-n", str(ranks), *command]
        environment = os.environ | {"LD_PRELOAD": str(delays), "DELAYS": DELAYS, "DELAYS_PATH": str(data)}
        subprocess.run([launcher, "-o", str(traces), "--", *command], check=True, env=environment, stderr=subprocess.DEVNULL)
        text = subprocess.run([analyze, "report", "--format", "json", str(traces)], check=False, capture_output=True).stdout
        return json.loads(text)["verdict"]


def main():
    launcher, analyze, delays, *only = sys.argv[1:]
    print(f"{'seconds':11}{'slow':>8}{'fast':>8}{'saved':>8}{'first':>8}{'all':>8}{'factor':>8}  first finding")
    within = of = 0
    for name, ranks, what, source in PAIRS:
        if only and name not in only:
            continue
        slow, fast = (run(launcher, analyze, delays, name, ranks, way) for way in ("slow", "fast"))
        saved = (slow["run_ns"] - fast["run_ns"]) / 1e9
        findings = [found for found in slow["findings"] if found["severity"] != "info"]
        first = findings[0] if findings else None
        promised = [first.get("saves_ns", 0) / 1e9 if first else 0.0, (slow.get("together") or {}).get("saves_ns", 0) / 1e9]
        factor = promised[1] / saved if saved > 0 else float("inf")
        of, within = of + 1, within + (0.5 <= factor <= 2)
        said = f"{first['code']} {first['title']}" if first else "none above info"
        times = [slow["run_ns"] / 1e9, fast["run_ns"] / 1e9, saved, *promised, factor]
        seconds = "".join(f"{value:8.2f}" for value in times)
        print(f"{name:11}{seconds}  {said}\n{'':13}{what} ({source})", flush=True)
    print(f"\npromised by all findings together within a factor of 2 of what was saved: {within} of {of}")


main()
