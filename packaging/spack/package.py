# SPDX-License-Identifier: MIT OR Apache-2.0
"""Spack recipe, for Spack 1.0 and newer: copy it to packages/dxt_tracer/package.py of a repository of yours.

At a release: `scripts/package.sh source` makes the archive and prints its sha256; enter the sha256 and the archive's URL below. Until then use
`spack install --no-checksum`, or `spack develop --path CLONE dxt-tracer@=0.2.0`, which builds a clone.

Variants of darshan-runtime that do not exist here: mpi, hdf5 and lustre (MPI, HDF5 and layouts are found at run time); scheduler (job numbers of all
known schedulers are recognized); mmap_logs (records always lie in a mapped file); apmpi (collective calls are always recorded). There is no
parallel-netcdf and no apxc.
"""

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class DxtTracer(Package):
    """Traces every I/O call of a parallel program (POSIX, C streams, MPI-IO, HDF5) by a preloaded library, with any MPI,
    and finds what makes its I/O slow."""

    # URL of the archive that `scripts/package.sh source` made, with everything that the build needs.
    homepage = "https://example.invalid/dxt-tracer"
    url = "https://example.invalid/dxt-tracer-0.2.0.tar.xz"

    license("MIT OR Apache-2.0")

    # version("0.2.0", sha256="..."): the checksum of the archive.
    version("0.2.0")

    variant("live", default=True, description="live can send to InfluxDB, PostgreSQL and NATS")
    variant(
        "log_path",
        default="none",
        values=str,
        description="Directory of a site's traces: DXT_OUTPUT_DIR of etc/dxt/dxt.conf, such as /scratch/dxt/%u/%d",
    )
    variant("group_readable_logs", default=False, description="A site's traces may be read by their group")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    conflicts("platform=darwin", msg="it is for Linux with glibc")

    # Spack's class for cargo installs only programs, but there are a library, man pages and modules.
    def install(self, spec, prefix):
        features = "live-http,postgres,nats" if spec.satisfies("+live") else "none"
        Executable("scripts/install.sh")("--prefix", prefix, "--features", features)

    # Variants set the site's values in dxt.conf, so that they survive reinstallation.
    @run_after("install")
    def configure_site(self):
        conf = self.prefix.etc.dxt.join("dxt.conf")
        log_path = self.spec.variants["log_path"].value
        if log_path != "none":
            filter_file(r"^DXT_OUTPUT_DIR=.*", f"DXT_OUTPUT_DIR={log_path}", conf)
        if self.spec.satisfies("+group_readable_logs"):
            filter_file(r"^DXT_TRACE_MODE=.*", "DXT_TRACE_MODE=0640", conf)

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        env.set("DXT_TRACER", self.prefix.lib.dxt.join("libdxt_tracer.so"))

    def test_trace(self):
        """trace a program and read what came of it"""
        dxt_run = Executable(self.prefix.bin.join("dxt-run"))
        dxt_run("-q", "-o", "traces", "--", "dd", "if=/dev/zero", "of=written", "bs=1000", "count=16")
        out = Executable(self.prefix.bin.join("dxt-analyze"))("summary", "traces", output=str.split)
        check_outputs([r"written"], out)
