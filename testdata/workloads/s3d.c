/* A checkpoint of many small pieces, as of S3D: rank 0 writes a header, then each rank writes all its pieces of 100 bytes, interleaved
 * with those of other ranks, in one independent call. Usage: mpirun s3d FILE PIECES [HINT=VALUE]. Provenance: written for this project. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "failed: %s\n", #what); abort(); } } while (0)
#define MPI(call) CHECK((call) == MPI_SUCCESS)

enum { PIECE = 100, HEADER = 100 };

int main(int argc, char **argv) {
    int rank, ranks;
    MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    CHECK(argc == 3 || argc == 4);
    int pieces = atoi(argv[2]);
    char *bytes = malloc((size_t)pieces * PIECE);
    CHECK(bytes);
    memset(bytes, 'a' + rank, (size_t)pieces * PIECE);
    MPI_Info info;
    MPI(MPI_Info_create(&info));
    if (argc == 4) {
        char *value = strchr(argv[3], '=');
        CHECK(value);
        *value++ = 0;
        MPI(MPI_Info_set(info, argv[3], value));
    }
    MPI_File file;
    MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    if (rank == 0) {
        MPI(MPI_File_write_at(file, 0, bytes, HEADER, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI_Datatype piece, view;
    MPI(MPI_Type_contiguous(PIECE, MPI_BYTE, &piece));
    MPI(MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * ranks, &view));
    MPI(MPI_Type_commit(&view));
    MPI(MPI_File_set_view(file, HEADER + (MPI_Offset)rank * PIECE, MPI_BYTE, view, "native", info));
    MPI(MPI_File_write_at(file, 0, bytes, pieces * PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI(MPI_File_close(&file));
    if (rank == 0) {
        FILE *whole = fopen(argv[1], "rb");
        CHECK(whole && fseek(whole, HEADER, SEEK_SET) == 0);
        for (long i = 0; i < (long)ranks * pieces * PIECE; i++) {
            CHECK(getc(whole) == 'a' + (int)(i / PIECE % ranks));
        }
        CHECK(fclose(whole) == 0);
    }
    MPI(MPI_Type_free(&piece));
    MPI(MPI_Type_free(&view));
    MPI(MPI_Info_free(&info));
    free(bytes);
    MPI(MPI_Finalize());
    return 0;
}
