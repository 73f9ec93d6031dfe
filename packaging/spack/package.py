# SPDX-License-Identifier: MIT OR Apache-2.0
"""Spack recipe: copy it to var/spack/repos/.../packages/dxt_tracer/package.py of a repository of yours."""

from spack.package import *


class DxtTracer(Package):
    """Traces every I/O call of a parallel program (POSIX, C streams, MPI-IO, HDF5) by a preloaded library, with any MPI,
    and finds what makes its I/O slow."""

    # Say here where the sources are that `scripts/package.sh source` made: they hold all that the build needs.
    homepage = "https://example.invalid/dxt-tracer"
    url = "https://example.invalid/dxt-tracer-0.2.0.tar.xz"

    license("MIT OR Apache-2.0")

    # version("0.2.0", sha256="...") with the sum of your archive; `spack checksum dxt-tracer` computes it.
    version("0.2.0")

    variant("live", default=True, description="live can send to InfluxDB, PostgreSQL and NATS")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    # Spack's class for cargo installs programs only; the tracer is a library, and there are man pages and modules.
    def install(self, spec, prefix):
        install_sh = Executable("scripts/install.sh")
        features = "live-http,postgres,nats" if spec.satisfies("+live") else "none"
        install_sh("--prefix", prefix, "--features", features)

    def setup_run_environment(self, env):
        env.set("DXT_TRACER", self.prefix.lib.dxt.join("libdxt_tracer.so"))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.join("dxt-run"))("--print-preload")
        Executable(self.prefix.bin.join("dxt-analyze"))("--version")
