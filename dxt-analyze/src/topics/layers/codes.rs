//! Codes of the findings of `layers`, and their `explain` texts.

use crate::findings::codes;

codes! {
    LOCK_TIME = "DXT-L001",
        "Much of the time in MPI-IO goes into file locks.",
        "Time in locks taken and given back inside MPI-IO against the time in its blocking reads and writes: at least lock_share. \
         Cost: that time.",
        "Locks protect data sieving, atomic mode and the shared file pointer: romio_ds_write=disable, collective writes \
         (romio_cb_write=enable), no atomic mode, explicit offsets.",
        "Wright et al., RIOT: Parallel File System Analysis Through Application I/O Tracing, The Computer Journal 56, 2013";
    SIEVING = "DXT-L002",
        "Data sieving moves far more bytes than the program asked for.",
        "Bytes that POSIX reads (or reads and writes, for writes) inside MPI-IO per byte asked of MPI-IO on a file: at least \
         sieving_amplification. Cost: the share of that POSIX time that goes with the bytes beyond those asked for. Where most calls are collective, the gaps are those between \
         all ranks' pieces, which aggregators read and write back.",
        "Collective calls with a file view; romio_ds_write=disable or romio_ds_read=disable where pieces are few and large; of collective calls, data without gaps (on Lustre: romio_lustre_ds_in_coll=disable).",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
    LATE_RANKS = "DXT-L003",
        "Collective calls wait for ranks that come late.",
        "Time between each call's start and the last one's, over all ranks of each collective operation, against the time in the calls: \
         at least arrival_wait_share. Operations that a rank had left before the last came do not count. Of logs also by how little time a rank spends in collective opens against the others. Cost: that time.",
        "See what the late rank does between two calls; balance the work, check its node.",
        "Xu et al., DXT, CUG 2017, Figure 6; Drishti's 15 % for stragglers";
    COMMUNICATION = "DXT-L004",
        "Collective calls spend their time in communication rather than in storage.",
        "Wall-clock time of each collective operation behind the last start in which the rank with most system call time is in none: at least \
         communication_share of that time. Cost: it, times the ranks that take part. The verdict leaves out what exchanging the bytes takes (1 ns a byte through the busiest aggregators; 5 ns a byte and \
         rank of calls of 1 MiB and more) and eight operations, which a program may make.",
        "Fewer and larger calls; more aggregators or a larger cb_buffer_size; no collective buffering for large contiguous parts.",
        "Xu et al., DXT, CUG 2017, Figure 6";
    AGGREGATORS = "DXT-L005",
        "Collective buffering has too few or too many aggregators.",
        "Ranks that make system calls for data inside collective calls on a file, against the file's stripes, or the nodes if they are not known: \
         fewer while the busiest takes at least storage_share of the calls' time, or more than twice the stripes. Cost, of too few: \
         what the busiest would save, times the ranks.",
        "Set cb_nodes to the stripe count (or the number of nodes), or stripe wider.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999; Lustre Operations Manual, chapter on striping";
    INDEPENDENT = "DXT-L006",
        "Ranks make many small independent calls on a shared file where collective ones would do.",
        "More than independent_min_operations blocking calls on a file of several ranks, a share of collective ones below collective_share, \
         independent ones below small_request_bytes on average. Cost: their time.",
        "MPI_File_write_all or MPI_File_read_all with a file view; HDF5: H5FD_MPIO_COLLECTIVE.",
        "Drishti's check of collective operations";
    NO_BUFFERING = "DXT-L007",
        "Collective calls are not buffered: every rank makes its own small requests.",
        "All ranks with bytes make system calls, no fewer than collective calls, below small_request_bytes on average and less than twice \
         the size of the calls. Where they are half of the calls or less and twice as many ranks make them as the file has stripes (or there are nodes), aggregators \
         or their buffers cut calls up. Cost: time in them, if there are at least two for each call; else none is known.",
        "romio_cb_write=enable, romio_cb_read=enable.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
    SERIAL = "DXT-L008",
        "POSIX calls come one at a time while many ranks are in MPI-IO.",
        "At least serial_min_ranks ranks, half of them in MPI-IO on average, and one POSIX read or write in flight for at least serial_share of \
         the time in such calls. Ranks take turns if several make them, none with more than 1.5 times an even share. Cost: that time for each other rank in MPI-IO, \
         at most what POSIX does not account for.",
        "More aggregators, more stripes, no lock on the whole file, no funnelling through one rank.",
        "Wright et al., RIOT, Figures on concurrent POSIX calls; The Computer Journal 56, 2013";
    BUFFER_SIZE = "DXT-L009",
        "A buffer of fixed size cuts collective calls into many rounds.",
        "The buffer that the hints in effect set and the requests inside the calls: their mean is 60 to 100 % of it, and a rank that moves data makes at least 3 for \
         each call. Cost: time outside system calls beyond 1 ns for each byte asked for, and in locks, of a rank that moves data, less the part of one round; times \
         the processes.",
        "Set cb_buffer_size to the bytes that a rank moves for one call; each aggregator allocates so much.",
        "Carns et al., Understanding and Improving Computational Science Storage Access through Continuous Characterization, 2011";
    SIEVING_BLOCK = "DXT-L010",
        "The block of data sieving is smaller than what independent calls reach over, so that each becomes many.",
        "As DXT-L009, of independent calls and the buffer of data sieving.",
        "Set ind_wr_buffer_size or ind_rd_buffer_size to the bytes between the first and the last that a call asks for.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
}
