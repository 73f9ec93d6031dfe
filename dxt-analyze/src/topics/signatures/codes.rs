//! Codes of this topic's findings, with the texts of `explain`.

use crate::findings::codes;

codes! {
    READ_AHEAD = "DXT-I001",
        "Small reads follow a pattern that plain read-ahead misses, so that each waits for storage; told in advance, they would wait for nothing.",
        "For each pattern of at least 100 reads below 256 KiB of at least 0.1 ms on the mean, 1,000 of its reads are played through a cache of --cache bytes, with the mean time of \
         the reads as its latency: by the pattern, ceil(latency / interval) reads ahead, at least half more of the misses are avoided than by reading 128 KiB ahead. Saving: the time \
         that reads do not wait.",
        "posix_fadvise(POSIX_FADV_WILLNEED) for the reads to come, a thread that reads ahead, or one larger read that covers several.",
        "IOSIG: Byna, Chen, Sun, Thakur & Gropp, Parallel I/O prefetching using MPI file caching and I/O signatures, SC 2008";
    STRIPE_SIZE = "DXT-I002",
        "By a cost model another stripe size suits what a file's reads and writes do.",
        "The requests of a pattern of all ranks, in turns, are laid on the file's targets in stripes of each size that fits request or stride; the file's own stripe size costs at least \
         1.5 times as much as the best, and a replay of the file's accesses in that time, if there was one (not in a report), finds better stripes too. Times of the model: 0.3 ms a \
         connection, 0.1 ms the start of a disk access, 120 MiB/s.",
        "A new directory with such stripes (`lfs setstripe -S`), and a copy of the file, after `what-if` has agreed.",
        "IOSIG; ours";
    SAME_BYTES = "DXT-I004",
        "Ranks all read the same bytes of a file.",
        "A signature of at least 3 ranks that read at least 1 MiB each, at the same offsets. Saving: 0.7 of what each would save that reads its part only and passes it on, \
         or what they wait for each other, if that is more; with what they wait at a target that is busy, or slow by these reads alone (0.9).",
        "Let one rank read and broadcast it (MPI_Bcast), or copy the file to each node before the job begins.",
        "IOSIG: files that are shared for reading";
    ONE_CALL = "DXT-I003",
        "Ranks access a shared file in a loop of small calls that together leave no gap: it is one collective call.",
        "A signature of at least 2 ranks with at least 100 independent calls below 256 KiB each, whose bytes lie side by side over all ranks.",
        "One collective call for the whole loop, with the loop as its datatype (MPI_Type_vector).",
        "IOSIG; Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    STRIDED_READS = "DXT-I005",
        "Small reads of a file at a fixed distance, with gaps between: each is a request of its own, and what read-ahead brings nobody wants.",
        "Patterns of reads below 1 MiB that are at least twice their bytes apart: at least 32 on a file, 8 of each process and half of its reads, which take at least 0.1 ms on the mean, or \
         5 ms from 256 KiB on: then it is a warning at most. Saving: what they take beyond \
         the same bytes in large requests, where the run has such, or else at 1 GB/s, the less the longer they are.",
        "Keep together in the file what is read together, read a piece with its gaps, or make one collective call with a file view.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    STRIDED_WRITES = "DXT-I006",
        "Small writes to a file at a fixed distance, with gaps between: each is a request of its own.",
        "As DXT-I005, of writes.",
        "Keep together in the file what is written together, or make one collective call with a file view.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
}
