"""gitleaks as a second pair of eyes where it is installed (spec page 5, "Secrets").

It searches copies of the added lines under names of ours, so that no configuration, ignore file or comment of the
work being judged counts; the rules are its own or those of the trusted base. What it cannot do is a note: nothing
depends on it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touchline.errors import ProcessError
from touchline.process import run
from touchline.process.environment import clean_environment
from touchline.secrets.allow import Allowances, line_digest, value_digest
from touchline.secrets.patterns import is_sample
from touchline.secrets.search import slug
from touchline.secrets.values import Grade, Hit, Kind, Scan, Source, digest_of

MAX_REPORT_BYTES = 16 * 1024 * 1024
_GENERIC = frozenset(
    {"generic-api-key", "jwt", "jwt-base64", "curl-auth-header", "curl-auth-user", "hashicorp-tf-password"}
)
"""Rules that guess from a name or from randomness."""


def find_program(outside: Path | None) -> str:
    """The absolute path of gitleaks, "" if it is not installed or lies inside `outside` (the work being judged)."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
    found = shutil.which("gitleaks", path=os.pathsep.join(folders))
    if not found or (outside is not None and Path(found).resolve().is_relative_to(outside.resolve())):
        return ""
    return found


def ask_gitleaks(
    program: str,
    sources: Sequence[Source],
    *,
    key: bytes,
    allowed: Allowances,
    config: bytes,
    folder: Path,
    timeout_s: float,
) -> Scan:
    """What gitleaks finds in the added lines of `sources`; `folder` is empty and private."""
    text, report, rules = folder / "text", folder / "report.json", folder / "rules.toml"
    text.mkdir()
    names: dict[str, tuple[Source, list[int]]] = {}
    for number, source in enumerate(sources):
        added = [index for index, line in enumerate(source.lines) if line.added]
        suffix = Path(source.path).suffix
        name = f"{number}{suffix if suffix[1:].isascii() and suffix[1:].isalnum() and len(suffix) < 10 else ''}"
        content = "\n".join(source.lines[index].text for index in added)
        (text / name).write_text(f"{content}\n", encoding="utf-8", errors="replace")
        names[name] = (source, added)
    argv = [program, "detect", "--no-git", "--no-banner", "--no-color", "--ignore-gitleaks-allow", "--exit-code=0"]
    argv += [f"--source={text}", "--report-format=json", f"--report-path={report}"]
    if config:
        rules.write_bytes(config)
        argv.append(f"--config={rules}")
    environment = clean_environment(os.environ, remove=[name for name in os.environ if name.startswith("GITLEAKS_")])
    try:
        done = run(argv, cwd=folder, env=environment, timeout_s=timeout_s, max_output_bytes=64 * 1024)
    except ProcessError as error:
        return Scan(notes=(f"gitleaks was not used: {error.what}",))
    if done.ending != "exited" or done.returncode != 0:
        how = (
            f"it ended with status {done.returncode}" if done.ending == "exited" else f"it did not end ({done.ending})"
        )
        return Scan(notes=(f"gitleaks was not used: {how}",))
    rows = _read(report)
    if rows is None:
        return Scan(notes=("gitleaks was not used: it wrote no report that can be read",))
    hits = []
    for row in rows:
        name = Path(str(row.get("File", ""))).name
        if name in names:
            hit = _hit(row, *names[name], key=key, allowed=allowed)
            hits += [hit] if hit else []
    return Scan(hits=tuple(sorted(set(hits))))


def _read(report: Path) -> list[dict[str, Any]] | None:
    try:
        with report.open("rb") as file:
            content = file.read(MAX_REPORT_BYTES + 1)
    except OSError:
        return None
    finally:
        # It holds values.
        report.unlink(missing_ok=True)
    try:
        rows = json.loads(content) if len(content) <= MAX_REPORT_BYTES else None
    except (ValueError, RecursionError):
        return None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else None


def _hit(row: dict[str, Any], source: Source, added: list[int], *, key: bytes, allowed: Allowances) -> Hit | None:
    value, rule, number = row.get("Secret"), row.get("RuleID"), row.get("StartLine")
    if not isinstance(value, str) or not isinstance(rule, str) or not isinstance(number, int) or not value:
        return None
    # Line numbers begin with 1; some versions begin the first line with 0.
    index = added[min(max(number - 1, 0), len(added) - 1)]
    line = source.lines[index]
    start = source.text.find(value)
    if is_sample(value) or (source.path, value_digest(value)) in allowed.accepted:
        return None
    if line_digest(line.text) in allowed.lines:
        return None
    grade = Grade.NOTICED if rule in _GENERIC and source.kind is Kind.CODE else Grade.STOP
    place = (start, start + len(value)) if start >= 0 else (0, 0)
    return Hit(source.path, line.number, slug(rule), grade, digest_of(key, value), source.commit, *place)
