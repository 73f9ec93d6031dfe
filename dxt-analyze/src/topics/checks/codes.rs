//! Codes of the findings of `checks`, and their `explain` texts.

use crate::findings::codes;

codes! {
    STDIO_SHARE = "DXT-C001",
        "A large share of the bytes goes through C streams.",
        "Bytes of STDIO reads and writes over all bytes that the program moved: more than stdio_share.",
        "Move large data with read and write, MPI-IO or HDF5, or give streams a larger buffer with setvbuf(3).",
        "Drishti S01";
    CALL_MIX = "DXT-C002",
        "The program makes far more reads than writes, or the reverse.",
        "Difference of reads and writes over their sum: more than intensive_share.",
        "Nothing: it tells what to tune first.",
        "Drishti P01, P02";
    BYTE_MIX = "DXT-C003",
        "The program reads far more bytes than it writes, or the reverse.",
        "Difference of bytes read and written over their sum: more than intensive_share.",
        "Nothing: it tells what to tune first.",
        "Drishti P03, P04";
    SMALL_READS = "DXT-C004",
        "Many reads are small.",
        "Reads that reach storage (C streams left out) of less than small_request_bytes: more than small_share of all and more than small_min, or a tenth of that where most of the time is in such of 16 KiB and twice slow_small_ns and more.",
        "Gather them: a buffer, collective MPI-IO, larger HDF5 chunks.",
        "Drishti P05";
    SMALL_WRITES = "DXT-C005",
        "Many writes are small.",
        "As DXT-C004, writes.",
        "Gather them: a buffer, collective MPI-IO, larger HDF5 chunks.",
        "Drishti P06";
    SMALL_SHARED_READS = "DXT-C006",
        "Many reads of files that several ranks share are small.",
        "As DXT-C004, of files that at least two processes use.",
        "Collective MPI-IO gathers them.",
        "Drishti P15";
    SMALL_SHARED_WRITES = "DXT-C007",
        "Many writes to files that several ranks share are small.",
        "As DXT-C006, writes.",
        "Collective MPI-IO gathers them.",
        "Drishti P16";
    RANDOM_READS = "DXT-C008",
        "Many reads go backwards in the file.",
        "Reads that begin before the end of the same thread's previous read of the file (neither consecutive nor sequential): more than random_share of those that have a previous one, and more than random_min.",
        "Sort requests by offset, or let collective MPI-IO do so.",
        "Drishti P11, P12";
    RANDOM_WRITES = "DXT-C009",
        "Many writes go backwards in the file.",
        "As DXT-C008, writes.",
        "Sort requests by offset, or let collective MPI-IO do so.",
        "Drishti P13, P14";
    SHARED_INDEPENDENT = "DXT-C010",
        "Ranks access a shared file each for itself.",
        "A file of at least two ranks with more than collective_min POSIX or independent MPI-IO calls and no collective one.",
        "Collective calls, or a file per rank or node.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    METADATA_TIME = "DXT-C011",
        "A rank spends long in metadata calls.",
        "Time of one process in opens, closes, seeks, stats, locks and the like: more than metadata_rank_s. Cost: that time.",
        "Open once and keep open; one rank stats for all; fewer files; what one rank does for all is shared out.",
        "Drishti P17";
    METADATA_SHARE = "DXT-C012",
        "Metadata calls take a large share of the time in I/O.",
        "Their time over the time of all calls of the program: at least metadata_share, of at least metadata_min calls. Cost: their time. One of three ranks or more that makes 0.8 of it, while the others wait, is named. Below high_run_share of the run time it is no warning where each process makes fewer than 200 and they take less than 5 ms each.",
        "Open once and keep open; one rank stats for all; fewer files.",
        "ours";
    ONE_RANK = "DXT-C013",
        "One rank moves nearly all bytes.",
        "Its share of the bytes of at least two ranks: at least one_rank_share, of at least traffic_min_bytes.",
        "Let every rank move its own part.",
        "ours; Drishti sees it as P18";
    BYTE_IMBALANCE = "DXT-C014",
        "Ranks move unequal amounts of bytes.",
        "Imbalance percentage over ranks, (max - mean) / max * n / (n - 1): more than straggler_imbalance, the busiest at least traffic_min_bytes.",
        "Give ranks equal parts.",
        "Drishti P18; DeRose, Homer & Johnson, Euro-Par 2007";
    TIME_IMBALANCE = "DXT-C015",
        "Ranks spend unequal times in reads and writes.",
        "As DXT-C014 over times, the longest at least imbalance_min_ns. In the verdict: one rank that is in calls of a kind outside of MPI-IO for twice the mean of the others, or two ranks and more, \
         a third at most of those that do as much (calls and bytes within 1.25 times the median, of 8 ranks at least), that are in reads or writes 1.3 times as long as the median of the others and \
         stand off from all of these by more than nine tenths of them differ, in 0.6 of 3 or more phases each. Saving: what the others take.",
        "See `outliers --by rank` and `--by node`.",
        "Drishti P19; DeRose, Homer & Johnson, Euro-Par 2007";
    SHARED_READ_IMBALANCE = "DXT-C016",
        "Ranks read unequal shares of a shared file.",
        "As DXT-C014 over the ranks that read the file, of at least traffic_min_bytes: more than shared_file_imbalance.",
        "Equal parts, or collective calls.",
        "Drishti P22";
    SHARED_WRITE_IMBALANCE = "DXT-C017",
        "Ranks write unequal shares of a shared file.",
        "As DXT-C016, bytes written.",
        "Equal parts, or collective calls.",
        "Drishti P21";
    NO_MPIIO = "DXT-C018",
        "An MPI program shares files without MPI-IO.",
        "At least two MPI ranks, a file that at least two of them use, and no read or write through MPI-IO.",
        "Collective MPI-IO or parallel HDF5.",
        "Drishti M01";
    NO_COLLECTIVE_READS = "DXT-C019",
        "Most MPI-IO reads are independent.",
        "Share of collective ones (ordered and split ones too): less than collective_share of more than collective_min.",
        "Call the collective forms.",
        "Drishti M02, M04";
    NO_COLLECTIVE_WRITES = "DXT-C020",
        "Most MPI-IO writes are independent.",
        "As DXT-C019, writes.",
        "Call the collective forms.",
        "Drishti M03, M05";
    BLOCKING_ONLY = "DXT-C021",
        "MPI-IO calls all block although the job has long times without I/O.",
        "No nonblocking or split call, and no process in a call for at least idle_share of the time from the first call to the last, at least twice.",
        "Nonblocking calls, waited for after the computation.",
        "Drishti M06, M07";
    FEW_AGGREGATORS = "DXT-C022",
        "Collective calls move the bytes through few nodes.",
        "Nodes of the ranks that move bytes beneath collective calls, over all of at least two nodes: less than aggregator_nodes_share.",
        "Set the hints cb_nodes and cb_config_list.",
        "Drishti M08, M09, M10";
    MEMORY_UNALIGNED = "DXT-C023",
        "Many reads and writes are unaligned in memory.",
        "Share that begins off a multiple of 8 bytes, or of DXT_MEM_ALIGN: more than memory_unaligned_share.",
        "posix_memalign(3).",
        "Drishti P07";
    REREAD = "DXT-C024",
        "A process reads bytes again that it has read before.",
        "Overlap of each read with all earlier ones of the process and file, since it last wrote them: at least traffic_share of all bytes read and traffic_min_bytes. Cost: the reads' time by bytes.",
        "Keep them in memory.",
        "Drishti P09 asks for it";
    COMMON_READS = "DXT-C025",
        "Several ranks read the same bytes.",
        "Bytes beyond one reading of each, of at least common_readers_min processes: at least traffic_share of all bytes read and traffic_min_bytes. In the verdict, blocks that half of the processes and at least 8 read: by reads of less than 128 KiB, or by longer ones of just the same bytes, up to 4 MiB. Cost: the file's reading time by bytes.",
        "Read once and broadcast, or read collectively.",
        "ours";
    READ_BACK = "DXT-C026",
        "A process reads bytes that it wrote.",
        "Overlap of reads with the process's earlier writes, at their first reading: at least traffic_share of all bytes read and traffic_min_bytes. Files that several processes write count if no byte of them has two writers. Cost: the reads' time by bytes.",
        "Keep in memory what is needed again.",
        "ours";
    OVERWRITTEN = "DXT-C027",
        "A process writes bytes more than once.",
        "Overlap of each write with all earlier ones of the process and file: at least traffic_share of all bytes written and traffic_min_bytes. Cost: the writes' time by bytes. With DXT-C026 on the same files: one finding of scratch data.",
        "Write bytes once they are final.",
        "Drishti P10 asks for it";
    UNASKED = "DXT-C028",
        "MPI-IO reads bytes that nobody asked for.",
        "Reads beneath MPI-IO's calls less what these asked for; all reads beneath writes (read-modify-write): at least traffic_share of the bytes moved and traffic_min_bytes. Cost: time of those reads.",
        "Collective calls, or hints that disable data sieving.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    READ_RUNS = "DXT-C029",
        "Small reads follow each other so that one could replace many.",
        "Reads below small_request_bytes that begin where the thread's last one of the stream ended, no sync between: calls beyond one per small_request_bytes, at least saved_calls_min, or a tenth of that where most of the time is in such of 16 KiB and twice slow_small_ns and more. Cost: these calls' share of the time.",
        "Read more at once.",
        "ours";
    WRITE_RUNS = "DXT-C030",
        "Small writes follow each other so that one could replace many.",
        "As DXT-C029, writes.",
        "Gather them in a buffer.",
        "ours";
    SLOW_SMALL_WRITES = "DXT-C031",
        "Small writes take as long as storage does.",
        "Writes below small_request_bytes that take at least slow_small_ns: at least slow_small_share of the small ones and sync_min, or 10 that take five times as long and half of the time in writes. Cost: their time.",
        "Look for O_SYNC, O_DSYNC, O_DIRECT, contended locks, a full page cache.",
        "ours";
    SYNC_PER_WRITE = "DXT-C032",
        "A file is synced after nearly every write.",
        "fsync and its kin on a file: at least sync_share per write and sync_min. Cost: time of the syncs.",
        "Sync once per step.",
        "ours";
    SEEK_PER_ACCESS = "DXT-C033",
        "Seeks accompany reads and writes.",
        "POSIX seeks per read or write of the same files: at least seek_share, at least seek_min of them. Cost: time of the seeks.",
        "pread(2), pwrite(2), MPI_File_read_at.",
        "ours";
    REPEATED_OPENS = "DXT-C034",
        "A process opens a file again and again.",
        "Opens of one file by one process: at least opens_per_file; the verdict tells it from 4 on, by what opens and closes of such files cost but for the first of each process.",
        "Keep it open.",
        "ours";
    OPEN_PER_ACCESS = "DXT-C035",
        "There is an open for every read or write or two.",
        "Reads and writes per open: at most accesses_per_open, with at least metadata_min opens. Cost: time of metadata calls.",
        "Pack small files into one, or keep files open.",
        "ours";
    FAILED_OPENS = "DXT-C036",
        "Many opens fail.",
        "Share of all opens: at least failed_opens_share, at least failed_opens_min. Cost: their time.",
        "Shorten search paths.",
        "ours";
    METADATA_RATE = "DXT-C037",
        "Metadata calls come in a storm.",
        "Opens, closes, stats and locks in one second: at least metadata_rate.",
        "Spread or avoid them.",
        "ours";
    IDLE_GAPS = "DXT-C038",
        "For long, no process does I/O.",
        "Times of at least 1/65,536 of the trace with no process in a call, over the time from the first call to the last (at least phases_min_ns): at least idle_share.",
        "Let I/O go on during computation.",
        "ours";
    SERIALISED = "DXT-C039",
        "Only one process at a time moves bytes.",
        "Slots of 1/65,536 of the trace in which exactly one process reads or writes, over those in which any does: at least serial_share, together at least phases_min_ns. Or phases in which four ranks or more, of all or of groups with a file each, have one turn each, of which one begins as the other ends (0.8 of them), without pauses (0.8 of the time): then what all wait beyond the longest turn.",
        "Let ranks move their parts at the same time.",
        "ours";
}
