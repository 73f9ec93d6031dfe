//! Codes of the findings on I/O signatures, with the texts of `explain`.

use crate::findings::codes;

codes! {
    READ_AHEAD = "DXT-I001",
        "Small reads follow a pattern that plain read-ahead misses: each waits for storage.",
        "Simulates up to 1,000 reads of a pattern in a cache of --cache bytes (64 MiB). Reported if (1) calls per \
         process >= 100; (2) reads < 256 KiB that take >= 0.1 ms on average; (3) pauses between reads >= 0.1 x their \
         mean time; (4) share of misses avoided by prefetching ceil(latency / pause) reads ahead >= that of reading \
         128 KiB ahead + 50 percentage points. Saving: read time x share of the waits that prefetching avoids.",
        "Call posix_fadvise(POSIX_FADV_WILLNEED) for the reads to come, read ahead in a thread, or make one larger \
         read that covers several.",
        "IOSIG: Byna, Chen, Sun, Thakur & Gropp, Parallel I/O prefetching using MPI file caching and I/O signatures, \
         SC 2008";
    STRIPE_SIZE = "DXT-I002",
        "By a cost model, another stripe size suits the reads and writes of a file better.",
        "Lays the requests of all ranks, interleaved, on the file's targets for each stripe size. Reported, as info \
         only, if (1) requests per pattern >= 16; (2) cost of the file's stripe size >= 1.5 x the best that Lustre can \
         have; (3) a replay of the file's accesses, if there was one (not in `report`), finds better stripes too. Cost \
         model: 0.3 ms per connection, 0.1 ms to start a disk access, 120 MiB/s.",
        "Simulate the size with `dxt-analyze stripes --what-if`, then create a directory with such stripes (`lfs setstripe -S`) and copy the file there.",
        "IOSIG, with the stripe sizes that Lustre can have";
    SAME_BYTES = "DXT-I004",
        "Several ranks read the same bytes of a file.",
        "Reported if (1) ranks have the same pattern and offsets, also of a single read; (2) distinct bytes x \
         (ranks - 1) >= traffic_min_bytes, and with repeats >= traffic_share of all bytes on the file; (3) the \
         pattern has no writes. Saving: nearly_all_share x read time x share of \
         these bytes x (1 - 1 / ranks), or, if the usual read takes >= 2 x the fastest, the time beyond the \
         fastest, if more.",
        "Let one rank read and broadcast the data (MPI_Bcast), or copy the file to each node before the job begins.",
        "IOSIG: files that are shared for reading";
    ONE_CALL = "DXT-I003",
        "Ranks access a shared file in loops of small calls that one collective call could replace.",
        "Reported if (1) ranks with the same loop >= 2; (2) calls of each >= 100, independent; (3) each < 256 KiB and \
         shorter than its stride; (4) the bytes of all ranks together leave no gap. Saving: time of requests < 256 KiB \
         on the file minus the time of the same bytes in the run's requests >= 1 MiB.",
        "Make one collective call for the whole loop, with the loop as its datatype (MPI_Type_vector).",
        "IOSIG; Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    STRIDED_READS = "DXT-I005",
        "Small reads at a fixed distance leave gaps: each is a request, and read-ahead reads the gaps.",
        "Strided reads: POSIX reads of the program in a pattern, < 1 MiB, with stride >= 2 x the bytes of a loop \
         pass. Reported if, on a file, (1) strided reads >= 32; (2) >= 8 per process; (3) >= 50 % of all reads; (4) \
         reads take >= 0.1 ms on average (>= 5 ms if strided ones >= 256 KiB). Severity: warn at most if most of the \
         saving is in reads >= 256 KiB. Saving: time of reads < 1 MiB minus the time of the same bytes in the run's \
         reads >= 1 MiB; without such, minus 1 ns per byte, at most time / (1 + mean size / 512 KiB).",
        "Store together what is read together, read a piece with its gaps, or make one collective call with a file \
         view.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    STRIDED_WRITES = "DXT-I006",
        "Small writes at a fixed distance leave gaps: each is a request of its own.",
        "Strided writes: POSIX writes of the program in a pattern, < 1 MiB, with stride >= 2 x the bytes of a loop \
         pass. Reported if, on a file, (1) strided writes >= 32; (2) >= 8 per process; (3) >= 50 % of all writes; (4) \
         writes take >= 0.1 ms on average (>= 5 ms if strided ones >= 256 KiB). Severity: warn at most if most of the \
         saving is in writes >= 256 KiB. Saving: time of writes < 1 MiB minus the time of the same bytes in the run's \
         writes >= 1 MiB; without such, minus 1 ns per byte, at most time / (1 + mean size / 512 KiB).",
        "Store together what is written together, or make one collective call with a file view.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
}
