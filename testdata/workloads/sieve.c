/* Independent MPI-IO reads of small blocks with holes between them, which a library may read together with the holes, and a
 * collective read. Rank 0 prints the bytes requested by all ranks: lines `name bytes` on standard output.
 * Usage: mpirun sieve DIRECTORY. Provenance: written for this project. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "failed: %s\n", #what); abort(); } } while (0)
#define MPI(call) CHECK((call) == MPI_SUCCESS)

enum { BLOCK = 512, STRIDE = 8192, BLOCKS = 256, EXTENT = BLOCKS * STRIDE };

static char buffer[EXTENT];
static char blocks[BLOCKS * BLOCK];

int main(int argc, char **argv) {
    int rank, ranks;
    char path[4200];
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s/sieved", argv[1]);
    for (int i = 0; i < EXTENT; i++) {
        buffer[i] = (char)(i / BLOCK + rank);
    }
    MPI_File file;
    MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MPI(MPI_File_write_at_all(file, (MPI_Offset)rank * EXTENT, buffer, EXTENT, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI(MPI_File_sync(file));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Datatype holes;
    MPI(MPI_Type_create_hvector(BLOCKS, BLOCK, STRIDE, MPI_BYTE, &holes));
    MPI(MPI_Type_commit(&holes));
    MPI(MPI_File_set_view(file, (MPI_Offset)rank * EXTENT, MPI_BYTE, holes, "native", MPI_INFO_NULL));
    MPI(MPI_File_read_at(file, 0, blocks, sizeof blocks, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < BLOCKS * BLOCK; i++) {
        int at = i / BLOCK * STRIDE + i % BLOCK;
        CHECK(blocks[i] == buffer[at]);
    }
    MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI(MPI_File_read_at_all(file, (MPI_Offset)rank * EXTENT, buffer, EXTENT, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI(MPI_Type_free(&holes));
    MPI(MPI_File_close(&file));
    if (rank == 0) {
        printf("asked_alone %d\n", ranks * BLOCKS * BLOCK);
        printf("asked_together %d\n", ranks * EXTENT);
        printf("with_holes %d\n", ranks * ((BLOCKS - 1) * STRIDE + BLOCK));
    }
    MPI(MPI_Finalize());
    return 0;
}
