"""Hosts of one bare repository each: a folder, behind ssh, behind http with a token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from touchline.testing.forges import BareBackdoor, GitHttpServer, make_hosted, write_ssh_program


class HttpBackdoor(BareBackdoor):
    """A bare repository behind smart http that wants a token for everything."""

    server: GitHttpServer

    def refuse(self, status: int, *, times: int) -> None:
        self.server.refuse(status, times=times)


@pytest.fixture
def file_host(tmp_path: Path) -> BareBackdoor:
    return BareBackdoor(make_hosted(tmp_path / "srv" / "team" / "widget.git"))


@pytest.fixture
def ssh_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program, refusal = write_ssh_program(tmp_path)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")
    return refusal


@pytest.fixture
def ssh_host(tmp_path: Path, ssh_refusal: Path) -> BareBackdoor:
    hosted = make_hosted(tmp_path / "srv" / "team" / "widget.git")
    return BareBackdoor(hosted, url=f"ssh://git@git.example.invalid:2222{hosted}")


@pytest.fixture
def http_host(tmp_path: Path) -> Iterator[HttpBackdoor]:
    hosted = make_hosted(tmp_path / "srv" / "team" / "widget.git")
    with GitHttpServer(tmp_path / "srv", token="s3cret-token-9d1e") as server:
        backdoor = HttpBackdoor(
            hosted,
            url=f"{server.url}/team/widget.git",
            token=server.token,
            abilities=frozenset({"lose-answers", "meddle", "duplicates", "refuse", "credentials"}),
        )
        backdoor.server = server
        yield backdoor
