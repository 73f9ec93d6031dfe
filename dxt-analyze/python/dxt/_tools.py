"""Finds the programs that are installed with the package."""

import os
import shutil
import sysconfig
from importlib import metadata
from pathlib import Path

PACKAGE = "dxt-tracer"


def find(name: str) -> Path:
    """Returns the path of ``dxt-analyze``, ``dxt-run`` or ``libdxt_tracer.so``: as installed with the package, else on PATH.

    :raises FileNotFoundError: if the package was installed without it.
    """
    try:
        installed = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        installed = []
    candidates = [Path(os.fspath(file.locate())) for file in installed if file.name == name]
    # Installers with another prefix may have moved the files from where they are listed.
    candidates += [Path(sysconfig.get_path("scripts"), name), Path(sysconfig.get_path("data"), "lib", "dxt", name)]
    on_path = shutil.which(name)
    candidates += [Path(on_path)] if on_path else []
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise FileNotFoundError(f"failed to find {name}: the package {PACKAGE} was installed without it; install its wheel")
