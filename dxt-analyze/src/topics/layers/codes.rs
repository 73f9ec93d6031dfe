//! Codes of the findings of `layers`, and their `explain` texts.

use crate::findings::codes;

codes! {
    LOCK_TIME = "DXT-L001",
        "Much of the time in MPI-IO goes into file locks.",
        "Reported if (1) time of locks and unlocks inside MPI-IO's blocking reads and writes >= lock_share x time of \
         these calls; or, in `report`, (2) lock calls inside MPI-IO take > server_ns on average. Saving: lock time beyond \
         server_ns per call.",
        "Set romio_ds_write=disable, write collectively (romio_cb_write=enable), leave atomic mode off, and give explicit \
         offsets: locks protect data sieving, atomic mode and the shared file pointer.",
        "Wright et al., RIOT: Parallel File System Analysis Through Application I/O Tracing, The Computer Journal 56, \
         2013";
    SIEVING = "DXT-L002",
        "Data sieving moves far more bytes than the program requested.",
        "Amplification = bytes that POSIX reads inside MPI-IO reads / bytes requested; for writes, bytes that POSIX \
         reads and writes inside MPI-IO writes / bytes requested. Reported if, on a file, that of reads or of writes \
         >= sieving_amplification. If most calls are collective, the gaps lie between all ranks' pieces. Saving: time \
         of reads, writes and locks inside MPI-IO x (1 - bytes requested / bytes moved), for reads and writes \
         separately; all of their time if no bytes were requested.",
        "Use collective calls with a file view; set romio_ds_write=disable or romio_ds_read=disable where pieces are \
         few and large; in collective calls, write data without gaps (on Lustre: romio_lustre_ds_in_coll=disable).",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
    LATE_RANKS = "DXT-L003",
        "All ranks wait in collective calls for ranks that arrive last.",
        "Reported if (1) time from each rank's start to the last start >= arrival_wait_share x time in the calls, \
         over calls that no rank left before that start; or, in `report`, with lateness = compute time since the last \
         collective call - first quartile over ranks, the latest ranks (2) are last >= repeated_min times; (3) cause \
         > half_share of all waits (logs: > majority_share, in collective opens); (4) p x ranks < chance_p or saving \
         >= io_matters_share; or (5) >= several_min ranks alternate as the last at >= third_share of calls. Saving: \
         last arrival minus other ranks' arrivals, summed over calls.",
        "See what the last rank to arrive does between two collective calls; balance the work, and check that rank's \
         node.",
        "Xu et al., DXT, CUG 2017, Figure 6; Drishti's 15 % for stragglers";
    COMMUNICATION = "DXT-L004",
        "Collective calls spend their time in communication rather than in storage.",
        "Rest = wall-clock time after the last rank's start in which the busiest rank is in no system call. Reported if \
         rest >= communication_share x wall-clock time after the last start. Saving: (rest - max(bytes / aggregators x \
         transfer_ns_per_byte, bytes / ranks x c)) x (1 - far_ratio / operations), with c = convert_ns_per_byte for calls \
         of >= large_bytes on average, else copy_ns_per_byte.",
        "Make fewer and larger calls; use more aggregators or a larger cb_buffer_size; no collective buffering for large \
         contiguous parts.",
        "Xu et al., DXT, CUG 2017, Figure 6";
    AGGREGATORS = "DXT-L005",
        "Collective buffering has too few or too many aggregators.",
        "Needed = min(stripes, ranks), or nodes if stripes are unknown. Reported if (1) aggregators < needed; and (2) \
         system call time of the busiest aggregator x ranks >= storage_share x collective call time; or (3) \
         aggregators that write > 2 x stripes; or, in `report`, (4) in a Darshan record of >= several_min ranks, one \
         takes >= double_ratio x the mean time and moves >= nearly_all_share of the bytes. Saving: time of requests \
         >= small_bytes x (1 - aggregators / possible); possible: one per node, >= few_min if there is 1, at most one \
         per rank and stripe of a call; for (4), that rank's time x sqrt((1 - 1 / far_ratio) / 2).",
        "Set cb_nodes to the stripe count (or the number of nodes), or stripe wider.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999; Lustre Operations Manual, chapter on \
         striping";
    INDEPENDENT = "DXT-L006",
        "Ranks make many small independent calls on a shared file.",
        "Reported if, on a file, (1) processes >= 2; (2) blocking calls > independent_min_operations; (3) collective \
         calls < collective_share of them; and (4) mean independent call < small_request_bytes; or, in `report`, (5) \
         independent calls of < direct_bytes by >= 2 ranks >= calls_min per rank, and more than collective calls. Saving: \
         time of the requests < direct_bytes inside minus transfer_ns_per_byte, at most their time / (1 + mean size / \
         half_time_bytes).",
        "Call MPI_File_write_all or MPI_File_read_all with a file view; HDF5: H5FD_MPIO_COLLECTIVE.",
        "Drishti's check of collective operations";
    NO_BUFFERING = "DXT-L007",
        "Collective calls are not buffered: every rank makes its own small requests.",
        "Reported if (1) >= 2 ranks have bytes; (2) the same number of ranks make system calls; (3) system calls >= \
         collective calls; (4) mean request < small_request_bytes and < 2 x mean call. If mean request <= 0.5 x mean \
         call, and ranks with system calls >= 2 x stripes (or nodes), aggregators or their buffers cut calls up. \
         Saving: with >= 2 system calls per call, time of requests < direct_bytes minus the time of the same bytes in \
         the run's requests >= large_bytes.",
        "Set romio_cb_write=enable and romio_cb_read=enable; if aggregators cut calls up, lower cb_nodes and raise \
         cb_buffer_size.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
    SERIAL = "DXT-L008",
        "POSIX calls are serialized while many ranks are in MPI-IO.",
        "Reported if (1) ranks in MPI-IO >= serial_min_ranks; (2) MPI-IO calls in flight >= ranks / 2 on average; (3) one \
         POSIX read or write in flight for >= serial_share of the time in such calls; and, in `report`, (4) saving >= \
         majority_share of the busy time. Ranks alternate if >= 2 make such calls, none for > 1.5 x the mean time. \
         Saving: sum of the ranks' times minus the longest, at most what ranks wait.",
        "Use more aggregators and more stripes, no lock on the whole file, and no funnelling through one rank.",
        "Wright et al., RIOT, Figures on concurrent POSIX calls; The Computer Journal 56, 2013";
    BUFFER_SIZE = "DXT-L009",
        "MPI-IO's buffer is too small: it splits each collective call into many requests.",
        "For collective calls. Rounds = requests per call, of ranks that make system calls. Reported if (1) a hint in \
         effect sets the buffer size; (2) mean request = 60 to 100 % of it; (3) rounds >= 3. Saving: (time of these \
         ranks' calls outside system calls - 1 ns x bytes requested by all + time in locks) / these ranks x (1 - 1 / \
         rounds), per process.",
        "Set cb_buffer_size to the bytes that a rank moves for one call (each aggregator allocates as much).",
        "Carns et al., Understanding and Improving Computational Science Storage Access through Continuous \
         Characterization, 2011";
    SIEVING_BLOCK = "DXT-L010",
        "The data sieving buffer is smaller than the range of an independent call: each call becomes many requests.",
        "For independent calls. Rounds = requests per call, of ranks that make system calls. Reported if (1) a hint in \
         effect sets the buffer size of data sieving; (2) mean request = 60 to 100 % of it; (3) rounds >= 3. Saving: \
         (time of these ranks' calls outside system calls - 1 ns x bytes requested by all + time in locks) / these \
         ranks x (1 - 1 / rounds), per process.",
        "Set ind_wr_buffer_size or ind_rd_buffer_size to the distance in bytes from the first to the last byte that a \
         call requests.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
}
