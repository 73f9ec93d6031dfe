//! Codes of the findings of `checks`, and their `explain` texts.

use crate::findings::codes;

codes! {
    STDIO_SHARE = "DXT-C001",
        "A large share of the bytes goes through C streams (fread, fwrite, fprintf).",
        "Reported if bytes of C stream reads and writes > stdio_share x bytes of all reads and writes that the program \
         calls.",
        "Move large data with read and write, MPI-IO or HDF5, or give streams a larger buffer with setvbuf(3).",
        "Drishti S01";
    CALL_MIX = "DXT-C002",
        "The program makes far more reads than writes, or the reverse.",
        "Reported, as info only, if |reads - writes| / (reads + writes), in calls of the program, > intensive_share.",
        "No change is needed; when you tune I/O, begin with the direction (reads or writes) that has more calls.",
        "Drishti P01, P02";
    BYTE_MIX = "DXT-C003",
        "The program reads far more bytes than it writes, or the reverse.",
        "Reported, as info only, if |read - written| / (read + written), in bytes that the program moves, > \
         intensive_share.",
        "No change is needed; when you tune I/O, begin with the direction (reads or writes) that has more bytes.",
        "Drishti P03, P04";
    SMALL_READS = "DXT-C004",
        "Many reads are small.",
        "Small reads: < small_request_bytes, not by C streams. Reported if (1) small reads > small_share of all; and \
         (2) small reads > small_min, or >= small_min / 10 of them take >= slow_small_ns each, have >= 50 % of the \
         read time, and on average take > 2 x slow_small_ns and move >= 16 KiB; or, in `report`, (3) reads of < \
         metadata_bytes >= more_calls_min, >= few_min per process and file, unless one of several ranks makes >= \
         nearly_all_share. Saving: time of reads < direct_bytes minus that of the same bytes in the run's reads >= \
         large_bytes; for (3), minus transfer_ns_per_byte.",
        "Merge small requests: a buffer in the program, collective MPI-IO, larger HDF5 chunks.",
        "Drishti P05";
    SMALL_WRITES = "DXT-C005",
        "Many writes are small.",
        "Small writes: < small_request_bytes, not by C streams. Reported if (1) small writes > small_share of all; \
         and (2) small writes > small_min, or >= small_min / 10 of them take >= slow_small_ns each, have >= 50 % of \
         the write time, and on average take > 2 x slow_small_ns and move >= 16 KiB; or, in `report`, (3) writes of < \
         metadata_bytes >= more_calls_min, >= few_min per process and file, unless one of several ranks makes >= \
         nearly_all_share. Saving: time of writes < direct_bytes minus that of the same bytes in the run's writes >= \
         large_bytes; for (3), minus transfer_ns_per_byte.",
        "Merge small requests: a buffer in the program, collective MPI-IO, larger HDF5 chunks.",
        "Drishti P06";
    SMALL_SHARED_READS = "DXT-C006",
        "Many reads of files that several processes share are small.",
        "Small reads: < small_request_bytes, not by C streams, on files that >= 2 processes read or >= 2 write. \
         Reported if (1) small reads > small_share of all reads of these files; (2) small reads > small_min, or >= \
         small_min / 10 of them take >= slow_small_ns each, have >= 50 % of the read time, and on average take > 2 x \
         slow_small_ns and move >= 16 KiB. Saving: time of reads < direct_bytes minus the time of the same bytes in \
         the run's reads >= large_bytes.",
        "Use collective MPI-IO, which merges the small requests of all ranks.",
        "Drishti P15";
    SMALL_SHARED_WRITES = "DXT-C007",
        "Many writes to files that several processes share are small.",
        "Small writes: < small_request_bytes, not by C streams, on files that >= 2 processes read or >= 2 write. \
         Reported if (1) small writes > small_share of all writes of these files; (2) small writes > small_min, or >= \
         small_min / 10 of them take >= slow_small_ns each, have >= 50 % of the write time, and on average take > 2 x \
         slow_small_ns and move >= 16 KiB. Saving: time of writes < direct_bytes minus the time of the same bytes in \
         the run's writes >= large_bytes.",
        "Use collective MPI-IO, which merges the small requests of all ranks.",
        "Drishti P16";
    RANDOM_READS = "DXT-C008",
        "Many reads go backwards in the file.",
        "A random read begins before the end of the same thread's previous read of the file, and not at its first \
         byte. Reported if (1) random reads > random_share of the reads with a previous one; (2) random reads > \
         random_min. Saving: 2 x the random share of the read time (at most 1) x (time of reads < large_bytes minus \
         the time of the same bytes in the run's reads >= large_bytes), without files of <= small_bytes.",
        "Sort requests by offset, or use collective MPI-IO, which sorts them.",
        "Drishti P11, P12";
    RANDOM_WRITES = "DXT-C009",
        "Many writes go backwards in the file.",
        "A random write begins before the end of the same thread's previous write of the file, and not at its first \
         byte. Reported if (1) random writes > random_share of the writes with a previous one; (2) random writes > \
         random_min. Saving: 2 x the random share of the write time (at most 1) x (time of writes < large_bytes minus \
         the time of the same bytes in the run's writes >= large_bytes), without files of <= small_bytes and \
         synchronous writes (DXT-V020).",
        "Sort requests by offset, or use collective MPI-IO, which sorts them.",
        "Drishti P13, P14";
    SHARED_INDEPENDENT = "DXT-C010",
        "Processes access a shared file without a single collective call.",
        "Reported if (1) >= 2 processes read the file, or >= 2 write it; (2) collective MPI-IO reads and writes of it = \
         0; (3) POSIX and independent MPI-IO calls on it > collective_min. Saving: time of requests < direct_bytes to \
         shared files minus the time of the same bytes in the run's requests >= large_bytes.",
        "Use collective calls, or a file per rank or node.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    METADATA_TIME = "DXT-C011",
        "A rank spends much time in metadata calls.",
        "Reported if the time of one process in opens, closes, seeks, stats, locks, maps and other metadata calls > \
         metadata_rank_s. Saving: at most that time, summed over these processes. Severity: always info, since \
         DXT-C012 rates the same calls by the run time that they cost.",
        "Open files once and keep them open; let one rank stat files for all ranks; use fewer files; distribute \
         metadata calls that one rank makes for all.",
        "Drishti P17";
    METADATA_SHARE = "DXT-C012",
        "Metadata calls take a large share of the time in I/O.",
        "Reported if (1) time in metadata calls >= metadata_share x time in all calls of the program; and (2) \
         metadata calls >= metadata_min; or, in `report`, (3) an operation (open, stat, ...) takes >= server_ns on \
         average. Severity: info if the saving < high_run_share of the run and (calls <= repeated_min per process, or \
         < hundred_calls_min per process at < slow_call_ns each). The title names a rank (of >= several_min) whose \
         calls are >= most_share of the saving while the others wait. Saving: time beyond server_ns per call; all of \
         it for processes with >= hundred_calls_min such calls.",
        "Open files once and keep them open; let one rank stat files for all ranks; use fewer files.",
        "Metadata calls move no data: their time is overhead";
    ONE_RANK = "DXT-C013",
        "One rank moves nearly all bytes.",
        "Reported if (1) one of >= 2 ranks moves >= one_rank_share of all bytes; and (2) all bytes >= \
         traffic_min_bytes; or, in `report`, (3) one rank reads or writes >= all_share of the bytes outside \
         collective MPI-IO while the others wait; or (4) in a Darshan record of >= several_min ranks, the slowest \
         takes >= double_ratio x the mean time and moves >= nearly_all_share of the bytes. Saving: this rank's time x \
         (1 - mean bytes / own bytes), with the others' waits for it (DXT-V013) if it gathers or distributes data; for (4), this rank's time minus the mean time.",
        "Let every rank read and write its own part of the data.",
        "One rank uses the network link of one node; Drishti P18";
    BYTE_IMBALANCE = "DXT-C014",
        "Ranks move unequal amounts of bytes.",
        "Imbalance = (max - mean) / max x n / (n - 1) over n ranks. Reported if (1) imbalance of bytes > \
         straggler_imbalance; (2) max >= traffic_min_bytes; and (3) no rank has DXT-C013; or, in `report`, (4) a rank \
         reads or writes > similar_ratio x the mean bytes, in the run and in a phase after which the others wait. \
         Saving: this rank's time in these phases x (1 - mean bytes / own bytes).",
        "Give all ranks equal parts of the data.",
        "Drishti P18; DeRose, Homer & Johnson, Euro-Par 2007";
    TIME_IMBALANCE = "DXT-C015",
        "Ranks spend unequal times in reads and writes.",
        "Imbalance of n ranks = (max - mean) / max x n / (n - 1). Reported if (1) time imbalance > \
         straggler_imbalance; (2) max >= imbalance_min_ns; (3) no DXT-C013; or, in `report`, (4) one of >= \
         several_min ranks takes >= double_ratio x the others' mean in a kind of call outside MPI-IO; or (5) of >= \
         calls_min ranks with similar calls and bytes, 2 to third_share take >= similar_ratio x the others' median, \
         with a gap >= the others' max - some_share quantile, and more than nearly_all_share of others in >= \
         majority_share of >= several_min phases. Saving: time beyond the others' mean (4) or median (5).",
        "Run `dxt-analyze outliers --by rank` and `--by node` to see whether a rank or a node is slow; give ranks equal \
         work.",
        "Drishti P19; DeRose, Homer & Johnson, Euro-Par 2007";
    SHARED_READ_IMBALANCE = "DXT-C016",
        "Ranks read unequal shares of a shared file.",
        "Imbalance = (max - mean) / max x n / (n - 1) over the n ranks that read the file. Reported, as info only, if \
         (1) n >= 2; (2) bytes read >= traffic_min_bytes; (3) imbalance of bytes read > shared_file_imbalance.",
        "Give all ranks equal parts of the file, or use collective calls.",
        "Drishti P22";
    SHARED_WRITE_IMBALANCE = "DXT-C017",
        "Ranks write unequal shares of a shared file.",
        "Imbalance = (max - mean) / max x n / (n - 1) over the n ranks that write the file. Reported, as info only, if \
         (1) n >= 2; (2) bytes written >= traffic_min_bytes; (3) imbalance of bytes written > shared_file_imbalance.",
        "Give all ranks equal parts of the file, or use collective calls.",
        "Drishti P21";
    NO_MPIIO = "DXT-C018",
        "An MPI program shares files without MPI-IO.",
        "Reported if (1) MPI ranks >= 2; (2) >= 2 of them read, or >= 2 write, one file; (3) MPI-IO reads and writes = 0. \
         Saving: time of requests < small_bytes to shared files minus the time of the same bytes in the run's requests >= \
         large_bytes.",
        "Use collective MPI-IO or parallel HDF5.",
        "Drishti M01";
    NO_COLLECTIVE_READS = "DXT-C019",
        "Most MPI-IO reads are independent.",
        "Ordered, split and nonblocking collective reads count as collective. Reported if (1) collective reads < \
         collective_share of all MPI-IO reads; (2) MPI-IO reads > collective_min; (3) ranks >= 2. Saving: time of reads < \
         direct_bytes on shared files minus the time of the same bytes in the run's reads >= large_bytes.",
        "Call the collective forms, such as MPI_File_read_at_all (HDF5: H5FD_MPIO_COLLECTIVE).",
        "Drishti M02, M04";
    NO_COLLECTIVE_WRITES = "DXT-C020",
        "Most MPI-IO writes are independent.",
        "Ordered, split and nonblocking collective writes count as collective. Reported if (1) collective writes < \
         collective_share of all MPI-IO writes; (2) MPI-IO writes > collective_min; (3) ranks >= 2. Saving: time of \
         writes < direct_bytes on shared files minus the time of the same bytes in the run's writes >= large_bytes.",
        "Call the collective forms, such as MPI_File_write_at_all (HDF5: H5FD_MPIO_COLLECTIVE).",
        "Drishti M03, M05";
    BLOCKING_ONLY = "DXT-C021",
        "All MPI-IO calls block, although the job has long times without I/O.",
        "Reported, as info only, if (1) nonblocking and split MPI-IO reads and writes = 0; (2) gaps in which no \
         process is in a call >= idle_share x time from the first call to the last; (3) gaps >= 2, each >= 1/65,536 of \
         the trace.",
        "Use nonblocking calls, and wait for them after the computation.",
        "Drishti M06, M07";
    FEW_AGGREGATORS = "DXT-C022",
        "Collective calls move the bytes through few nodes.",
        "Reported if (1) nodes with ranks >= 2; (2) on a file, nodes whose ranks make POSIX reads or writes inside \
         collective calls < aggregator_nodes_share x nodes with ranks. Saving: time of these requests, if >= small_bytes, \
         x (1 - aggregators / possible ones); possible: one per node, at least few_min if there is 1 now, at most one per \
         rank and per stripe of a call.",
        "Set the hints cb_nodes and cb_config_list.",
        "Drishti M08, M09, M10";
    MEMORY_UNALIGNED = "DXT-C023",
        "Many reads and writes are unaligned in memory.",
        "Reported, as info only, if reads and writes whose buffer begins off a multiple of 8 bytes (or of \
         DXT_MEM_ALIGN) > memory_unaligned_share of those with a known address.",
        "Allocate buffers with posix_memalign(3).",
        "Drishti P07";
    REREAD = "DXT-C024",
        "A process reads bytes again that it has read before.",
        "Reread bytes: read before by the same process and not written since, on files that no process writes or only \
         this process uses. Reported if (1) reread bytes >= traffic_share x all bytes read; (2) reread bytes >= \
         traffic_min_bytes. Without single operations, reread bytes = bytes read - extent that is read - bytes \
         written. Saving: time of these reads x reread bytes / their bytes.",
        "Keep the bytes in memory, or read in the order of the file.",
        "Drishti P09, by overlap instead of the highest offset";
    COMMON_READS = "DXT-C025",
        "Several ranks read the same bytes.",
        "Common bytes: read beyond the first reading, on files in which >= common_readers_min processes read the same \
         piece of 1 MiB. Reported if (1) common bytes >= traffic_share x all bytes read; and (2) common bytes >= \
         traffic_min_bytes; or, in `report`, if half of the processes, and >= calls_min, that run together read (3) a range of <= \
         calls_min x the mean read, by reads of < block_bytes; or (4) one range of <= block_read_bytes. Saving: time \
         of these reads x (1 - 1 / readers), plus waits behind them; for processes one after another: time of reads x \
         common bytes / bytes read.",
        "Read once and broadcast, or read collectively.",
        "One reading and a broadcast move the same bytes once";
    READ_BACK = "DXT-C026",
        "A process reads bytes that it wrote.",
        "Read-back bytes: written before by the same process, at their first reading. Reported if (1) read-back bytes \
         >= traffic_share x all bytes read; (2) >= traffic_min_bytes; (3) the file has one writer, or no byte of it \
         has two and every call is recorded. Saving: time of these reads x read-back bytes / their bytes.",
        "Keep bytes that are needed again in memory, or use node-local storage.",
        "A process could keep the bytes that it wrote in memory";
    OVERWRITTEN = "DXT-C027",
        "A process writes bytes more than once.",
        "Overwritten bytes: written before by the same process. Reported if (1) overwritten bytes >= traffic_share x \
         all bytes written; (2) >= traffic_min_bytes. Saving: time of these writes x overwritten bytes / \
         their bytes.",
        "Write bytes once, when they are final; keep temporary data in memory or on node-local storage.",
        "Drishti P10, by overlap";
    UNASKED = "DXT-C028",
        "MPI-IO reads bytes that no call requested.",
        "Unrequested bytes = bytes read inside MPI-IO reads - bytes requested + all bytes read inside MPI-IO writes \
         (read-modify-write). Reported if (1) unrequested bytes >= traffic_share x bytes moved on the files of \
         MPI-IO; (2) unrequested bytes >= traffic_min_bytes. Saving: time of reads and writes inside MPI-IO x (1 - \
         bytes requested / bytes moved), for reads and writes separately; all of their time if no bytes were \
         requested.",
        "Use collective calls, or hints that disable data sieving (romio_ds_read=disable, romio_ds_write=disable).",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    READ_RUNS = "DXT-C029",
        "Small reads are consecutive in the file: one larger read could replace many.",
        "Sequence: reads of < small_request_bytes, each beginning where the thread's previous one ended, without a \
         sync between. Saved calls: calls - bytes / small_request_bytes, per sequence. Reported if saved calls >= \
         saved_calls_min, or >= saved_calls_min / 10 if as many small reads take >= slow_small_ns each, have >= 50 % \
         of the read time, and on average take > slow_small_ns (twice that if longer than small_bytes / 2) and move >= \
         16 KiB. Saving: time of reads < \
         direct_bytes, outside HDF5, minus the time of the same bytes in the run's reads >= large_bytes, x the saved \
         calls' share.",
        "Read more at once: one call per MiB or more.",
        "Each call has a fixed cost, which one large call pays once";
    WRITE_RUNS = "DXT-C030",
        "Small writes are consecutive in the file: one larger write could replace many.",
        "Sequence: writes of < small_request_bytes, each beginning where the thread's previous one ended, without a \
         sync between. Saved calls: calls - bytes / small_request_bytes, per sequence. Reported if saved calls >= \
         saved_calls_min, or >= saved_calls_min / 10 if as many small writes take >= slow_small_ns each, have >= 50 % \
         of the write time, and on average take > slow_small_ns (twice that if longer than small_bytes / 2) and move >= \
         16 KiB. Saving: time of writes < \
         direct_bytes, outside HDF5, minus the time of the same bytes in the run's writes >= large_bytes, x the saved \
         calls' share.",
        "Collect small writes in a buffer, and write the buffer in one call.",
        "Each call has a fixed cost, which one large call pays once";
    SLOW_SMALL_WRITES = "DXT-C031",
        "Small writes wait for storage instead of the page cache.",
        "Slow: writes of < small_request_bytes that take >= slow_small_ns. Reported if (1) slow writes >= \
         slow_small_share of the writes of < small_request_bytes; (2) slow writes >= sync_min, or >= 10 if they take >= 5 \
         x slow_small_ns on average and >= 50 % of the write time. Saving: time of writes < small_bytes minus the time of \
         the same bytes in the run's writes >= large_bytes.",
        "Look for O_SYNC, O_DSYNC or O_DIRECT at open, contended locks (run `dxt-analyze stripes`), and a full page \
         cache.",
        "Copying 1 MiB to the page cache takes about 0.1 ms: what takes far longer waits for storage";
    SYNC_PER_WRITE = "DXT-C032",
        "A file is synced after nearly every write.",
        "Reported if, on a file, (1) POSIX syncs >= sync_share x writes; and (2) syncs >= sync_min; or, in `report`, with \
         flushes of C streams, (3) syncs >= 2 and writes <= few_min x syncs; and (4) writes >= 1 or syncs >= \
         many_calls_min. Saving: time of the syncs x (1 - 1 / syncs), per process and file.",
        "Sync once per step or checkpoint.",
        "fsync(2) waits until all data written to the file are on storage";
    SEEK_PER_ACCESS = "DXT-C033",
        "Seeks accompany reads and writes.",
        "Reported if (1) POSIX seeks >= seek_share x POSIX reads and writes of the same files; and (2) POSIX seeks >= \
         seek_min; or, in `report`, (3) seeks outside MPI-IO and HDF5, with those of C streams, >= hundred_calls_min. \
         Saving: time of the seeks beyond system_call_ns each.",
        "Give the offset with the call: pread(2), pwrite(2), MPI_File_read_at.",
        "pread(2) and pwrite(2) take the offset and save the seek";
    REPEATED_OPENS = "DXT-C034",
        "A process opens a file repeatedly.",
        "Reported if (1) opens of a path by one process >= opens_per_file; or, by `report`, (2) successful opens >= \
         few_min, outside MPI-IO; or (3) opens >= few_min by every rank, through MPI-IO. Saving: time of opens and \
         closes x (1 - 1 / opens), per process and path, and of seeks, queries and reads that repeat (at the same \
         offset) one of the last calls_min opens, without reads if each open reads the whole file; for (3), also the \
         least time that a rank spends in MPI-IO's opens and closes outside system calls.",
        "Keep the file open between accesses.",
        "Each open sends a request to the metadata server, and each close may write the cache back";
    OPEN_PER_ACCESS = "DXT-C035",
        "Files are opened for every one or two reads or writes.",
        "Reported if (1) reads and writes of the program <= accesses_per_open x its opens; (2) opens, without opendir, \
         >= metadata_min. Saving: time of opens and other metadata calls outside MPI-IO and HDF5 x (1 - 1 / calls), \
         per process, file and operation.",
        "Pack small files into one, or keep files open.",
        "Each open sends a request to the metadata server, for few bytes here";
    FAILED_OPENS = "DXT-C036",
        "Many opens fail.",
        "Reported if (1) failed opens >= failed_opens_share x all opens; (2) failed opens >= failed_opens_min. Saving: \
         time of opens and other metadata calls beyond server_ns per call.",
        "Shorten search paths (PYTHONPATH, LD_LIBRARY_PATH), and remember which files are absent.",
        "A failed open sends a request to the metadata server without any use";
    METADATA_RATE = "DXT-C037",
        "Metadata calls come in a burst that loads the metadata server.",
        "Reported if opens, closes, stats, locks and other metadata calls (no seeks) that begin in one second >= \
         metadata_rate. No saving: the calls have findings of their own.",
        "Spread metadata calls over time, or avoid them: open each file once, let one rank stat files for all ranks.",
        "A metadata server answers some 10,000 calls per second for all jobs together";
    IDLE_GAPS = "DXT-C038",
        "No process does I/O for a large part of the run.",
        "Gap: time of >= 1/65,536 of the trace in which no process is in a call. Reported, as info only, if (1) gaps \
         >= idle_share x time from the first call to the last; (2) that time >= phases_min_ns.",
        "Overlap I/O with computation: nonblocking calls, or a thread that writes.",
        "I/O could overlap with the computation in these gaps";
    SERIALISED = "DXT-C039",
        "Only one process at a time moves bytes.",
        "Reported if (1) windows of 1/65,536 of the trace in which one process reads or writes >= serial_share of \
         those in which any does; and (2) these windows >= phases_min_ns, in `report` also the saving >= third_share \
         of the busy time; or, in `report`, (3) in a phase, >= few_min ranks (all, or those of a file) are in calls \
         for >= most_share of the time, all spans (first to last call) but the longest add up to <= that time without \
         the longest / most_share, and in >= most_share of changes, the next rank starts at once. In `report` not if \
         processes wait for a processor for >= half_share of the busy time on average, unless the saving is >= \
         most_share x what it is at most. Saving: sum of the ranks' times minus the longest, at most what ranks wait.",
        "Let ranks move their parts at the same time.",
        "While one process moves bytes, the other ranks and most storage targets idle";
}
