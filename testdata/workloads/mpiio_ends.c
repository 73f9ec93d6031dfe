/* MPI-IO whose length differs from the request or does not fit 32 bits. Every rank logs its calls. The same source is built
 * with every MPI. Usage: mpiio_ends DIRECTORY PART, PART one of
 *   ends          reads that meet the end of the file, through contiguous and strided views
 *   huge          one call of more than 2 GiB
 * Log: oplog.h, set OPLOG. Provenance: written for this project. */
#define _GNU_SOURCE
#include "mpiio_parts.h"
#include <sys/mman.h>

/* Reads beyond the end of a file; statuses of strided and collective reads need not give the bytes read. */
static void ends(void) {
    const char *file = "ends";
    MPI_File handle = created(file);
    MPI_Status status;
    static char block[4000];
    MPI(MPI_File_set_size(handle, 1000));
    mpi_op("set_size", "-", -1, 1000, file);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Datatype every_second, filetype;
    MPI(MPI_Type_vector(100, 10, 20, MPI_BYTE, &every_second));
    MPI(MPI_Type_commit(&every_second));
    MPI(MPI_Type_create_resized(every_second, 0, 2000, &filetype));
    MPI(MPI_Type_commit(&filetype));
    MPI(MPI_File_read_at(handle, 500, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "-", 500, 500, file);
    MPI(MPI_File_read_at(handle, 2000, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "-", 2000, 0, file);
    MPI(MPI_File_read_at(handle, 500, block, 1, every_second, MPI_STATUS_IGNORE));
    mpi_op("read", "-", 500, 500, file);
    MPI(MPI_File_read_at_all(handle, 500 + rank, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "collective", 500 + rank, 500 - rank, file);
    MPI(MPI_File_read_at_all(handle, 2000 + rank, block, 1000, MPI_BYTE, &status));
    mpi_op("read", "collective", 2000 + rank, 0, file);
#ifndef OPEN_MPI /* Open MPI 4.1 never returns from these at the end of a file. */
    MPI(MPI_File_read_at_all_begin(handle, 500, block, 1000, MPI_BYTE));
    MPI(MPI_File_read_at_all_end(handle, block, &status));
    mpi_op("read_all", "split", 500, 500, file);
    MPI_Request request;
    MPI(MPI_File_iread_at(handle, 500, block, 1000, MPI_BYTE, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    mpi_op("read", "nonblocking", 500, 500, file);
    MPI(MPI_File_iread_at_all(handle, 500, block, 1000, MPI_BYTE, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    mpi_op("read_all", "nonblocking", 500, 500, file);
#endif
    viewed(handle, 0, MPI_BYTE, filetype, file);
    MPI(MPI_File_read_at(handle, 0, block, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("read", "-", 0, 500, file);
    MPI(MPI_File_read_at(handle, 400, block, 300, MPI_BYTE, &status));
    mpi_op("read", "-", 800, 100, file);
    MPI(MPI_File_read_at(handle, 1000, block, 300, MPI_BYTE, &status));
    mpi_op("read", "-", 2000, 0, file);
    MPI(MPI_File_read_at_all(handle, 400, block, 300, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("read", "collective", 800, 100, file);
    /* The file grows after all have read: the old end is no end any more. */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_File_set_size(handle, 4000));
    mpi_op("set_size", "-", -1, 4000, file);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_File_read_at(handle, 400, block, 300, MPI_BYTE, &status));
    mpi_op("read", "-", 800, 300, file);
    MPI(MPI_Type_free(&filetype));
    MPI(MPI_Type_free(&every_second));
    closed(&handle, file);
}

/* Reads more than 2 GiB of a sparse file in one call, and 4 GiB + 1 byte further on. The buffer maps the same 64 MiB
 * of memory repeatedly. */
static void huge(void) {
    char file[32];
    snprintf(file, sizeof file, "huge.%d", rank);
    const int piece = 64 << 20, pieces = 34;
    const size_t whole = (size_t)piece * (size_t)pieces;
    MPI_File handle = opened(MPI_COMM_SELF, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI(MPI_File_set_size(handle, 5LL << 30));
    mpi_op("set_size", "-", -1, 5LL << 30, file);
    int memory = memfd_create("huge", MFD_CLOEXEC);
    CHECK(memory >= 0 && ftruncate(memory, piece) == 0);
    char *buffer = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(buffer != MAP_FAILED);
    for (int i = 0; i < pieces; i++) {
        char *at = buffer + (size_t)i * (size_t)piece;
        CHECK(mmap(at, (size_t)piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == at);
    }
    MPI_Datatype run;
    MPI(MPI_Type_contiguous(piece, MPI_BYTE, &run));
    MPI(MPI_Type_commit(&run));
    MPI(MPI_File_read_at(handle, 1LL << 30, buffer, pieces, run, MPI_STATUS_IGNORE));
    mpi_op("read", "-", 1LL << 30, (long long)whole, file);
    MPI(MPI_File_read_at(handle, (4LL << 30) + 7, buffer, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    mpi_op("read", "-", (4LL << 30) + 7, 1, file);
    CHECK(munmap(buffer, whole) == 0 && close(memory) == 0);
    MPI(MPI_Type_free(&run));
    closed(&handle, file);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"ends", ends},
        {"huge", huge},
        {NULL, NULL},
    };
    return run_part(argc, argv, parts);
}
