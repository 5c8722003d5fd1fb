"""The turn record: `render.log`, `events.jsonl` and `raw/` in one private folder (spec page 1).

Appending only, one writer for a folder. A failure to append is logged once and never ends a turn. What is
masked, and what cannot be, stands in `touchline.turn.masking`: to decide it the end of the model's text (and
of the deltas among the events, and of the raw stream) is held back, at most as much as the longest secret is
long, so a process that is killed loses at most that much of each.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType

from touchline.errors import LockHeldError
from touchline.turn.appending import AppendFile, LinesFile
from touchline.turn.masking import MaskedStream, Masker
from touchline.turn.raw import RawStream, RawStreams
from touchline.turn.text import head_tail

logger = logging.getLogger(__name__)

_encode = json.JSONEncoder(ensure_ascii=False).encode

RENDER_LOG = "render.log"
EVENTS = "events.jsonl"
RAW = "raw"

FIELD_HEAD = FIELD_TAIL = 8000
"""Code points kept of each end of a string in an event; the model's whole text is in `render.log`."""


class TurnRecord:
    """The record in `folder`, created 0700 with files 0600; use it as a context manager or call `close`.

    `secrets` are the values to keep out. Methods may be called from several threads. Raises LockHeldError if
    another writer has the folder; nothing else here raises.
    """

    def __init__(
        self,
        folder: Path,
        secrets: Iterable[str] = (),
        *,
        raw_file_bytes: int = 8 * 1024 * 1024,
        raw_files: int = 4,
    ) -> None:
        self.folder = folder
        self._mutex = threading.Lock()
        self._warned = False
        self._closed = False
        self._lock_fd = self._own_folder()
        self._masker = Masker(secrets)
        self._text = MaskedStream(self._masker)
        self._deltas: dict[str, MaskedStream] = {}
        self._turn = 0
        self._sequence: int | None = None
        self._render = AppendFile(folder / RENDER_LOG)
        self._events = LinesFile(folder / EVENTS)
        self._raw = RawStreams(
            folder / RAW,
            self._masker,
            self._guarded,
            sequence=self._last_event,
            file_bytes=raw_file_bytes,
            files=raw_files,
        )

    def text(self, delta: str) -> None:
        """Append the model's text to `render.log` as it arrives."""
        with self._mutex:
            self._try(lambda: self._render.append(_utf8(self._text.feed(delta))))

    def event(self, turn: int, kind: str, payload: Mapping[str, object]) -> None:
        """Append one event with its sequence number and time.

        The `text` of kinds whose name ends in "delta" is one stream per kind, masked as a stream. Give texts
        whole: they are masked first and cut then.
        """
        with self._mutex:
            self._turn = turn
            values = dict(payload)
            delta = values.get("text")
            if isinstance(delta, str) and kind.lower().endswith("delta"):
                stream = self._deltas.setdefault(kind, MaskedStream(self._masker))
                values["text"] = stream.feed(delta)
            self._try(lambda: self._append_event(kind, values))

    def raw(self, about: Mapping[str, object]) -> RawStream:
        """A stream for what a program prints, from just before it starts; `about` says what it is started for."""
        streams: list[RawStream] = []
        self._guarded(lambda: streams.append(self._raw.begin(about)))
        return streams[0] if streams else self._raw.dropped()

    def flush(self) -> None:
        """Write what was held back; for the end of a turn, where the streams end."""
        with self._mutex:
            self._flush()

    def close(self) -> None:
        """Flush, close the files and give up the folder; what comes later is dropped."""
        with self._mutex:
            self._flush()
            self._closed = True
            for file in (self._render, self._events, self._raw):
                self._try_always(file.close)
            if self._lock_fd >= 0:
                os.close(self._lock_fd)
                self._lock_fd = -1

    def __enter__(self) -> TurnRecord:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _own_folder(self) -> int:
        """A descriptor that holds the lock on the folder; -1 if there is nothing that could be locked."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self._warn(error)
            return -1
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(fd)
            raise LockHeldError(
                f"the turn record in {self.folder} has another writer",
                fix="wait until the other run has ended, or give this one a folder of its own",
            ) from error
        except OSError as error:  # a file system without locks: the run's own lock still stands
            self._warn(error)
        return fd

    def _last_event(self) -> int:
        if self._sequence is None:
            self._sequence = _last_sequence(self._events.newest_first())
        return self._sequence

    def _append_event(self, kind: str, values: dict[str, object]) -> None:
        number = self._last_event() + 1
        line = {
            "seq": number,
            "turn": self._turn,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "kind": kind,
            "payload": bounded(self._masker.mask_value(values)),
        }
        self._events.append(_utf8(_encode(line) + "\n"))
        self._sequence = number

    def _flush(self) -> None:
        rendered = self._text.end()
        self._try(lambda: self._render.append(_utf8(rendered)))
        held = [(kind, text) for kind, stream in self._deltas.items() if (text := stream.end())]
        for kind, text in held:
            self._try(partial(self._append_event, kind, {"text": text}))

    def _guarded(self, append: Callable[[], None]) -> None:
        with self._mutex:
            self._try(append)

    def _try(self, append: Callable[[], None]) -> None:
        if not self._closed:
            self._try_always(append)

    def _try_always(self, action: Callable[[], None]) -> None:
        try:
            action()
        except OSError as error:
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            logger.warning("the turn record in %s is incomplete (%s); the turn goes on", self.folder, error.strerror)


def read_events(folder: Path) -> Iterator[dict[str, object]]:
    """The events recorded in `folder`, oldest first; a torn or broken line is skipped. Raises OSError."""
    path = folder / EVENTS
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            event = _event(line) if line.endswith(b"\n") else None
            if event is not None:
                yield event


def _event(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and type(value.get("seq")) is int else None


def _last_sequence(newest_first: Iterable[bytes]) -> int:
    for line in newest_first:
        event = _event(line)
        if event is not None:
            return int(str(event["seq"]))
    return 0


def bounded(value: object) -> object:
    """A JSON value with the texts in it cut as an event of the record has them."""
    if isinstance(value, str):
        return head_tail(value, FIELD_HEAD, FIELD_TAIL)
    if isinstance(value, dict):
        return {key: bounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bounded(item) for item in value]
    return value


def _utf8(text: str) -> bytes:
    """UTF-8; a lone surrogate as the escape that JSON has for it."""
    return text.encode("utf-8", "backslashreplace")
