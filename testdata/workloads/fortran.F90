! MPI-IO from Fortran: the same program through mpif.h (default), the module mpi (-DUSE_MPI) and the module mpi_f08
! (-DUSE_F08). Every rank checks the data it reads and logs each call once; which of the library's names the binding goes
! through is the implementation's affair. Compile with oplog_fortran.c. Usage: fortran DIRECTORY
! Log: oplog.h, set OPLOG. Provenance: written for this project.
program fortran
#include "mpi_binding.inc"

    interface
        subroutine log_rank(rank) bind(C)
            import :: c_int
            integer(c_int), value :: rank
        end subroutine
        subroutine log_op(name, mode, offset, length, path) bind(C)
            import :: c_char, c_long_long
            character(kind=c_char), intent(in) :: name(*), mode(*), path(*)
            integer(c_long_long), value :: offset, length
        end subroutine
        subroutine log_write() bind(C)
        end subroutine
    end interface

    integer, parameter :: items = 250, bytes = 4 * items
    integer :: rank, ranks, ierr, i
    character(len=4096) :: path
    HANDLE(MPI_File) :: file
    STATUS_TYPE :: status
    HANDLE(MPI_Request) :: requests(2)
    integer :: values(items)
    integer, asynchronous :: outgoing(items, 0:1)
    integer(MPI_OFFSET_KIND) :: at, base

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call log_rank(int(rank, c_int))
    call get_command_argument(1, path)
    path = trim(path) // '/fortran'

    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
    call check('open')
    call logged('open', '-', -1_8, 0)
    do i = 0, 3
        at = (int(i, 8) * ranks + rank) * bytes
        call fill(i)
        call MPI_File_write_at(file, at, values, items, MPI_INTEGER, status, ierr)
        call check('write_at')
        call logged('write', '-', at, bytes)
    end do
    do i = 4, 7
        at = (int(i, 8) * ranks + rank) * bytes
        call fill(i)
        call MPI_File_write_at_all(file, at, values, items, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
        call check('write_at_all')
        call logged('write', 'collective', at, bytes)
    end do
    call MPI_File_sync(file, ierr)
    call logged('sync', '-', -1_8, 0)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    do i = 0, 3
        at = (int(i, 8) * ranks + rank) * bytes
        call MPI_File_read_at(file, at, values, items, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
        call verify(i)
        call logged('read', '-', at, bytes)
    end do
    do i = 4, 7
        at = (int(i, 8) * ranks + rank) * bytes
        call MPI_File_read_at_all(file, at, values, items, MPI_INTEGER, status, ierr)
        call verify(i)
        call logged('read', 'collective', at, bytes)
    end do
    ! A view, and the individual pointer.
    base = int(8 * ranks + 4 * rank, 8) * bytes
    call MPI_File_set_view(file, base, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    call check('set_view')
    call logged('set_view', '-', base, 0)
    call fill(8)
    call MPI_File_write(file, values, items, MPI_INTEGER, status, ierr)
    call check('write')
    call logged('write', '-', base, bytes)
    call fill(9)
    call MPI_File_write_all(file, values, items, MPI_INTEGER, status, ierr)
    call check('write_all')
    call logged('write', 'collective', base + bytes, bytes)
    ! Nonblocking and split collective calls, another view of the same bytes.
    do i = 0, 1
        call fill(10 + i)
        outgoing(:, i) = values
        call MPI_File_iwrite_at(file, int(500 + i * items, MPI_OFFSET_KIND), outgoing(:, i), items, MPI_INTEGER, &
            requests(i + 1), ierr)
        call check('iwrite_at')
    end do
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call check('waitall')
    call logged('write', 'nonblocking', base + 4 * 500, bytes)
    call logged('write', 'nonblocking', base + 4 * (500 + items), bytes)
    call MPI_File_iread_at(file, int(500 + items, MPI_OFFSET_KIND), values, items, MPI_INTEGER, requests(1), ierr)
    call MPI_Wait(requests(1), status, ierr)
    call verify(11)
    call logged('read', 'nonblocking', base + 4 * (500 + items), bytes)
    call fill(12)
    call MPI_File_write_at_all_begin(file, 500_MPI_OFFSET_KIND, values, items, MPI_INTEGER, ierr)
    call MPI_File_write_at_all_end(file, values, status, ierr)
    call check('write_at_all_end')
    call logged('write_all', 'split', base + 4 * 500, bytes)
    call MPI_File_seek(file, 500_MPI_OFFSET_KIND, MPI_SEEK_SET, ierr)
    call logged('seek', '-', base + 4 * 500, 0)
    call MPI_File_read(file, values, items, MPI_INTEGER, status, ierr)
    call verify(12)
    call logged('read', '-', base + 4 * 500, bytes)
    call MPI_File_close(file, ierr)
    call check('close')
    call logged('close', '-', -1_8, 0)
    call log_write()
    call MPI_Finalize(ierr)

contains

    subroutine check(what)
        character(len=*), intent(in) :: what
        if (ierr /= MPI_SUCCESS) then
            print *, 'failed: ', what
            stop 99
        end if
    end subroutine

    subroutine logged(name, mode, offset, length)
        character(len=*), intent(in) :: name, mode
        integer(8), intent(in) :: offset
        integer, intent(in) :: length
        call log_op(name // c_null_char, mode // c_null_char, int(offset, c_long_long), int(length, c_long_long), &
            trim(path) // c_null_char)
    end subroutine

    subroutine fill(turn)
        integer, intent(in) :: turn
        integer :: item
        do item = 1, items
            values(item) = rank * 1000000 + turn * 1000 + item
        end do
    end subroutine

    subroutine verify(turn)
        integer, intent(in) :: turn
        integer :: item
        call check('read')
        do item = 1, items
            if (values(item) /= rank * 1000000 + turn * 1000 + item) stop 98
        end do
        values = 0
    end subroutine
end program
