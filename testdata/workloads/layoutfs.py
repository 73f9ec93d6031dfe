"""A file system that stands in for Lustre in tests: files live in a directory, and getxattr("lustre.lov") answers with real
bytes. No Lustre is needed, only FUSE.

Usage: layoutfs.py DATA LAYOUTS MOUNTPOINT, in the foreground until it is unmounted. LAYOUTS holds files NAME@SIZE: the value
of the attribute of the file NAME once that is at least SIZE bytes long, so that a layout can grow as a file is written. The
one with the largest SIZE that fits counts; a file without any has none (ENODATA), as on Lustre.

Provenance: written for this project.
"""

import errno
import os
import sys

import fusepy


class LayoutFs(fusepy.Operations):
    def __init__(self, data, layouts):
        self.data = data
        self.layouts = {}
        for entry in os.listdir(layouts):
            name, size = entry.rsplit("@", 1)
            with open(os.path.join(layouts, entry), "rb") as value:
                self.layouts.setdefault(name, []).append((int(size), value.read()))
        for stages in self.layouts.values():
            stages.sort()

    def real(self, path):
        return os.path.join(self.data, path.lstrip("/"))

    def getxattr(self, path, name, position=0):
        if name != "lustre.lov":
            raise fusepy.FuseOSError(errno.EOPNOTSUPP)
        size = os.stat(self.real(path)).st_size
        value = None
        for least, stage in self.layouts.get(os.path.basename(path), []):
            if size >= least:
                value = stage
        if value is None:
            raise fusepy.FuseOSError(errno.ENODATA)
        return value

    def getattr(self, path, fh=None):
        try:
            found = os.lstat(self.real(path))
        except OSError as error:
            raise fusepy.FuseOSError(error.errno) from None
        names = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")
        return {name: getattr(found, name) for name in names}

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(self.real(path))

    def create(self, path, mode, fi=None):
        return os.open(self.real(path), os.O_RDWR | os.O_CREAT, mode)

    def open(self, path, flags):
        return os.open(self.real(path), os.O_RDWR)

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(self.real(path), length)

    def fsync(self, path, datasync, fh):
        os.fsync(fh)

    def release(self, path, fh):
        os.close(fh)

    def unlink(self, path):
        os.unlink(self.real(path))

    def statfs(self, path):
        found = os.statvfs(self.data)
        names = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_frsize", "f_namemax")
        return {name: getattr(found, name) for name in names}


if __name__ == "__main__":
    data, layouts, mountpoint = sys.argv[1:]
    fusepy.FUSE(LayoutFs(data, layouts), mountpoint, foreground=True, nothreads=True)
