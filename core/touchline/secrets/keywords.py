"""What detect-secrets notices: keywords, entropy, and its own patterns (spec page 5, "Secrets").

Runs in the scanning process only (see `worker`), because the library keeps its settings in globals, imports
`requests` and reads files by name. Its network verification is never configured. The detectors are named here one
by one, so that another version of the library does not silently change what is found.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from touchline.secrets.patterns import Found, is_varied
from touchline.secrets.values import Grade, Line

LONGEST_LINE = 2000
"""Longer lines are data (minified code, maps); only tokens are looked for in them."""

DETECTORS: Mapping[str, str] = {
    "ArtifactoryDetector": "artifactory-key",
    "AWSKeyDetector": "aws-key",
    "AzureStorageKeyDetector": "azure-storage-key",
    "CloudantDetector": "cloudant-key",
    "DiscordBotTokenDetector": "discord-token",
    "GitHubTokenDetector": "github-token",
    "GitLabTokenDetector": "gitlab-token",
    "IbmCloudIamDetector": "ibm-cloud-key",
    "IbmCosHmacDetector": "ibm-cos-key",
    "JwtTokenDetector": "json-web-token",
    "KeywordDetector": "keyword",
    "MailchimpDetector": "mailchimp-key",
    "NpmDetector": "npm-token",
    "OpenAIDetector": "openai-key",
    "PypiTokenDetector": "pypi-token",
    "SendGridDetector": "sendgrid-key",
    "SlackDetector": "slack-token",
    "SoftlayerDetector": "softlayer-key",
    "SquareOAuthDetector": "square-token",
    "StripeDetector": "stripe-key",
    "TelegramBotTokenDetector": "telegram-token",
    "TwilioKeyDetector": "twilio-key",
    "Base64HighEntropyString": "entropy",
    "HexHighEntropyString": "entropy",
}
"""Class -> kind. Left out on purpose: public IP addresses; private keys and passwords in URLs, where `patterns` tells
the real from the sample."""

_LIMITS = {"Base64HighEntropyString": 4.5, "HexHighEntropyString": 3.0}
_STOPPING = frozenset(
    {
        "discord-token",
        "github-token",
        "gitlab-token",
        "openai-key",
        "pypi-token",
        "sendgrid-key",
        "slack-token",
        "square-token",
        "stripe-key",
        "azure-storage-key",
    }
)
"""Kinds whose pattern is as good as one of ours."""

_SHORTEST_TOKEN = 16
_SYNTAXES = "cls example go java js m php py pyi swift tf eyaml yaml yml cs c cpp cnf conf cfg cf ini properties toml"
_SUFFIXES = frozenset(f".{name}" for name in _SYNTAXES.split())
_DATA_SUFFIXES = frozenset((".eyaml", ".yaml", ".yml", ".cnf", ".conf", ".cfg", ".cf", ".ini", ".properties", ".toml"))
_WORTH_ASKING = re.compile(
    r"(?i)key|pass|pwd|secret|token|contrase|softlayer|cloudant|ibm|iam|api|://|eyj|\bA[KP]|[\"'][\w+/=\\-]{8,}[\"']|[\w+/=.:-]{24}"
)
"""What any detector needs to be there: a telling word, a quoted word, or a long one."""

_HASHED = re.compile(
    r"(?i)(?:sha(?:-?\d{1,3})?|md5|blake\d?\w?|digest|checksum|integrity|hash(?:es)?|commit|rev(?:ision)?|oid|etag|fingerprint)"
    r"(?![a-z])[\w\"'\])]{0,20}\s{0,3}[:=(,]\s{0,3}[\"']?(?:sha\d+[:-])?$"
)


def notice(
    lines: Sequence[Line], path: str, *, folder: Path, detectors: Sequence[str] | None, limits: Mapping[str, float]
) -> Iterator[tuple[int, Found]]:
    """Index of a line in `lines`, and what was noticed in it; offsets are those in the line.

    `folder` is an empty private folder for the lines as a file: the library reads only files.
    """
    suffix = Path(path).suffix.lower()
    # The library takes its time for every line; in data files the lines around one give it its meaning.
    everything = suffix in _DATA_SUFFIXES
    asked = [index for index, line in enumerate(lines) if everything or _WORTH_ASKING.search(line.text[:LONGEST_LINE])]
    if not asked:
        return
    text = "".join(f"{_shown(lines[index])}\n" for index in asked)
    for number, value, kind in _ask(text, path, folder, detectors, limits):
        if value and 0 <= number < len(asked):
            found = _place(lines[asked[number]].text, value, kind)
            if found is not None:
                yield asked[number], found


def keep_off_the_network() -> None:
    """Puts an empty module in the place of `requests`, which detect-secrets imports only to try secrets out.

    For a process that scans and does nothing else.
    """
    empty = ModuleType("requests")
    empty.__dict__["__getattr__"] = lambda name: object
    sys.modules["requests"] = empty


def _ask(
    text: str, path: str, folder: Path, detectors: Sequence[str] | None, limits: Mapping[str, float]
) -> list[tuple[int, str, str]]:
    """Line index, value and kind of what detect-secrets finds in `text`."""
    from detect_secrets.core.scan import scan_file
    from detect_secrets.filters.heuristic import is_lock_file, is_swagger_file
    from detect_secrets.settings import transient_settings

    if is_lock_file(path) or is_swagger_file(path):
        return []
    used = [name for name in DETECTORS if detectors is None or name in detectors]
    settings = {
        "plugins_used": [{"name": name, **_limit(name, limits)} for name in used],
        "filters_used": [{"path": f"detect_secrets.filters.heuristic.{name}"} for name in _FILTERS],
    }
    # The name of the file is ours, but for the suffix by which the library knows the syntax.
    suffix = Path(path).suffix.lower()
    place, plain = folder / f"text{suffix if suffix in _SUFFIXES else ''}", folder / "text"
    with transient_settings(settings):
        place.write_text(text, encoding="utf-8", errors="replace")
        try:
            secrets = list(scan_file(str(place)))
        except Exception:  # noqa: BLE001 (a foreign parser on untrusted text; read as plain lines instead)
            plain.write_text(text, encoding="utf-8", errors="replace")
            secrets = list(scan_file(str(plain)))
        finally:
            place.unlink(missing_ok=True)
            plain.unlink(missing_ok=True)
    return [(secret.line_number - 1, secret.secret_value or "", _kind(secret.type)) for secret in secrets]


_FILTERS = (
    "is_indirect_reference",
    "is_likely_id_string",
    "is_not_alphanumeric_string",
    "is_potential_uuid",
    "is_prefixed_with_dollar_sign",
    "is_sequential_string",
    "is_templated_secret",
)


def _limit(name: str, limits: Mapping[str, float]) -> dict[str, float]:
    return {"limit": limits.get(name, _LIMITS[name])} if name in _LIMITS else {}


def _kind(secret_type: str) -> str:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    found: type | None = get_mapping_from_secret_type_to_class().get(secret_type)
    return DETECTORS.get(found.__name__, "secret") if found else "secret"


def _place(line: str, value: str, kind: str) -> Found | None:
    start = line.find(value)
    if start < 0:
        # A value that the syntax wrote in another way stands for its whole line.
        start, value = 0, line
    if kind == "entropy" and _HASHED.search(line[max(0, start - 80) : start]):
        return None
    if kind in _STOPPING and not (len(value) >= _SHORTEST_TOKEN and is_varied(value)):
        # A prefix alone, or a sample: `patterns` has seen the whole.
        return None
    return Found(kind, Grade.STOP if kind in _STOPPING else Grade.NOTICED, start, start + len(value), value)


def _shown(line: Line) -> str:
    return line.text.rstrip("\r") if len(line.text) <= LONGEST_LINE else ""
