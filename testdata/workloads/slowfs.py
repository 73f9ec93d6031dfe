"""A file system of files that are read only, on which each read request takes 2 ms: for the page cache in front of it to hide.

Usage: slowfs.py LOG BYTES MOUNTPOINT, in the foreground until it is unmounted. Every name is a file of BYTES zeros. LOG gets a line
`name offset length` for each request, and none for what the page cache answers.

Provenance: written for this project.
"""

import errno
import os
import stat
import sys
import time

import fusepy


class SlowFs(fusepy.Operations):
    def __init__(self, log, size):
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.size = size

    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        if path.startswith("/."):
            raise fusepy.FuseOSError(errno.ENOENT)
        return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": self.size}

    def read(self, path, size, offset, fh):
        os.write(self.log, f"{path[1:]} {offset} {size}\n".encode())
        time.sleep(0.002)
        return bytes(max(0, min(size, self.size - offset)))


if __name__ == "__main__":
    log, size, mountpoint = sys.argv[1:]
    fusepy.FUSE(SlowFs(log, int(size)), mountpoint, foreground=True, ro=True)
