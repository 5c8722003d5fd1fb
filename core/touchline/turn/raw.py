"""The raw streams of a turn record: what each program of a turn printed, byte for byte (spec page 1).

Each process has files of its own in `raw/`: `000007-0001.log` for the seventh, `000007-0002.log` once that is full.
`raw/processes.jsonl` says of each process what it was started for, how it ended, and which events stand between the
two, so that its stream can be read again (spec page 7). The oldest files give way; the index stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touchline.turn.appending import AppendFile, LinesFile
from touchline.turn.masking import MaskedStream, Masker

INDEX = "processes.jsonl"
MOST_FILES = 256
"""Files kept whatever their size; a turn may start many programs that print little."""

Guard = Callable[[Callable[[], None]], None]
"""Does one piece of I/O under the record's lock; it never raises."""


@dataclass(frozen=True, slots=True)
class RecordedProcess:
    """One process as it was recorded. `began` and `ended` are what its writer told of it; `ended` is None for one
    whose recorder was killed. `stream` is None when a part of it gave way to newer ones. The events of its turn have
    numbers above `first` and up to `last` (None: not known).
    """

    number: int
    began: Mapping[str, Any]
    ended: Mapping[str, Any] | None
    stream: bytes | None
    first: int
    last: int | None
    masked: bool
    """Whether there were secret values to be masked; then text may have moved between events."""


class RawStream:
    """The stream of one process; nothing here raises."""

    def __init__(self, streams: RawStreams, number: int) -> None:
        self.number = number
        self._streams = streams
        self._masked = MaskedStream(streams.masker)
        self._file: AppendFile | None = None
        self._part = 0
        self._bytes = 0
        self._whole = True
        self.ended = False

    def write(self, data: bytes) -> None:
        """Append bytes as they came; known secret values in them are masked."""
        if not self.ended:
            self._streams.guard(lambda: self._put(self._masked.feed(data.decode("latin-1"))))

    def end(self, about: Mapping[str, object]) -> None:
        """Write what was held back, and how the process ended; for the end of the turn, after its events."""
        if not self.ended:
            self.ended = True
            self._streams.guard(self._flush)
            told = {**about, "bytes": self._bytes, "whole": self._whole}
            self._streams.guard(lambda: self._streams.finish(self.number, told))

    def give_up(self) -> None:
        """Write what was held back; how the process ended stays unknown."""
        if not self.ended:
            self.ended = True
            self._flush()

    @property
    def path(self) -> Path | None:
        """The file that is being written."""
        return self._file.path if self._file is not None else None

    def _flush(self) -> None:
        self._put(self._masked.end())
        if self._file is not None:
            self._file.close()

    def _put(self, text: str) -> None:
        data = text.encode("latin-1")
        # Until all of it is written: what fails on the way leaves a hole.
        whole, self._whole = self._whole, False
        while data:
            file = self._file
            if file is None or file.size >= self._streams.file_bytes:
                file = self._next()
            piece = data[: self._streams.file_bytes - file.size]
            file.append(piece)
            self._bytes += len(piece)
            data = data[len(piece) :]
        self._whole = whole

    def _next(self) -> AppendFile:
        if self._file is not None:
            self._file.close()
        self._part += 1
        self._file = self._streams.new_file(self.number, self._part)
        self._file.open()
        return self._file


class RawStreams:
    """The folder of streams; `sequence` gives the number of the last event. All but `guard` may raise OSError."""

    def __init__(
        self,
        folder: Path,
        masker: Masker,
        guard: Guard,
        *,
        sequence: Callable[[], int],
        file_bytes: int,
        files: int,
    ) -> None:
        self.masker = masker.bytewise()
        self._values = masker
        self.guard = guard
        self._sequence = sequence
        self.file_bytes = file_bytes
        self._folder = folder
        self._kept_bytes = file_bytes * files
        self._index = LinesFile(folder / INDEX)
        self._open: list[RawStream] = []
        self._number: int | None = None

    def begin(self, about: Mapping[str, object]) -> RawStream:
        """A stream for a process that is about to start."""
        if self._number is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
            self._number = _last_number(self._index.newest_first())
        self._number += 1
        stream = RawStream(self, self._number)
        self._open = [one for one in self._open if not one.ended] + [stream]
        masked = bool(self._values.forms)
        self._write({"process": self._number, "seq": self._sequence(), "masked": masked, "began": dict(about)})
        return stream

    def dropped(self) -> RawStream:
        """A stream that keeps nothing, for when there is no place to keep it."""
        stream = RawStream(self, 0)
        stream.ended = True
        return stream

    def finish(self, number: int, about: Mapping[str, object]) -> None:
        """Note how a process ended."""
        self._write({"process": number, "seq": self._sequence(), "ended": dict(about)})

    def new_file(self, number: int, part: int) -> AppendFile:
        """A new file, with room made for it; a file that is still written to stays."""
        kept = {stream.path for stream in self._open}
        found = [(path, path.stat().st_size) for path in sorted(self._folder.glob("*.log"))]
        room = self._kept_bytes - self.file_bytes
        for place, (path, size) in enumerate(found):
            left = found[place:]
            if sum(size for _, size in left) <= room and len(left) < MOST_FILES:
                break
            if path not in kept:
                path.unlink(missing_ok=True)
        return AppendFile(self._folder / _file_name(number, part))

    def close(self) -> None:
        """Write what was held back and close every file."""
        for stream in self._open:
            stream.give_up()
        self._index.close()

    def _write(self, row: Mapping[str, object]) -> None:
        line = json.dumps(self._values.mask_value(row), ensure_ascii=False, allow_nan=False)
        self._index.append(line.encode("utf-8", "backslashreplace") + b"\n")


def read_processes(folder: Path) -> Iterator[RecordedProcess]:
    """Every process recorded in a record's folder, in the order in which they were started. Raises OSError."""
    raw = folder / "raw"
    if not (raw / INDEX).exists():
        return
    began: dict[int, dict[str, Any]] = {}
    ended: dict[int, dict[str, Any]] = {}
    for line in (raw / INDEX).read_bytes().split(b"\n")[:-1]:
        row = _row(line)
        if row is not None:
            (ended if "ended" in row else began)[row["process"]] = row
    for number, row in began.items():
        end = ended.get(number)
        how = end["ended"] if end is not None else None
        yield RecordedProcess(
            number=number,
            began=row["began"],
            ended=how,
            stream=_stream(raw, number, how),
            first=_whole(row.get("seq")) or 0,
            last=_whole(end.get("seq")) if end is not None else None,
            masked=row.get("masked") is not False,
        )


def _stream(raw: Path, number: int, ended: Mapping[str, Any] | None) -> bytes | None:
    parts: list[bytes] = []
    while (path := raw / _file_name(number, len(parts) + 1)).exists():
        parts.append(path.read_bytes())
    whole = b"".join(parts)
    if ended is None:
        return whole if parts else None
    # One that could not be started printed nothing, and nobody counted.
    size, unbroken = ended.get("bytes", 0), ended.get("whole", True)
    return whole if unbroken is True and size == len(whole) else None


def _file_name(number: int, part: int) -> str:
    return f"{number:06}-{part:04}.log"


def _last_number(newest_first: Iterator[bytes]) -> int:
    for line in newest_first:
        row = _row(line)
        if row is not None and "began" in row:
            return int(row["process"])
    return 0


def _row(line: bytes) -> dict[str, Any] | None:
    """A line of the index, if it is one."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or _whole(row.get("process")) is None:
        return None
    return row if any(isinstance(row.get(name), dict) for name in ("began", "ended")) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
