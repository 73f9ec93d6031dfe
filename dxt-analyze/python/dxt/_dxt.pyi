"""The compiled module of the package."""

from typing import Any, Optional, TypedDict

__version__: str

class DxtError(Exception):
    """A trace or a log cannot be read."""

class Problem(TypedDict):
    """A part of a file that could not be read."""

    file: str
    offset: int
    what: str

class Lost(TypedDict):
    """Segments that a stream has left out."""

    segments: int
    blocks: int
    problems: list[Problem]

class _Choice(TypedDict):
    ranks: Optional[str]
    files: list[str]
    layer: list[str]
    time: Optional[str]

class Segments:
    """Segments of a job, or of a part of one."""

    @property
    def columns(self) -> list[str]: ...
    @property
    def lost(self) -> Lost: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

class Table:
    """A table, for libraries that take Arrow data."""

    @property
    def columns(self) -> list[str]: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

class Job:
    """A job, or a part of one."""

    def __new__(
        cls,
        traces: list[str],
        job: Optional[str],
        layout: Optional[str],
        thresholds: Optional[str],
        debug_dirs: list[str],
    ) -> Job: ...
    def part(self, choice: _Choice) -> Job: ...
    def remarks(self) -> tuple[bool, list[str]]: ...
    def summary(self, top: int, profiles: bool) -> str: ...
    def findings(self) -> str: ...
    def layouts(self) -> str: ...
    def files(self) -> Table: ...
    def ranks(self) -> Table: ...
    def findings_table(self) -> Table: ...
    def sites(self) -> Table: ...
    def segments(self, columns: Optional[list[str]], strict: bool) -> Segments: ...
