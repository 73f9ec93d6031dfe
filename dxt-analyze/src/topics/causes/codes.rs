//! Codes of the findings of this topic, and their `explain` texts. Slow units (ranks, nodes, targets, ...) have the codes of `outliers`.

use crate::findings::codes;

codes! {
    SLOW_MOMENT = "DXT-V001",
        "For part of the run, calls of most ranks take longer than at other times.",
        "Slowdown of a window = median over ranks of call time / time of peers (same operation, size, file). Reported \
         if (1) windows of >= barely_share of the run have slowdown >= min_slowdown, p <= false_discovery_rate / (4 x \
         windows), and throughput < majority_share x that at other times; (2) a range of windows has slowdown >= \
         slower_ratio (its square if < quarter_share of windows and calls), p <= false_discovery_rate / (4 x \
         windows^2); (3) slowdown grows >= slower_ratio times from first to last quarter (Kendall's tau >= \
         most_share), throughput < most_share x; (4) >= 3 times (once if >= nearly_all_share of >= 3 \
         processes), >= majority_share of the processes have outliers (DXT-V002) that end together, with >= \
         majority_share of the excess; (5) 2 to several_min calls stall in a row. Without ranks, (1) to (3) need >= half_share of the calls of either time in \
         the same folders. Saving: excess (time above that of peers).",
        "Check what else used the file system or network at that time, and repeat the run before changing the program.",
        "own rule: a cause outside the program slows all ranks for a while, then ends";
    STALL = "DXT-V002",
        "One call, or two or three, took far longer than similar calls, and the job waited.",
        "Reported if (1) a call is an outlier: time >= 8 x median of its peers (operation, size class, open flags) \
         and 4.5 spreads above; >= 4 x if 12 spreads are less than 8 x; or one of <= 3 calls 8 x above all others; \
         (2) the several_min longest of a kind of call take >= most_share of the excess (time above that of peers) of \
         all; (3) no slow rank, node, target or file explains > third_share of their time. Spread = log(median / \
         first quartile) / 0.6745. Calls that begin and end together, within third_share of the longest, are one \
         stall. Saving: excess, plus others' waits for file locks meanwhile.",
        "Repeat the run to see whether the stall recurs before blaming a rank: a failover or an eviction of a storage \
         server takes tens of seconds.",
        "own rule: a stalled call is an event, not a property of its rank";
    LONG_TAIL = "DXT-V003",
        "A few calls are slow outliers, on no particular rank, node or target.",
        "Reported if (1) calls are outliers (DXT-V002), and the several_min longest take < most_share of the excess \
         (time above that of peers) of all; (2) no rank, node or target has >= most_share of the outliers; (3) \
         outliers are <= some_share of the calls if calls >= hundred_calls_min: more show two ways of service, as by \
         cache and by disk; or (4) of the files in use, >= most_share and >= few_min have one outlier each, and none \
         has more. A folder or file suffix with >= 0.8 of the excess, at >= 3 x the cost per call of other files, is \
         named, and (3) does not apply. At most info without ranks, if nothing is named and the mean excess < slow_call_ns. Saving: excess of the outliers.",
        "Make fewer, larger and collective calls: if every rank waits for all others, the slowest of all calls \
         decides how long all ranks take.",
        "own rule: waits for the slowest of many calls grow with their number";
    UNCOVERED = "DXT-V004",
        "One kind of call takes much of the time in I/O, and no finding explains it.",
        "Reported if (1) time of one kind of call, or of MPI-IO and HDF5 outside system calls, that no finding \
         explains >= uncovered_share of the time in I/O; (2) time in I/O >= io_matters_share of the run.",
        "Compare the rate of these calls with what the file system can do, and with another run (`dxt-analyze \
         compare`).",
        "own rule: unexplained time is worth knowing";
    LOCK_WAITS = "DXT-V005",
        "Processes wait for file locks that other processes hold.",
        "Reported if lock calls that the program makes itself, not MPI-IO, take > server_ns each on average, the time of \
         a free lock. Saving: time in these calls - server_ns per call.",
        "Lock the bytes that are written rather than the whole file, hold locks for less time, or write through one \
         process.",
        "own rule: a free lock takes one round trip to the lock server";
    FEW_TARGETS = "DXT-V006",
        "Calls queue at few storage targets.",
        "Reported if (1) depth = calls in flight per target in use >= treble_ratio; (2) <= far_ratio / 2 targets are in \
         use at a time; (3) wait share >= half_share, from calls that find their target idle or its throughput at depth < \
         4; if unknown: fastest call >= far_ratio spreads below the median, log(time) skewed >= log_gap to the fast side \
         or growing >= 0.4 log(depth), or >= more_calls_min calls served serially; (4) median / fastest >= double_ratio \
         (slower_ratio if growing; 0 if throughput at depth >= 4 is >= 0.6 of that below); (5) not >= several_min private \
         files on each of all known targets. Saving: time x min(wait share, 1 - used / n), n = min(used x depth, \
         far_ratio).",
        "Use more stripes for shared files (`lfs setstripe -c`), or spread files of ranks over all targets (`lfs \
         setstripe -i -1`).",
        "own rule; queueing: Little, Operations Research 9, 1961";
    OUTSIDE_POSIX = "DXT-V008",
        "Independent MPI-IO or HDF5 calls spend their time outside POSIX: communication, locks, copies.",
        "Reported if (1) of all kinds of MPI-IO and HDF5 calls, independent reads or writes have the most time outside; \
         (2) (call time - POSIX time inside) / call time >= communication_share. Saving: min(time outside per process, \
         without waiting for the slowest rank's system calls; time outside of the process with most) - saving of DXT-V009 \
         - copy_ns_per_byte x bytes for copies.",
        "Make the calls collective or larger: each independent call locks, copies and waits separately.",
        "Wright et al., The Computer Journal 56, 2013 (RIOT): MPI-IO against POSIX time";
    LONG_COLLECTIVE = "DXT-V009",
        "One collective call took far longer than other collective calls on its file.",
        "Reported if, with time = median over ranks of the longest collective call of a kind on a file, (1) time >= 8 x \
         the usual time of such calls; (2) more than half of the ranks that make such calls are in it halfway; (3) the \
         longest call of each rank >= half_share x time: else one arrived last. Saving: time - usual time - longest \
         nested I/O time of one process.",
        "Check what the call does: the first or last on a file allocates, fills or flushes it (HDF5: H5Pset_fill_time, \
         H5Pset_alloc_time, metadata flushes); few bytes requested and many moved inside it are data sieving.",
        "own rule: a single long call is an event, and its place in the program says what it does";
    READ_MODIFY_WRITE = "DXT-V007",
        "Small reads only complete blocks of which writes change a part.",
        "Reported if a process, on a file of > 4 KiB and not inside MPI-IO, makes (1) >= 4 writes; (2) 0.8 to 2.2 reads \
         of < block_bytes per write; (3) no larger reads; and (4) reads and writes of the file alternate: by its counters, \
         half_share of them, or else in the same time windows. Saving: time of these reads.",
        "Write whole blocks: align offsets and lengths to the file system's blocks or stripes (H5Pset_alignment), or keep blocks in memory.",
        "own rule: a partial block must be read before it is written";
    HDF5_METADATA = "DXT-V010",
        "Ranks read or write the metadata of an HDF5 file separately, each in about the same places.",
        "Reported if independent MPI-IO reads (or writes) of < metadata_bytes inside HDF5, less the small ones of \
         datasets, (1) are made by >= few_min ranks; (2) are >= few_min per rank; (3) are >= half_share of the small \
         calls; (4) have >= half_share of their bytes; (5) span, per rank on average, >= quarter_share of the bytes from \
         the first to the last that any rank touches. Saving: time of small calls inside HDF5 x metadata share x (1 - 1 / \
         ranks).",
        "Call H5Pset_all_coll_metadata_ops for reads, H5Pset_coll_metadata_write for writes; open objects once.",
        "Howison et al., Tuning HDF5 for Lustre File Systems, 2010 (GCRM)";
    ALIASING = "DXT-V011",
        "Ranks hit the same storage target at the same time while the other targets idle, or requests reach few of a \
         file's many targets.",
        "Reported if (1) in >= calls_min windows of a median call's length, >= few_min processes begin requests on a \
         file with >= few_min targets, in >= half_share of the windows >= most_share on one target, not one stripe; \
         (2) requests in such windows take >= similar_ratio x others (if >= calls_min), and >= double_ratio x the \
         fastest; (3) no target has > treble_ratio x its share; or (4) >= most_share of a queue (DXT-V006) is on \
         files whose requests span >= repeated_min x stripe size x count, but reach <= half_share of targets (>= \
         barely_share of bytes). Saving: time - fastest x calls x processes per target if spread evenly; (4) as \
         DXT-V006.",
        "Choose a distance of ranks' blocks that is no multiple of stripe count times stripe size, or let each rank \
         start at a different block.",
        "own rule; Lustre Operations Manual, chapter on striping";
    THREADS_BY_TURNS = "DXT-V012",
        "Reads and writes of a process's threads are serialized.",
        "Reported if, in a process, (1) time with any thread in a call >= all_share x sum of call times over threads; (2) \
         that time >= half_share of the run; (3) no thread has > majority_share of the sum; (4) the mean span of a \
         thread, first to last call, >= majority_share of the span of all threads. Saving: time with any thread in a call \
         - call time of the busiest thread.",
        "Look for what the threads share: a lock around the calls, one descriptor whose file position they share (pread \
         and pwrite do not use the position), a library that is not thread-safe.",
        "own rule: independent threads overlap by chance";
    LATE_TO_MEET = "DXT-V013",
        "One or a few ranks arrive last at MPI collective calls: they compute or wait for messages.",
        "Lateness at a synchronization point = longest wait - own wait - own I/O time above the first quartile. \
         Reported if (1) one rank, or <= half of them if half_share of the largest lateness apart, \
         is last >= repeated_min times; (2) saving > majority_share of all last ranks' (half_share at points of a \
         part of the ranks); (3) \
         others' median wait >= half_share x saving; (4) p < chance_p or saving >= io_matters_share; or (5) >= \
         several_min ranks alternate, last at >= third_share of points by >= treble_ratio x the second's lateness. \
         Stands behind DXT-C039 and DXT-L008. Saving: lateness - the last other rank's.",
        "Give the late rank less to compute, or find out what slows this rank (another process on its cores, a slower \
         node).",
        "own rule: waiting for a rank is no I/O time, but is saved if that rank arrives earlier";
    ASKED_AGGREGATORS = "DXT-V014",
        "A hint, or a parameter of Open MPI, limits collective calls to few aggregators.",
        "Reported if, with aggregators = processes with >= minor_share of the bytes of the busiest in system calls \
         inside collective calls on the file, and n = min(ranks that make the collective calls, nodes), with at least \
         few_min nodes assumed if there is 1 aggregator, (1) aggregators <= the number requested; (2) aggregators < \
         n; (3) median request, by bytes, > half_time_bytes. Saving: time of these system calls x (1 - aggregators / \
         n).",
        "Raise the hint cb_nodes (on one node together with cb_config_list), or set neither; with Open MPI's own \
         MPI-IO, raise the parameter io_ompio_num_aggregators, or do not set it.",
        "own rule; ROMIO's user's guide; ompi_info";
    SYNC_TIME = "DXT-V015",
        "Syncs take much of the time in I/O.",
        "Reported if time in syncs, without flushes of C streams, >= uncovered_share of the time in all calls. Saving: time in syncs, minus the part \
         that findings on slow ranks, nodes, targets, files and stalls explain.",
        "Sync only data that must survive a crash of the node; sync in a separate thread while the program computes.",
        "own rule; fsync(2)";
    ASKED_AGAIN = "DXT-V017",
        "Processes repeat metadata queries (stat, access) on the same paths.",
        "Reported if, of stat(2), fstat(2), access(2) and their variants made by the program, its interpreter and \
         libraries, but not inside MPI-IO and HDF5, (1) calls >= hundred_calls_min and >= few_min x pairs of process \
         and path; or else (2) calls that fail, on paths that the same process also finds or opens, >= \
         hundred_calls_min and half of these calls. Saving: (1) time x (1 - pairs / calls); (2) time of the failed calls.",
        "Query each path once and cache the answer, or list the folder once.",
        "own rule: a cached answer costs nothing";
    HDF5_COLLECTIVE = "DXT-V019",
        "Collective HDF5 calls spend their time outside POSIX: waiting, communication, HDF5's own work.",
        "Reported if (1) of all kinds of MPI-IO and HDF5 calls, collective HDF5 reads or writes have the most time \
         outside; (2) (call time - POSIX time inside) / call time >= communication_share. Saving: (half_share x \
         min(...) as in DXT-V008 - saving of DXT-V009 - max(copy, exchange)) x (1 - far_ratio / calls per process); \
         copy = copy_ns_per_byte x bytes of a process (convert_ns_per_byte if calls have >= large_bytes on average), \
         exchange = transfer_ns_per_byte x bytes of an aggregator.",
        "Use larger selections and whole chunks in each call, the file's own datatype in memory, and no fill values \
         for data that are written anyway (H5Pset_fill_time).",
        "own rule; HDF5 reference manual, H5Pset_fill_time";
    HDF5_REOPENED = "DXT-V018",
        "A process opens an HDF5 file repeatedly, and HDF5 rereads its metadata each time.",
        "Reported if HDF5 opens of a file by a process >= calls_min; the file with the largest saving is reported. \
         Saving: time of opens, closes, other metadata calls, locks and reads of < metadata_bytes inside HDF5 on it x (1 \
         - 1 / opens).",
        "Keep the file open; call H5Fflush to make written data visible.",
        "own rule; HDF5 reference manual, H5Fopen";
    WRITTEN_THROUGH = "DXT-V020",
        "Each write waits until storage has the bytes: the file was opened with O_SYNC or O_DSYNC.",
        "Reported if writes to files opened in this way take longer than cached writes of the same size class in the \
         run (mean of >= calls_min; without these, in_memory_ns per call + transfer_ns_per_byte). Saving: the \
         difference, minus the part that findings on slow ranks, nodes, targets, files and stalls explain.",
        "Open without O_SYNC; call fsync once per step.",
        "own rule; open(2)";
    PAST_CACHE = "DXT-V021",
        "Small reads or writes bypass the page cache: the file was opened with O_DIRECT.",
        "Reported if reads or writes of < direct_bytes to files opened in this way, but not for synchronous writes \
         (DXT-V020), take longer than cached calls of the same kind and size class in the run (mean of >= calls_min; \
         without these, in_memory_ns per call + transfer_ns_per_byte). Saving: the difference.",
        "Open without O_DIRECT, or read and write some MiB at once.",
        "own rule; open(2)";
    SMALL_FILES = "DXT-V022",
        "Many small files are opened and read, or written, for few bytes each.",
        "Reported if (1) >= more_calls_min files, not removed in the run, move <= half_time_bytes per open and are \
         opened <= repeated_min times per process, or some_share x the number of such files; (2) an open takes \
         >= some_share x server_ns on average; (3) closes of >= slow_call_ns take < majority_share of the time. Saving: metadata calls (opens, ...), and, with <= \
         repeated_min transfers or <= metadata_bytes per open, transfer time x half_time_bytes / (half_time_bytes + \
         size).",
        "Pack the small files into one, or copy them to the node's own disk first.",
        "own rule: each file costs an open, a close and a short transfer";
    TEMPORARY_FILES = "DXT-V023",
        "Files are created, used and removed again, or only pass data from one process to another.",
        "Reported if (1) >= many_calls_min files, removed by unlink(2) in the run, move <= half_time_bytes per open and are \
         written, or neither written nor read; (2) files of one process are written, not synced, read for >= half_share of the \
         bytes, and removed after a write or their only open; or (3), before (1), one process without MPI reads files that others of \
         its node wrote before, bytes read / written from 1 / double_ratio to double_ratio; a warning at most if a file stays. In \
         (2) and (3), the files hold >= traffic_min_bytes and >= traffic_share of all bytes written. Saving: time of all calls; in \
         (1) and (3) less transfer_ns_per_byte, and in_memory_ns per call but those on C streams.",
        "Keep temporary data in memory, reuse one file, write temporary data once only, or use pipes.",
        "own rule: temporary data need no storage";
    STANDARD_OUTPUT = "DXT-V038",
        "Writes to standard output or standard error wait for their reader: no storage is involved.",
        "Reported if there are writes to `<stdout>` or `<stderr>`: the tracer records those that take >= 1 ms on a \
         pipe, a socket or a terminal. At most info for standard output in jobs without MPI, if another child of the writer's parent \
         runs at the same time: in a pipeline, all wait for the slowest. Saving: time of these writes.",
        "Print less, let one rank print, or redirect the output to a file.",
        "own rule: pipe(7), a full pipe blocks its writer";
    LAUNCHED = "DXT-V039",
        "A program is started many times, and each process opens and reads the same files.",
        "Reported if, in jobs without MPI, (1) >= more_calls_min processes on a node run one program; (2) < \
         half_share of them run at one moment; (3) >= half_share of them use the same files. Saving: time of opens, closes, seeks and queries on these files x (1 - 1 / \
         processes), and of reads x (1 - size / bytes read) of files that they do not write; or, if more, (processes - 1) x \
         min(least lifetime without own calls, start_ns), divided by the mean number of processes at once.",
        "Start the program once for all items; or keep the files that each process opens on a local disk.",
        "own rule: each process opens its files anew";
    PROCESSED_AGAIN = "DXT-V040",
        "A process reads a file again and again, and computes after each pass: the computing is repeated as well.",
        "Reported if, in jobs without MPI, a process (1) makes >= many_calls_min passes over a file: opens, or reads at offset 0; (2) \
         again = 1 - end of the last byte / bytes read >= half_share; (3) its time on processors is known. Saving, an estimate that \
         may be 0: pauses x again x computing share, at most the time of its busiest thread on processors. Pauses: from calls on the file after a \
         read to the thread's next call. Computing share = (time on processors - time in calls) / all pauses, at \
         most 1. At most `warn`: how much of the computing depends on the file is not on record.",
        "Keep what a pass has made of the data (decompressed, parsed) in memory; or read only the needed part, by an index.",
        "own rule: what is read again is decompressed and parsed again";
    HDF5_AMPLIFIED = "DXT-V024",
        "HDF5 moves far more bytes of a file than the program requests.",
        "Reported if, with moved = bytes that HDF5 reads and writes of a file through MPI-IO (else by system calls) and \
         needed = bytes of the chunks of its data sets, once for each direction and each time that the program transfers \
         as many elements, (1) moved >= hdf5_amplification x needed; (2) moved - needed >= traffic_min_bytes. Chunks of a \
         data set that the run creates need not be read to be written. If chunks are not on record, or each is moved \
         once, needed = bytes of the elements: moved = bytes read, or bytes written if the data sets have no chunks and \
         (1), (2) hold for twice the elements. Not if flushed per repeated_min writes, nor calls of < metadata_bytes. Saving: \
         time of HDF5's calls of each direction x (1 - needed / moved); without MPI and with chunks, of HDF5 itself as well.",
        "Read whole chunks or rows; make the chunk cache hold all chunks that a selection crosses; shape chunks as \
         they are read; transfer rows or blocks instead of single elements.",
        "own rule; HDF5 reference manual, H5Pset_chunk_cache";
    REWRITTEN = "DXT-V025",
        "A file is rewritten many times, by one process or by several one after another.",
        "Files that are renamed to one name count as one, and so do processes without MPI of a node that write it. Reported if they (1) \
         open the file >= many_calls_min times, or >= calls_min times if they read half to twice the bytes that they write, >= \
         some_share of the file per open; (2) write >= far_ratio x the bytes that the file holds; (3) read as in (1), or the file holds \
         <= block_read_bytes. Of these files, the one with the largest saving: time of these processes' calls on it x \
         (1 - 1 / min(opens, many_calls_min)).",
        "Keep the content in memory, and write the file less often, or only what has changed.",
        "own rule: only the last version counts";
    BY_TURNS = "DXT-V026",
        "The program alternates between computing and I/O, and nothing else explains its I/O time.",
        "Reported if (1) no other finding saves >= least_run_share; (2) reads (or writes) are >= majority_share of the \
         time in I/O, in >= few_min bursts; (3) no process makes calls in several threads; (4) saving >= some_share of \
         the run. Saving: min(I/O time, computing time) per process x (1 - 1 / bursts). Severity: info, since it needs \
         changes to the program.",
        "Read ahead or write behind: a thread, asynchronous calls, two alternating buffers.",
        "own rule: computing and I/O can overlap, except for one burst";
    POLLED = "DXT-V027",
        "Processes poll for a lock file, a lock or a file that others create, too often or too rarely.",
        "Reported if (1) >= few_min opens (EEXIST), repeated_min locks (EAGAIN, EACCES) or calls_min queries (ENOENT) \
         of a process fail, >= 1 per poll_interval_ns and spread over time, until one succeeds; (2) in <= quarter_share of windows between, the \
         process moves data or uses other files, and ranks do not synchronize; (3) the process does not create the \
         file; or (4) the trace shows the end of another process's call on the file, or rename in its folder, with \
         few_min failures, 1 per poll_interval_ns, or several_min waits, or as many of >= repeated_min failures for the \
         file, not for several files at once without repeats, and unless it started that process and finds the file within half_share of the wait, or start_ns, of its end. Saving: largest sum of a process's waits; (4) since that end.",
        "Hold lock files for less time; let the process that creates a file send a message.",
        "own rule; open(2)";
    HDF5_FLUSHED = "DXT-V028",
        "HDF5 files are flushed after every few writes.",
        "Reported if a process calls H5Fflush on a file (1) >= calls_min times; (2) for <= repeated_min dataset \
         writes each. Saving: s x min(1, flush time / t) x (1 - 1 / flushes), with t = time of syncs and writes of < \
         block_bytes inside HDF5, s = syncs + writes x half_time_bytes / (half_time_bytes + size). If bytes written \
         to storage >= repeated_min x dataset bytes, longer writes count too, in s x (1 - dataset bytes / bytes \
         written). Without MPI also flush time - t.",
        "Call H5Fflush once when a step is complete; closing a file writes all of it.",
        "own rule; HDF5 reference manual, H5Fflush";
    HEADER_REWRITTEN = "DXT-V029",
        "A header, an index, a record count or a state is rewritten in place.",
        "Reported if writes of one size class (powers of two) of a process to a file (1) are >= calls_min, and > 2 per \
         open; (2) have a range (first to last byte) of <= small_bytes, and move >= few_min x its length; (3) are >= \
         third_share x the number of other writes to the file; (4) have a range of <= quarter_share x the bytes of the \
         other writes; or are >= treble_ratio x as many, with a range of <= double_ratio x one such write. Saving: time \
         of these writes x (1 - 1 / writes).",
        "Write these bytes when the file is closed, or once per many records.",
        "own rule: only the last version counts";
    STREAM_BUFFER = "DXT-V030",
        "C streams flush or fill small buffers too often.",
        "Reported if, of reads (or writes) of C streams of < small_bytes, (1) >= more_calls_min, but less than half, are \
         requests; (2) outliers (DXT-V002) take >= most_share of the time; (3) <= small_bytes move per request; with \
         requests = time of all outliers / duration of a usual outlier (half of their time is in shorter ones). Saving: \
         outlier time x half_time_bytes / (half_time_bytes + bytes per request).",
        "Set a larger buffer with setvbuf(3) before the first access; do not call fflush between records.",
        "own rule; setvbuf(3)";
    MANY_AGGREGATORS = "DXT-V031",
        "Small requests of several aggregators in one collective call are serialized.",
        "Reported if, with service = longest request / requests of a phase, (1) >= several_min processes each make one \
         system call inside collective calls of a file, begun within half_share x service, <= half_time_bytes in all; (2) \
         the k-th shortest takes k x service, +- third_share x service; (3) service >= slow_small_ns and >= \
         convert_ns_per_byte x bytes of a request; (4) this holds in >= several_min phases, with >= majority_share of the time of \
         those with one call per process. Saving: time - service, per request.",
        "Use one aggregator, which makes one request of all pieces: cb_nodes=1, or io_ompio_num_aggregators=1 with Open \
         MPI's own I/O.",
        "own rule; ROMIO's user's guide; ompi_info";
    FIRST_CALLS = "DXT-V032",
        "The first call of each process, or of each process after a pause, takes far longer than the others.",
        "Reported if outliers (DXT-V002) of <= setup_ns (1) are first calls of their kind of >= 3 processes and >= \
         half_share of those that make such calls, with >= all_share of the excess (time above that of peers), at >= \
         few_min calls per process; or (2) are first calls after a pause or synchronization point, of >= 3 processes, \
         with >= most_share of the excess, at >= repeated_min bursts per process and >= few_min calls per burst. \
         Saving: the excess. Severity: info below high_run_share; (2) warn at most.",
        "Ignore first calls in a longer run: setup happens once. If first calls take much of the run, make them \
         earlier, in parallel with other work, or stagger the ranks.",
        "own rule: connections, memory and caches are set up once";
    TINY_COLLECTIVE = "DXT-V033",
        "Collective MPI-IO calls move few bytes of all ranks together.",
        "Reported if collective reads (or writes) that the program makes on a file, with >= 2 ranks, (1) are >= \
         many_calls_min per rank; (2) move <= small_bytes of all ranks together per call, on average. Saving: time of \
         requests of < block_bytes inside these calls x half_time_bytes / (half_time_bytes + size).",
        "Combine the data of many steps, and read or write them in one collective call.",
        "own rule: each call costs a data exchange and a request";
    READ_BEFORE = "DXT-V034",
        "Processes read blocks and then overwrite them completely, too soon to have used the data.",
        "Reported if, for a process and file with pairs = reads of >= 64 KiB (256 KiB in logs of other tools) and the \
         same thread's next write of the same bytes, < 1 ns per 32 bytes later, (1) pairs >= calls_min; (2) pairs >= \
         most_share of such reads and writes however long between; (3) pairs >= half_share of the process's reads of \
         the file; (4) no library uses the file, and the file is not mapped into memory. Saving: time of these reads, \
         x pairs / reads. Severity: warn at most, since some bytes may be preserved.",
        "Do not read the old content if the new content does not depend on it; if few bytes change, write only those \
         bytes.",
        "own rule: a processor reads at most 32 bytes per ns from its cache";
    SLOW_THREAD = "DXT-V035",
        "One thread of a process takes longer for its reads or writes than others with the same work.",
        "Reported if, of >= 3 threads of a process, (1) each makes >= 16 reads (or writes), with number and mean \
         length within 1.25 x of the median, on the same files or each on a file of its own; (2) slowdown of one \
         thread = mean of log(time / peers), without outliers, against the other threads (as for DXT-O002) >= \
         min_slowdown; (3) p x threads x processes <= false_discovery_rate, or p x threads if it is the same thread \
         in >= half_share of the processes. Saving: per phase, time of the busiest thread - time of the busiest \
         thread if the slow one were as fast as the others.",
        "Check what else that thread does and where it runs; let each thread take the next piece when it finishes one.",
        "own rule: threads with the same work should take the same time";
    CPU_WAIT = "DXT-V036",
        "Processes were ready to run but waited for a processor.",
        "Reported if, over intervals between two samples of a thread with run + wait >= half_share x length or wait \
         >= barely_share x length, waits / length >= cpu_wait_share (/proc/PID/task/TID/schedstat; wait x involuntary / \
         all switches: a wait behind a sleep belongs to the call that sleeps). No other finding's saving includes these waits: calls lose the share wait / (run + wait) of their time \
         beyond the interval's sleep, first of their time above the median of >= calls_min peers. Saving: waits / length of a node's \
         processes (each by its thread that waits most), without the part of each process's time in collective MPI \
         calls, x time with such intervals, at the node with most.",
        "Start fewer processes or threads per node, bind them to CPUs of their own, and see what else runs there.",
        "Linux, Documentation/scheduler/sched-stats.rst; own rule: a thread without a CPU does not wait for storage";
    NO_OVERLAP = "DXT-V016",
        "Asynchronous operations do not overlap with computing: the program waits for them.",
        "Reported if, in processes with one thread and recorded waits, time in calls that start operations or wait \
         for them >= nearly_all_share of the time with one in flight. Saving: time in these calls, without outliers, \
         x min(1, computing time / time in these calls).",
        "Compute between starting an operation and waiting for it, with two alternating buffers; if starting takes \
         most of the time, use a thread of your own or io_uring.",
        "own rule; MPI 4.0, 14.4.3; io_submit(2)";
}
