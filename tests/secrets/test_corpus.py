"""Secrets are found and ordinary files are not stopped (spec page 5, "Secrets")."""

from __future__ import annotations

import random
import sysconfig
import uuid
from pathlib import Path

from touchline.secrets.scan import Scanner
from touchline.secrets.values import Scan, Source, whole

MOST_FALSE_STOPS = 2
"""Of 200 ordinary files. Measured: 0; the bound leaves room for other versions of the installed packages."""

_NOT_ORDINARY = ("detect_secrets", "secrets", "test", "tests", "ssh", "crypto")


def placed(secrets: dict[str, str]) -> list[Source]:
    """Each secret as it stands in code, in a configuration file, in a shell line, and alone."""
    sources = []
    for kind, value in secrets.items():
        one_line = value.replace("\n", "\\n")
        sources += [
            whole(f"{kind}/code.py", f"import os\n\nVALUE = '{one_line}'\n"),
            whole(f"{kind}/config.yaml", f'service:\n  value: "{one_line}"\n'),
            whole(f"{kind}/run.sh", f"export VALUE={one_line} # set\n"),
            whole(f"{kind}/alone", value),
            whole(f"{kind}/crlf.txt", f"x\r\n{value}\r\ny\r\n"),
        ]
    return sources


def test_no_secret_of_the_corpus_gets_through_in_any_place(scanner: Scanner, secrets: dict[str, str]) -> None:
    sources = placed(secrets)
    found = {hit.path for hit in scanner.scan_sources(sources).stopping}
    assert len(secrets) >= 20
    assert sorted({source.path for source in sources} - found) == []


def test_no_value_is_in_any_result(scanner: Scanner, secrets: dict[str, str]) -> None:
    scan = scanner.scan_sources(placed(secrets))
    shown = repr(scan) + " ".join(scan.reasons(limit=10_000))
    assert scan.hits
    for value in secrets.values():
        for part in value.split("\n")[1:] or [value]:
            assert part not in shown


def ordinary_files() -> list[Path]:
    places = [Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")]
    found = [
        place
        for root in places
        for pattern in ("*.py", "*/*.py", "*/METADATA", "*/RECORD", "*/*.json", "*/*.toml", "*/*.pyi", "*/*/*.py")
        for place in sorted(root.glob(pattern))
        if not set(place.relative_to(root).parts).intersection(_NOT_ORDINARY) and place.stat().st_size < 60_000
    ]
    return random.Random(11).sample(found, 150)


def ordinary_texts() -> dict[str, str]:
    """What often looks like a secret and is none."""
    source = random.Random(3)
    ids = [str(uuid.UUID(int=source.getrandbits(128))) for _ in range(10)]
    sha = [f"{source.getrandbits(256):064x}" for _ in range(10)]
    texts = {f"ids/{number}.json": f'{{"id": "{value}", "parent": "{value}"}}' for number, value in enumerate(ids)}
    texts |= {f"locks/{number}.txt": f"package==1.{number} --hash=sha256:{value}\n" for number, value in enumerate(sha)}
    texts |= {f"pins/{number}.yml": f"uses: actions/checkout@{value[:40]}\n" for number, value in enumerate(sha)}
    lines = [
        'url = "postgres://user:password@localhost/db"',
        'url = f"postgres://{user}:{password}@{host}/db"',
        "DATABASE_URL=postgres://postgres:postgres@db:5432/app",
        "redis://:${REDIS_PASSWORD}@redis:6379",
        "https://user:pass@example.com/path",
        "token = os.environ['GITHUB_TOKEN']",
        'AWS_ACCESS_KEY_ID = "AKIA' + 'IOSFODNN7EXAMPLE"',
        "ghp_" + "x" * 36,
        "curl -H 'Authorization: Bearer $TOKEN' https://api.example.com",
        'BEGIN = "-----BEGIN ' + 'PRIVATE KEY-----"  # what a key file begins with',
        "-----BEGIN "
        + "CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUWk3yq3o0v8ZrYhPq7cJXk1mB5N0wCgYIKoZIzj0E\n-----END CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq1m9tq0vXv7m2xV3s9cN0yQx3wq5u8t2k1j4h7g6f5 me@host",
        "git clone git@github.com:owner/repo.git && git clone ssh://git@example.com:22/a/b",
        "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "sk-something-short and gl-pat and xoxo and key-value and pat-a-cake",
        "Server=localhost;Database=test;User Id=sa;Password=Your_password123;",
        "-----BEGIN " + "RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "A sentence: the password: it is hidden. See https://example.org/a:b@c for more.",
        "task.skip_0123456789abcdef0123456789abcdef = 4",
    ]
    return texts | {f"lines/{number}.txt": f"{line}\n" for number, line in enumerate(lines)}


def scan_ordinary(scanner: Scanner) -> tuple[Scan, int]:
    sources = [
        whole(f"{place.parent.name}/{place.name}", place.read_bytes().decode("utf-8", "replace"))
        for place in ordinary_files()
    ]
    sources += [whole(path, text) for path, text in ordinary_texts().items()]
    return scanner.scan_sources(sources), len(sources)


def test_ordinary_files_are_almost_never_stopped(scanner: Scanner) -> None:
    scan, count = scan_ordinary(scanner)
    stopped = {hit.path for hit in scan.stopping}
    noticed = {hit.path for hit in scan.noticed}
    print(f"of {count} ordinary files: {len(stopped)} stopped, {len(noticed)} noticed")
    assert count >= 200
    assert not any(part.stops for part in scan.unscanned)
    assert len(stopped) <= MOST_FALSE_STOPS, sorted(scan.reasons())
    assert not any(path.startswith(("ids/", "locks/", "pins/", "lines/")) for path in stopped), sorted(scan.reasons())
    assert len(noticed) < count // 5
