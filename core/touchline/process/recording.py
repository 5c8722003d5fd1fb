"""A file that gets a program's output as it comes, up to a bound (spec page 2: bounded whatever the size)."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from touchline.errors import ProcessError
from touchline.process.pipes import Sink


class Recording:
    """Writes to `path`, replacing what was there; without a path it does nothing."""

    def __init__(self, path: str | os.PathLike[str] | None, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._written = 0
        self._dropped = 0
        self._descriptor = -1

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            except OSError as problem:
                raise self._problem(problem) from problem
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor < 0:
            return
        try:
            if self._dropped and kind is None:
                self._write(f"\n[touchline: {self._dropped} more bytes were not recorded]\n".encode())
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def before(self, sink: Sink) -> Sink:
        """A sink that records a chunk and then passes it on."""
        if self._descriptor < 0:
            return sink

        def record(chunk: bytes) -> None:
            part = chunk[: self._limit - self._written]
            self._dropped += len(chunk) - len(part)
            self._written += len(part)
            self._write(part)
            sink(chunk)

        return record

    def _write(self, content: bytes) -> None:
        try:
            while content:
                content = content[os.write(self._descriptor, content) :]
        except OSError as problem:
            raise self._problem(problem) from problem

    def _problem(self, problem: OSError) -> ProcessError:
        return ProcessError(
            f"the output of a program cannot be recorded in {os.fspath(self._path or '')}: {problem.strerror}",
            fix="Check that the folder exists, may be written and has room.",
        )
