"""Scanning what is about to be committed or published (spec page 5, "Secrets").

The search runs in a process of its own, bounded in time; no network is used. What was not searched is named, and
stops where a token could have got through. Compressed and encrypted content is searched as the bytes that it is.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from touchline.errors import ConfigError, ProcessError, TouchlineError
from touchline.process import run
from touchline.process.environment import clean_environment
from touchline.secrets.allow import NOTHING, Allowances
from touchline.secrets.gitleaks import ask_gitleaks, find_program
from touchline.secrets.keywords import LONGEST_LINE
from touchline.secrets.patch import parse_patch
from touchline.secrets.search import strongest
from touchline.secrets.values import Hit, Kind, Scan, Source, Unscanned, whole
from touchline.secrets.worker import decode_answers, encode_request
from touchline.state import make_private_folder

SCAN_TIMEOUT_S = 180.0
MAX_SOURCE_CHARACTERS = 16 * 1024 * 1024
MAX_CHARACTERS = 64 * 1024 * 1024
_FILE_NAMES = "(file names)"


@dataclass(frozen=True, slots=True)
class Scanner:
    """Scans under the run's key (see `key`) and what the trusted base allows.

    `scratch` is a private folder for copies while they are scanned. gitleaks is used if it is installed outside of
    `work_tree`, with the base's `.gitleaks.toml` as `gitleaks_config`.
    """

    key: bytes = field(repr=False)
    allowed: Allowances = NOTHING
    scratch: Path | None = None
    work_tree: Path | None = None
    gitleaks: bool = True
    gitleaks_config: bytes = b""
    timeout_s: float = SCAN_TIMEOUT_S

    def __post_init__(self) -> None:
        for kind, pattern in self.allowed.patterns.items():
            try:
                re.compile(pattern)
            except re.error as error:
                problem = f"the secret pattern {kind!r} is no regular expression: {error}"
                raise ConfigError(problem, fix="Correct it in the configuration.") from error

    def scan_patch(self, patch: bytes) -> Scan:
        """The added lines of a patch that git wrote with the prefixes `a/` and `b/`."""
        return self.scan_sources(parse_patch(patch))

    def scan_text(self, name: str, text: str) -> Scan:
        """A text that is published beside the code: a commit message, a title, a body."""
        return self.scan_sources([whole(name, text, kind=Kind.METADATA)])

    def scan_texts(self, texts: Mapping[str, str]) -> Scan:
        """Several such texts by name, in one process."""
        return self.scan_sources([whole(name, text, kind=Kind.METADATA) for name, text in texts.items()])

    def scan_name(self, name: str, text: str) -> Scan:
        """A branch name, which others may write in another letter case."""
        return self.scan_sources([whole(name, text, kind=Kind.NAME)])

    def scan_sources(self, sources: Iterable[Source]) -> Scan:
        """Sources of any kind. Raises TouchlineError only if no process can be started at all."""
        taken, unscanned = _bounded(list(sources))
        names = _names(taken)
        asked = (*taken, *names)
        if not asked:
            return Scan(unscanned=tuple(unscanned))
        with self._folder() as name:
            folder = Path(name)
            hits, left, notes = self._search(asked, folder)
            unscanned += left
            program = find_program(self.work_tree) if self.gitleaks else ""
            if program:
                (folder / "gitleaks").mkdir(mode=0o700)
                more = ask_gitleaks(
                    program,
                    asked,
                    key=self.key,
                    allowed=self.allowed,
                    config=self.gitleaks_config,
                    folder=folder / "gitleaks",
                    timeout_s=self.timeout_s,
                )
                hits, notes = [*hits, *more.hits], [*notes, *more.notes]
        return _without_secret_names(strongest(hits), unscanned, (*self.allowed.notes, *notes), names)

    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        try:
            if self.scratch is not None:
                make_private_folder(self.scratch)
            return tempfile.TemporaryDirectory(prefix="scan-", dir=self.scratch)
        except OSError as error:
            what = f"the secret scan has no folder to work in: {error.strerror}"
            raise TouchlineError(what, fix="Free some space on the disk.") from error

    def _search(self, sources: tuple[Source, ...], folder: Path) -> tuple[list[Hit], list[Unscanned], list[str]]:
        argv = [sys.executable, "-P", "-m", "touchline.secrets.worker"]
        environment = clean_environment(
            os.environ, remove=("PYTHONSTARTUP",), add={"PYTHONUTF8": "1", "TMPDIR": str(folder)}
        )
        request = encode_request(self.key, self.allowed, sources)
        try:
            done = run(
                argv,
                cwd=folder,
                env=environment,
                stdin=request,
                timeout_s=self.timeout_s,
                max_output_bytes=256 * 1024 * 1024,
            )
        except ProcessError as error:
            raise TouchlineError(f"the secret scan cannot be started: {error.what}", fix=error.fix) from error
        answers, excluded = decode_answers(done.stdout)
        if done.ending != "exited":
            why = f"the scan did not end within {self.timeout_s:.0f} seconds"
        else:
            # Its error output is not shown: a traceback could quote what was scanned.
            why = f"the scan broke off (status {done.returncode})"
        hits = [hit for found in answers.values() for hit in found]
        left = []
        for number, source in enumerate(sources):
            if (number, "tokens") not in answers:
                left.append(Unscanned(source.path, why, True, source.commit))
            elif source.kind is not Kind.BINARY and (number, "noticed") not in answers:
                left.append(Unscanned(source.path, f"searched for tokens only: {why}", False, source.commit))
            elif source.kind is Kind.BINARY and source.path != _FILE_NAMES and source.text:
                left.append(Unscanned(source.path, "binary: searched for plain tokens only", False, source.commit))
            elif any(line.added and len(line.text) > LONGEST_LINE for line in source.lines):
                why_not = f"lines longer than {LONGEST_LINE} characters: searched for tokens only"
                left.append(Unscanned(source.path, why_not, False, source.commit))
        notes = [f"{excluded} hit(s) excluded by the allow-list of the base"] if excluded else []
        return hits, left, notes


def _bounded(sources: Sequence[Source]) -> tuple[list[Source], list[Unscanned]]:
    """What is searched, small sources first if not all fit, and what is not."""
    taken: list[Source] = []
    left: list[Unscanned] = []
    total = 0
    for _, number in sorted((_size(source), number) for number, source in enumerate(sources)):
        source = sources[number]
        size = _size(source)
        if size > MAX_SOURCE_CHARACTERS or total + size > MAX_CHARACTERS:
            left.append(Unscanned(source.path, "too long to be scanned", True, source.commit))
        else:
            taken.append(source)
            total += size
    return taken, left


def _size(source: Source) -> int:
    return sum(len(line.text) + 1 for line in source.lines)


def _names(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The paths as a source of their own: a file name is published, too."""
    paths = dict.fromkeys(source.path for source in sources if source.kind in (Kind.CODE, Kind.BINARY))
    return (
        (whole(_FILE_NAMES, "\n".join(path.replace("\n", " ") for path in paths), kind=Kind.BINARY),) if paths else ()
    )


def _without_secret_names(
    hits: Sequence[Hit], unscanned: Sequence[Unscanned], notes: Sequence[str], names: tuple[Source, ...]
) -> Scan:
    """The outcome, in which a path that holds a secret is not repeated."""
    secret_lines = {hit.line for hit in hits if hit.path == _FILE_NAMES}
    secret = {line.text for source in names for line in source.lines if line.number in secret_lines}
    if secret:
        hits = [hit for hit in hits if hit.path.replace("\n", " ") not in secret]
        unscanned = [
            Unscanned(_FILE_NAMES, part.reason, part.stops, part.commit)
            if part.path.replace("\n", " ") in secret
            else part
            for part in unscanned
        ]
    return Scan(tuple(sorted(hits)), tuple(sorted(set(unscanned))), tuple(dict.fromkeys(notes)))
