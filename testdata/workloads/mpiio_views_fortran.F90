! Views from Fortran, as mpiio_views.c: through mpif.h (default), the module mpi (-DUSE_MPI) and the module mpi_f08 (-DUSE_F08).
! Compile with oplog_fortran.c. Usage: mpiio_views_fortran DIRECTORY. Provenance: written for this project.
program mpiio_views_fortran
#include "mpi_binding.inc"

    interface
        subroutine log_rank(rank) bind(C)
            import :: c_int
            integer(c_int), value :: rank
        end subroutine
        subroutine log_view(etype_bytes, displacement, size, extent, bytes, count) bind(C)
            import :: c_int, c_long_long
            integer(c_long_long), value :: etype_bytes, displacement, size, extent
            integer(c_long_long), intent(in) :: bytes(*)
            integer(c_int), value :: count
        end subroutine
        subroutine log_write() bind(C)
        end subroutine
    end interface

    integer, parameter :: etypes = 100
    integer :: rank, ierr
    character(len=4096) :: path
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Datatype) :: filetype, inner

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call log_rank(int(rank, c_int))
    call get_command_argument(1, path)
    path = trim(path) // '/views'
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, &
                       MPI_INFO_NULL, file, ierr)
    if (ierr /= MPI_SUCCESS) stop 1
    call MPI_Type_vector(4, 3, 7, MPI_INTEGER, filetype, ierr)
    call set(0_8, filetype)
    call MPI_Type_create_subarray(2, [6, 8], [3, 4], [2, rank], &
                                  MPI_ORDER_FORTRAN, MPI_INTEGER, filetype, ierr)
    call set(40_8, filetype)
    call MPI_Type_contiguous(3, MPI_INTEGER, inner, ierr)
    call MPI_Type_create_resized(inner, 0_MPI_ADDRESS_KIND, 48_MPI_ADDRESS_KIND, filetype, ierr)
    call MPI_Type_free(inner, ierr)
    call set(int(12 * rank, 8), filetype)
    call set(int(12 * rank + 4096, 8), filetype)
    call MPI_File_close(file, ierr)
    call log_write()
    call MPI_Finalize(ierr)

contains

    subroutine set(displacement, made)
        integer(8), intent(in) :: displacement
        HANDLE(MPI_Datatype), intent(inout) :: made
        integer(MPI_OFFSET_KIND) :: byte
        integer(MPI_ADDRESS_KIND) :: lower, extent
        integer(c_long_long) :: bytes(etypes)
        integer :: size, i
        call MPI_Type_commit(made, ierr)
        byte = displacement
        call MPI_File_set_view(file, byte, MPI_INTEGER, made, 'native', MPI_INFO_NULL, ierr)
        if (ierr /= MPI_SUCCESS) stop 2
        call MPI_Type_size(made, size, ierr)
        call MPI_Type_get_extent(made, lower, extent, ierr)
        do i = 1, etypes
            call MPI_File_get_byte_offset(file, int(i - 1, MPI_OFFSET_KIND), byte, ierr)
            bytes(i) = byte
        end do
        call log_view(4_c_long_long, int(displacement, c_long_long), int(size, c_long_long), int(extent, c_long_long), &
                      bytes, int(etypes, c_int))
    end subroutine
end program
