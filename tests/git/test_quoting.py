from __future__ import annotations

import json
import os

from hypothesis import given
from hypothesis import strategies as st

from touchline.git.quoting import quote_path, unquote_path


@given(st.binary(max_size=40).filter(lambda name: b"\0" not in name))
def test_every_file_name_survives_a_document(name: bytes) -> None:
    path = os.fsdecode(name)
    written = json.dumps(quote_path(path), ensure_ascii=False).encode("utf-8")
    assert unquote_path(json.loads(written)) == path


def test_plain_names_are_written_as_they_are() -> None:
    for name in ("src/a.py", "a b", "käse/чай.md", "-x", "tab\there", "line\nbreak"):
        assert quote_path(name) == name
    assert quote_path(os.fsdecode(b"caf\xe9.txt")) == '"caf\\351.txt"'
