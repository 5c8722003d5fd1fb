"""What is scanned, what counts as allowed, and what happens to the rest (spec page 5, "Secrets")."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import ConfigError
from touchline.secrets import scan as scan_module
from touchline.secrets.allow import Allowances
from touchline.secrets.patch import parse_patch
from touchline.secrets.scan import Scanner
from touchline.secrets.values import Grade, Kind, Line, Source, whole

Word = Callable[[str, int], str]
LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def test_names_and_randomness_are_noticed_and_do_not_stop(scanner: Scanner, make_word: Word) -> None:
    value = make_word(LETTERS, 40)
    scan = scanner.scan_sources(
        [
            whole("a.py", f'api_key = "{value}"\n'),
            whole("b.py", f'x = "{value}"\n'),
            whole("c.py", 'db_password = "Tr0ub4dor&3x"\n'),
        ]
    )
    assert {hit.path for hit in scan.noticed} == {"a.py", "b.py", "c.py"}
    assert not scan.stops


def test_a_value_that_is_named_a_digest_is_no_secret(scanner: Scanner, make_word: Word) -> None:
    value = make_word("0123456789abcdef", 40)
    names = ["sha256", "headSha", "expected_digest", "commit", "checksum", "treeHash"]
    assert not scanner.scan_sources([whole(f"{name}.json", f'{{"{name}": "{value}"}}\n') for name in names]).hits
    others = ["shared", "reverse", "value"]
    scan = scanner.scan_sources([whole(f"{name}.json", f'{{"{name}": "{value}"}}\n') for name in others])
    assert {hit.path for hit in scan.noticed} == {f"{name}.json" for name in others}


def test_a_header_without_key_material_is_noticed(scanner: Scanner) -> None:
    scan = scanner.scan_sources([whole("a.py", "if '-----BEGIN " + "PRIVATE KEY-----' in text:\n    pass\n")])
    assert [(hit.kind, hit.grade) for hit in scan.hits] == [("private-key-header", Grade.NOTICED)]


def test_a_web_token_is_noticed(scanner: Scanner, make_word: Word) -> None:
    token = ".".join(["ey" + "J" + make_word(LETTERS, 30), "ey" + "J" + make_word(LETTERS, 90), make_word(LETTERS, 43)])
    scan = scanner.scan_sources([whole("a.py", f"x = '{token}'\n"), whole("b.txt", token)])
    assert {(hit.path, hit.kind, hit.grade) for hit in scan.hits} == {
        ("a.py", "json-web-token", Grade.NOTICED),
        ("b.txt", "json-web-token", Grade.NOTICED),
    }


def test_a_port_or_a_query_with_an_address_in_it_is_no_password(scanner: Scanner) -> None:
    lines = ["https://host.example.io:443?mail=a@b.io", "ssh://git@host.io:22/x", "host.io:5000/a@sha256"]
    lines += ["see https://x.io:1 and a@b.io", "git@host.io:a/b.git", "https://h.io:80/@scope/name", "s3://bucket:a"]
    assert not scanner.scan_sources([whole("a.txt", "\n".join(lines))]).stops


def test_a_connection_to_the_own_machine_is_noticed_and_a_placeholder_is_nothing(scanner: Scanner) -> None:
    local = scanner.scan_sources([whole("a", "amqp" + "://app:q8Zt5vLmXw@localhost/v")])
    assert [hit.kind for hit in local.noticed] == ["connection-string"]
    assert not local.stops
    nothing = scanner.scan_sources(
        [whole("a", "amqp" + "://app:${RABBIT_PW}@mq.prod.internal/v\npg" + "://u:<password>@h.io/x")]
    )
    assert not nothing.stops


def test_the_digest_is_keyed_and_the_same_for_the_same_value(scanner: Scanner, secrets: dict[str, str]) -> None:
    value = secrets["github classic"]
    scan = scanner.scan_sources([whole("a", value), whole("b", f"x {value} y")])
    assert len({hit.digest for hit in scan.hits}) == 1
    other = dataclasses.replace(scanner, key=b"o" * 32).scan_sources([whole("a", value)])
    assert other.hits[0].digest != scan.hits[0].digest


def test_only_added_lines_count(scanner: Scanner, secrets: dict[str, str]) -> None:
    value = secrets["npm"]
    patch = (
        f"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n {value}\n-{value}\n+clean\n {value}\n"
    )
    assert scanner.scan_patch(patch.encode()).hits == ()
    added = patch.replace("+clean", f"+x = '{value}'").encode()
    assert [(hit.path, hit.line) for hit in scanner.scan_patch(added).stopping] == [("a.txt", 2)]


def test_a_key_whose_header_stands_around_the_change_is_found(
    scanner: Scanner, make_key_block: Callable[[str], str]
) -> None:
    first, *rest = make_key_block("RSA PRIVATE" + " KEY").split("\n")
    lines = (Line(1, first, False), *(Line(number, text) for number, text in enumerate(rest, start=2)))
    assert [hit.line for hit in scanner.scan_sources([Source("a.pem", lines)]).stopping] == [2]


def test_lines_that_look_like_headers_are_content(scanner: Scanner, secrets: dict[str, str]) -> None:
    patch = (
        "diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,4 @@\n"
        f"+++ b/other\n+@@ -1 +1 @@\n+diff --git a/x b/x\n+{secrets['npm']}\n"
    )
    assert [(hit.path, hit.line) for hit in scanner.scan_patch(patch.encode()).hits] == [("a.txt", 4)]


def test_quoted_and_spaced_paths_of_a_patch_are_read_back() -> None:
    patch = (
        b'--- /dev/null\n+++ "b/t\\tab \\"q\\" \\303\\251 \\351"\n@@ -0,0 +1 @@\n+a\n'
        b"--- a/with space\t\n+++ b/with space\t\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"
    )
    assert [source.path for source in parse_patch(patch)] == ['t\tab "q" é \udce9', "with space"]


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reading_of_a_patch(patch: bytes) -> None:
    assert all(any(line.added for line in source.lines) for source in parse_patch(b"+++ b/a\n@@ -1 +1,9 @@\n" + patch))


def test_file_names_are_scanned_and_not_repeated(scanner: Scanner, secrets: dict[str, str]) -> None:
    value = secrets["github classic"]
    scan = scanner.scan_sources([whole(f"dump/{value}.txt", f"x = '{value}'\n")])
    assert scan.stops
    assert value not in repr(scan)
    assert [hit.path for hit in scan.hits] == ["(file names)"]


def test_lock_files_and_media_hide_no_token(scanner: Scanner, secrets: dict[str, str]) -> None:
    names = ["package-lock.json", "a.png", "swagger.json", "x.lock", "y.min.js", "z.svg"]
    scan = scanner.scan_sources([whole(name, f"a {secrets['npm']} b") for name in names])
    assert {hit.path for hit in scan.stopping} == set(names)


def test_an_allowlist_comment_of_the_work_itself_counts_for_nothing(scanner: Scanner, secrets: dict[str, str]) -> None:
    comment = "pragma: allow" + "list secret"
    scan = scanner.scan_sources(
        [whole("a.py", f"x = '{secrets['npm']}'  # {comment}\ny_password = 'q8Zt5vLmXw'  # {comment}\n")]
    )
    assert [hit.line for hit in scan.stopping] == [1]
    assert [hit.line for hit in scan.noticed] == [2]


def test_the_repositorys_own_patterns_stop(scanner: Scanner) -> None:
    own = dataclasses.replace(scanner, allowed=Allowances(patterns={"Acme Token": r"acme-(?P<value>[0-9]{6})"}))
    assert [(hit.kind, hit.grade) for hit in own.scan_sources([whole("a", "x acme-123456 y")]).hits] == [
        ("acme-token", Grade.STOP)
    ]
    with pytest.raises(ConfigError, match="no regular expression"):
        dataclasses.replace(scanner, allowed=Allowances(patterns={"bad": "("}))


def test_personal_data_counts_in_metadata_only(scanner: Scanner) -> None:
    texts = {"card": "4111 1111 1111 1111", "iban": "DE89 3704 0044 0532 0130 00"}
    texts |= {"us": "219-09-9999", "cn": "11010519491231002X"}
    scan = scanner.scan_texts({name: f"call {text} now" for name, text in texts.items()})
    assert {hit.path for hit in scan.stopping} == set(texts)
    assert not scanner.scan_sources([whole(name, f"call {text} now") for name, text in texts.items()]).hits
    harmless = [
        "4111 1111 1111 1112",
        "DE89 3704 0044 0532 0130 01",
        "000-12-3456",
        "me@example.org",
        "+49 30 1234567",
        "1.2.3.4",
    ]
    assert scanner.scan_text("body", "\n".join(harmless)).hits == ()


def test_a_body_keeps_its_commit_ids_and_its_words(scanner: Scanner, make_word: Word) -> None:
    sha = make_word("0123456789abcdef", 40)
    body = f'Head: `{sha}`, report "{sha}"\n\nThe password: it is asked for. Token: "required". secret = "none"\n'
    assert scanner.scan_text("body", body).hits == ()
    assert scanner.scan_text("body", 'api_key = "q8Zt5vLmXw3K"').hits != ()


def test_a_branch_name_is_scanned_in_any_letter_case(scanner: Scanner, secrets: dict[str, str]) -> None:
    kinds = ("github classic", "aws access key id", "npm", "gitlab personal")
    names = [whole(kind, f"fix/use-{secrets[kind].lower()}", kind=Kind.NAME) for kind in kinds]
    assert {hit.path for hit in scanner.scan_sources(names).stopping} == set(kinds)
    assert not scanner.scan_name("branch", "feature/1234-asia-pacific-regions-and-skills").hits


def test_binary_content_is_searched_also_in_two_bytes_a_letter(scanner: Scanner, secrets: dict[str, str]) -> None:
    text = f"\0\x01{secrets['stripe']}\xff"
    scan = scanner.scan_sources([whole("a.bin", text, kind=Kind.BINARY)])
    assert [hit.kind for hit in scan.stopping] == ["stripe-key"]
    assert [part.reason for part in scan.unscanned] == ["binary: searched for plain tokens only"]


@pytest.mark.slow
def test_one_line_of_five_megabytes_and_a_hundred_thousand_lines_are_scanned_in_time(
    scanner: Scanner, secrets: dict[str, str]
) -> None:
    value = secrets["github classic"]
    began = time.monotonic()
    filler = "var a=function(b){return b.c?'d':\"e\"};" * 140_000
    long_line = scanner.scan_sources([whole("min.js", f"{filler}'{value}'{filler[:100]}")])
    many = "\n".join(f"    result[{number}] = compute(value, '{number:08d}', key=lookup)" for number in range(100_000))
    lines = scanner.scan_sources([whole("big.py", f"{many}\nx = '{value}'\n")])
    assert [(hit.path, hit.line) for hit in (*long_line.stopping, *lines.stopping)] == [
        ("min.js", 1),
        ("big.py", 100_001),
    ]
    assert lines.unscanned == ()
    assert [(part.path, part.reason, part.stops) for part in long_line.unscanned] == [
        ("min.js", "lines longer than 2000 characters: searched for tokens only", False)
    ]
    assert time.monotonic() - began < 120


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "=",
        "-----BEGIN ",
        "sk-",
        "eyJ",
        "https://",
        "host=x ",
        "aws key ",
        "4111 ",
        "PuTTY-User-Key-File-2:",
        "\0",
        "http://a:",
    ],
)
def test_no_repetition_makes_the_search_of_tokens_slow(scanner: Scanner, piece: str) -> None:
    quick = dataclasses.replace(scanner, timeout_s=45)
    scan = quick.scan_sources([whole("a", piece * (200_000 // len(piece)), kind=Kind.METADATA)])
    assert not any(part.stops for part in scan.unscanned)


def test_what_was_not_scanned_in_time_stops_and_is_named(scanner: Scanner) -> None:
    hurried = dataclasses.replace(scanner, timeout_s=0.001)
    scan = hurried.scan_sources([whole("a.py", "x = 1\n")])
    assert scan.stops
    assert scan.reasons()[0] == "(file names): the scan did not end within 0 seconds"
    assert {part.path for part in scan.unscanned} == {"a.py", "(file names)"}


def test_what_is_too_long_stops_and_is_named_and_the_rest_is_scanned(scanner: Scanner, secrets: dict[str, str]) -> None:
    huge = Source("huge.txt", (Line(1, "a" * (scan_module.MAX_SOURCE_CHARACTERS + 1)),))
    scan = scanner.scan_sources([huge, whole("a.txt", secrets["npm"])])
    assert [(part.path, part.reason, part.stops) for part in scan.unscanned] == [
        ("huge.txt", "too long to be scanned", True)
    ]
    assert [hit.path for hit in scan.stopping] == ["a.txt"]


def test_text_that_breaks_a_parser_is_scanned_as_plain_lines(scanner: Scanner, make_word: Word) -> None:
    value = make_word(LETTERS, 40)
    broken = [
        "{" * 1900,
        "a: &a [*a",
        "\x00: x",
        "? " * 950,
        "[section\nkey",
        "%YAML 9.9\n---\n!!python/object:os.system x",
    ]
    sources = [
        whole(f"{number}{suffix}", f'{text}\nsecret_key = "{value}"\n')
        for number, text in enumerate(broken)
        for suffix in (".yaml", ".ini", ".toml")
    ]
    scan = scanner.scan_sources(sources)
    assert scan.unscanned == ()
    assert len({hit.path for hit in scan.hits}) == len(sources)


def test_nothing_of_a_scan_stays_on_disk(scanner: Scanner, tmp_path: Path, secrets: dict[str, str]) -> None:
    scanner.scan_sources([whole("a.py", secrets["npm"])])
    assert sorted(place.name for place in tmp_path.iterdir()) == ["private"]


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_text_under_any_name_can_be_a_request(text: str, name: str) -> None:
    from touchline.secrets.search import Search

    search = Search(b"k", Allowances())
    for kind in Kind:
        for hit in search.tokens(whole(name, text, kind=kind)):
            assert 0 <= hit.start <= hit.end <= len(text)
