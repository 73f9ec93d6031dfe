//! The codes of the findings of this topic, and what `explain` says of each. Slow units have the codes of `outliers`, which asks the same.

use crate::findings::codes;

codes! {
    SLOW_MOMENT = "DXT-V001",
        "For a while the calls of most ranks are slower than at other times.",
        "The run is divided into slots, and at the ends of phases. In a slot each rank counts by the mean logarithm of its calls' times over that of their \
         like (same operation, size and file); the slot by the median of its ranks; slots are compared by a modified z-score, false_discovery_rate \
         shared out over them, at least min_slowdown times slower. Calls of several kinds that are slow at the same time are one finding. Where none is odd: all slots from one on, 1.5 times slower than those before, or where calls take longer and longer to the end (twice as long in the last quarter of the slots as in the first). \
         What comes back: three or more moments at which 0.6 of the processes are in calls far from their like at once (as DXT-V002) and leave them together (in 0.35 of the longest), while fewer others of their kind are as quick as ever, if these make 0.7 of what such calls cost.",
        "Something else used the file system or the network then: see what ran at that time, and repeat the run before changing the program.",
        "ours";
    STALL = "DXT-V002",
        "One call, or two or three, took so long that the job waited.",
        "A call is far from its like from 8 times their median and from 4.5 spreads of the fast half of them on; from 4 times on where calls are so regular that 12 spreads are less; three calls or fewer also where they stand 8 times above all others. Up to three calls that make half of what \
         such calls cost are told one by one, those that are at the same time and end together as one.",
        "One stalled call is an event, not a property of its rank: see whether it comes again. A failover or an eviction of a storage server takes tens of seconds.",
        "ours";
    LONG_TAIL = "DXT-V003",
        "A few calls of a kind take far longer than the rest, on no particular rank, node or target.",
        "As DXT-V002, if many calls share it. The folder or the ending of the files is named on which 0.8 of it are, at three times the cost of a call on others. One for each \
         file: of at least 5 files that processes use, 0.8 have one such call, and none has more. Where more than 0.1 of 100 calls or more are far, on nobody and nothing in particular, \
         storage serves them in two ways, as from a cache and from disks: no finding.",
        "Fewer, larger and collective calls meet it less often; where each rank waits for all others, the slowest of all calls decides.",
        "ours";
    UNCOVERED = "DXT-V004",
        "One kind of calls takes much of the time in I/O, and nothing explains why.",
        "At least uncovered_share of all time in calls.",
        "Compare with what the file system can do, and with another run (`compare`).",
        "ours";
    LOCK_WAITS = "DXT-V005",
        "Processes wait for file locks that others hold.",
        "Time in lock calls of the program beyond 0.2 ms each, which a lock takes that nobody holds.",
        "Lock the bytes that are written rather than the whole file, hold locks for less, or write through one process.",
        "ours";
    FEW_TARGETS = "DXT-V006",
        "Calls queue at few storage targets.",
        "Calls in flight on each target that is used, at least 3; the fastest call of a kind is 6 spreads of the fast half below the median, or the fast end of \
         the logarithm of durations lies much further from the median than the slow end: most calls wait behind others, the first of a burst do not. Or the more calls are in flight on its target when a call begins the longer it takes for its size, within slots of time: the logarithm grows by 0.4 of that of their number at least, with a correlation of 0.5, while no less is done the more there are. Or 32 calls and more of one size, of which one is done each time that a call takes which meets no other (to a third), and none takes longer than one of each process before it would. Targets are those in use at a time, the mean over phases. Not where each file is one process's, and 3 or more lie on each of several targets evenly, with none known besides: then there are no others. Where targets serve as many calls with few in flight as with many, none need have met no other. Saving: as many targets as would leave none waiting, at most 8 or as many as there are.",
        "More stripes for shared files (`lfs setstripe -c`), files of ranks spread over all targets (`lfs setstripe -i -1`).",
        "ours; queueing: Little, Operations Research 9, 1961";
    OUTSIDE_POSIX = "DXT-V008",
        "Independent calls of MPI-IO or HDF5 spend their time outside POSIX: in communication, locks and copies.",
        "Time of the calls less that of the system calls inside them; the saving by the ledger, less what all wait for the slowest rank's system calls, no more than the process with most of it is outside, and 0.2 ns per byte for a copy.",
        "Make the calls collective or larger: independent ones lock, copy and wait one by one.",
        "Wright et al., The Computer Journal 56, 2013 (RIOT): MPI-IO against POSIX time";
    LONG_COLLECTIVE = "DXT-V009",
        "One collective call held its ranks far longer than others like it.",
        "The longest collective call of each kind on a file, if most of the ranks that make such calls are in it at the same time; saving: what it took beyond what such calls usually take.",
        "See what it does: the first or last call on a file allocates, fills or flushes it (HDF5: H5Pset_fill_time, H5Pset_alloc_time, metadata flushes); few bytes asked and many moved beneath it are data sieving.",
        "ours";
    READ_MODIFY_WRITE = "DXT-V007",
        "Small reads only fill up blocks of which writes change a part.",
        "A process has 0.8 to 2.2 reads of at most 64 KiB for each of its writes on a file, and no larger reads there. Cost: those reads.",
        "Write whole blocks: align offsets and lengths to the file system's blocks or stripes (H5Pset_alignment).",
        "ours";
    HDF5_METADATA = "DXT-V010",
        "Ranks read or write the metadata of an HDF5 file one by one, each near the same places.",
        "Independent reads (or writes) of MPI-IO inside HDF5 below 16 KiB, less as many as data sets have small ones: at least half of them, 4 for each of at least 4 \
         ranks, each of which reaches over a quarter of the bytes that all touch. Cost: what all ranks but one take for them.",
        "H5Pset_all_coll_metadata_ops for reads, H5Pset_coll_metadata_write for writes; open objects once.",
        "Howison et al., Tuning HDF5 for Lustre File Systems, 2010 (GCRM)";
    ALIASING = "DXT-V011",
        "Requests of several ranks begin on one storage target at a time while the others idle, though each has its share in all.",
        "Moments as long as a call usually takes in which at least 4 processes begin requests on a file with at least 4 targets: in half of them at least three quarters on one \
         target, and there they take 1.2 times as long as in the others, of which there are 8. Cost: time of calls beyond the fastest of their kind, if they usually take twice as long, less what they would wait on all targets. Or a queue (DXT-V006) of which \
         0.8 is on files whose requests meet on half of the file's targets at most (those with 0.02 of its bytes), spread over at least two rows of stripes: the same price.",
        "Let the distance of ranks' blocks be no multiple of stripe count times stripe size, or let each rank begin at another block.",
        "ours; Lustre Operations Manual, chapter on striping";
    THREADS_BY_TURNS = "DXT-V012",
        "Threads of a process read and write one after another, never two at once.",
        "The calls of a process's threads take as long as at least one of them is in a call, to 3 %, that is at least half of the run, and no thread \
         has more than two thirds of it; they are there at the same time (from its first call to its last, a thread is there for 0.6 of the time, on the mean), and not one when the other has gone. Saving: all but the share of the thread with most.",
        "See what they share: a lock around the calls, one descriptor with a position (pread and pwrite need none), a library that is not thread-safe.",
        "ours";
    LATE_TO_MEET = "DXT-V013",
        "A rank, or several together, come late to MPI's own collective calls, in which all others wait for them, while they compute or wait for messages.",
        "Between two meetings of all ranks (barriers, reductions to all and their like; without any, broadcasts and others that nobody leaves before the last has come): who waits least, and what all others wait at least, less what its calls of I/O take longer than theirs; ranks \
         with 0.7 of that at two meetings or more: those that the largest step in lateness, half of the latest's at least, divides from the others, at most half of all; one alone, if \
         it makes half of what they cost. Or at 0.4 of the meetings one rank comes later than all others by 3 times what these differ by, at least 3 ranks by turns. Where a part of all ranks meets, by the time since that part last met, less what the rank's I/O takes longer than theirs in all; the others wait no longer for it than they do where all meet, and half of them for half of it at least. No matter of I/O, \
         never above info where that does not matter, and not where ranks take turns (DXT-C039).",
        "Give it less to compute, or see what slows its computing.",
        "ours";
    ASKED_AGGREGATORS = "DXT-V014",
        "A hint of the program, or a parameter of Open MPI, keeps collective calls to fewer aggregators than there are ranks and nodes.",
        "The number of aggregators that was asked for at the open, or by the parameter for it, no more processes that move bytes by system calls inside collective calls (a twentieth of what the busiest does), in requests of more than 512 KiB, and more ranks that make collective ones. \
         Saving: their system calls shared among as many as there are nodes, or four.",
        "Set cb_nodes and cb_config_list, or leave both out; the same of Open MPI's parameter.",
        "ours; ROMIO's user's guide; ompi_info";
    SYNC_TIME = "DXT-V015",
        "Syncs take much of the time in I/O.",
        "At least uncovered_share of the time in all calls. Saving: all of it.",
        "Sync only what must outlive a crash of the node; sync while the program computes.",
        "ours; fsync(2)";
    ASKED_AGAIN = "DXT-V017",
        "Processes ask for the same names again and again: whether a file is there, how large it is.",
        "At least 100 calls of stat(2), access(2) and their kin made by the program, 4 for each name that a process asks for on the mean. Saving: all but the first for \
         each name. Or 1,000 of them, half of all, that fail for names which the same process finds or opens later. Saving: those.",
        "Remember the answer, or list the folder once.",
        "ours";
    HDF5_COLLECTIVE = "DXT-V019",
        "Collective calls of HDF5 spend their time outside POSIX: in waiting for each other, communication, and HDF5's own work.",
        "As DXT-V008, of HDF5's collective reads or writes; saving: half of it, less eight operations, since what is exchanged must be exchanged.",
        "Larger selections and whole chunks in each call; the file's own datatype in memory; no filling of what is written anyway (H5Pset_fill_time).",
        "ours; HDF5 reference manual, H5Pset_fill_time";
    HDF5_REOPENED = "DXT-V018",
        "A process opens an HDF5 file again and again, and HDF5 reads its metadata anew each time.",
        "At least 10 opens of a file by a process, calls of HDF5 on record. Saving: what opens, closes, locks and reads below 16 KiB inside HDF5 take on that file, but for one open.",
        "Keep the file open; H5Fflush makes what was written visible.",
        "ours; HDF5 reference manual, H5Fopen";
    WRITTEN_THROUGH = "DXT-V020",
        "Each write waits until storage has the bytes: the file was opened with O_SYNC or O_DSYNC.",
        "Writes of streams with that mark. Saving: what they take longer than the run's other writes of that size, or than 2 µs and 1 ns a byte, but for what some take far longer than their like.",
        "Open without O_SYNC; fsync once a step.",
        "ours; open(2)";
    PAST_CACHE = "DXT-V021",
        "Small reads or writes go past the page cache: the file was opened with O_DIRECT.",
        "Requests below 256 KiB of streams with that mark, and not of DXT-V020. Saving: as DXT-V020.",
        "Open without O_DIRECT, or read and write some MiB at once.",
        "ours; open(2)";
    SMALL_FILES = "DXT-V022",
        "Many small files are opened and read, or written, one by one.",
        "At least 32 files of at most 512 KiB for each open, opened by a process twice at most on the mean (1,000 files and more that are moved in a go: 64 times), not removed in the run, that have 0.8 of all opens, which take 0.6 ms or are 1,000; of at most 64 KiB for each open the transfers may take that as well. Not where 0.6 of the time is in closes of 5 ms and more. \
         A request that is 0.9 of its file, of at most two for each open, is no small read or write. Saving: opens, closes and other metadata \
         calls on them, and what reads and writes take for being short (as DXT-C004), if there are two for each open at most.",
        "Pack them into one file, or bring them to the node first.",
        "ours";
    TEMPORARY_FILES = "DXT-V023",
        "Files are made, used for a moment and removed again.",
        "At least 16 files of at most 1 MiB for each open that are removed (unlink) in the run, and written or left empty. Saving: all of their calls but 2 µs each and 1 ns a byte, as in memory.",
        "Keep such data in memory, or use one file again and again.",
        "ours";
    HDF5_AMPLIFIED = "DXT-V024",
        "HDF5 reads far more of a file than the program asks for.",
        "Bytes that HDF5 reads of a file (or asks of MPI-IO) are at least twice the bytes of the elements that the program asks of its data sets, and 1 MiB more. Saving: \
         that part of the time of its reads.",
        "Read whole chunks or rows; a chunk cache that holds what a selection crosses; chunks shaped as they are read.",
        "ours; HDF5 reference manual, H5Pset_chunk_cache";
    REWRITTEN = "DXT-V025",
        "A process writes a small file anew again and again.",
        "A file of at most 16 MiB that a process opens 16 times or more and of which it writes 6 times what it holds, and reads less than half of that. Saving: all but a sixteenth of its calls on it.",
        "Write it less often, or only what has changed.",
        "ours";
    BY_TURNS = "DXT-V026",
        "A program computes and does I/O by turns, and nothing about its I/O is odd.",
        "Nothing else that would save least_run_share; 4 bursts of I/O or more, 0.6 of it reads or writes, in processes whose other threads do none. Saving: the smaller of I/O and computing, but for \
         one burst. Never above info: it asks for another program.",
        "Read ahead or write behind: a thread, asynchronous calls, two buffers in turn.",
        "ours";
    POLLED = "DXT-V027",
        "Processes wait for a lock file, a lock, or a file that others make, by asking again and again, or too seldom.",
        "Opens that fail since a file is there, locks that are not to be had at once, or calls that fail since it is not there yet, in a row 4, 2 or 8 at least and one a second, until one of the same process succeeds; not where it makes other calls meanwhile, \
         meets all other ranks, or makes the file itself. Saving: how long the process waits that waits longest, as far as slots of time tell. Where another process's call on the file ends between the last question in vain and the first like it that succeeds, \
         the file was there by then: 4 questions in vain suffice, one a second, or 3 such waits of the process, or 3 of two questions for one file; saving: from then to the question that finds it, of the process with most. A file that another process renames in its folder between the two counts as such a call, the last before it is found.",
        "Hold lock files for less; let a message tell that a file is there.",
        "ours; open(2)";
    HDF5_FLUSHED = "DXT-V028",
        "HDF5 files are flushed after every few writes.",
        "8 calls of H5Fflush on a file by a process or more, for at most 2 writes of data sets each. Saving: what syncs, and writes up to 64 KiB for being short (as DXT-C004), take inside HDF5 there, no more \
         than the flushes do, but for one. Where twice the bytes of data sets go to storage, longer writes too, as far as they are more than those bytes.",
        "Flush when a step is complete; closing a file writes all of it.",
        "ours; HDF5 reference manual, H5Fflush";
    HEADER_REWRITTEN = "DXT-V029",
        "A header, an index or a count of records is written again between records.",
        "Writes of one size (within a factor of two) of a process on a file, 8 at least, that all lie in 64 KiB or less which they write 4 times or more, and 0.3 to 3 of them for each of the process's \
         other writes there, which are of four times the bytes at least that these lie in. Saving: all but one of them.",
        "Write it when the file is closed, or every so many records.",
        "ours";
    STREAM_BUFFER = "DXT-V030",
        "C streams empty or fill their buffers every few bytes.",
        "Reads or writes of C streams below 64 KiB of which fewer than half, 32 at least, are far from their like and have 0.8 of the time: with at most 64 KiB from one to the next. \
         Saving: what these take for being short (as DXT-C004).",
        "A larger buffer: setvbuf(3) before the first access; no fflush between records.",
        "ours; setvbuf(3)";
    MANY_AGGREGATORS = "DXT-V031",
        "Several aggregators make small requests in one collective call, and storage serves these one after another.",
        "Phases in which each of three or more processes makes one system call inside collective calls of a file, all begun together and of 512 KiB in all at most, which take once, twice, three times \
         as long as one is served and so on, each to 0.4 of a service; at least three phases, with 0.6 of the time of those with one call of each. A service takes 1 ms, and 10 ns a byte, at least. \
         Saving: all but one service.",
        "One aggregator, which makes one request of all pieces: cb_nodes=1, or io_ompio_num_aggregators=1 with Open MPI's own I/O.",
        "ours; ROMIO's user's guide; ompi_info";
    FIRST_CALLS = "DXT-V032",
        "The first read or write of each process takes far longer than the others, or the first of each burst.",
        "Calls far from their like (as DXT-V002) that are the first of their kind of their process: of 3 processes or more, half of those that make such calls, with 0.98 of what such calls cost, none of them \
         longer than 1 s, where each process makes 4 such calls or more on the mean. Or the first behind a time without I/O or a point where all meet, with 0.8 of that cost, of 3 processes or more, 4 calls or more to a burst: \
         all begin at once, and wait for each other; no more than warn. Below high_run_share no more than info.",
        "Nothing, in a longer run: what is set up once takes its time once. Of much of the run: begin earlier, beside other work; ranks one after another.",
        "ours";
    TINY_COLLECTIVE = "DXT-V033",
        "Collective calls of MPI-IO have few bytes of all ranks together.",
        "16 calls of each rank on a file or more, made by the program, with at most 64 KiB of all ranks in each. Saving: what the requests of at most 128 KiB inside of them take for \
         being short (as DXT-C004); the exchange of each call comes to that.",
        "Gather the data of many steps, and write them in one collective call.",
        "ours";
    READ_BEFORE = "DXT-V034",
        "Processes read blocks that they then overwrite as a whole, so soon that they cannot have looked at them.",
        "Reads of 64 KiB or more by the program itself, each followed by the same thread's write of the same bytes: 8 of a process on a file or more, half of its reads there, 0.8 of such pairs with less time between than a \
         processor needs to look at the bytes (1 ns for 32). Not where a library uses the file, nor where it is mapped. Saving: these reads, but for what some take far longer than their like. Never above warn: some of the bytes may be kept.",
        "If the new content does not depend on the old, do not read it; if few bytes change, write only those.",
        "ours";
    SLOW_THREAD = "DXT-V035",
        "One thread of a process takes longer for its reads or writes than the others that do the same.",
        "At least 3 threads of a process that make 16 reads (or writes) or more each, in numbers and of lengths within a quarter of their median, on the same files or on one of its own each. By thread the mean logarithm of the \
         durations over that of their like (same operation and size), without calls far from it; threads are compared as ranks are (DXT-O002), at least min_slowdown times slower, false_discovery_rate shared out over \
         them. The same thread in half of the processes with several is told as that. Saving: by phase, what the process with most is in calls of one thread for, less what it would be if that thread were as quick.",
        "See what that thread does besides, and where it runs; let threads take the next piece when they are done with one.",
        "ours";
    NO_OVERLAP = "DXT-V016",
        "Asynchronous operations keep the program waiting: nothing else goes on while they do.",
        "Of processes with one thread whose waits are on record: time in the calls that hand operations over and that wait for them is at least 0.9 of the time with one in \
         flight. Saving: what the process computes for, at most, could go on meanwhile.",
        "Compute between handing over and waiting, with two buffers in turn; where handing over itself takes the time, a thread of your own or io_uring.",
        "ours; MPI 4.0, 14.4.3; io_submit(2)";
}
