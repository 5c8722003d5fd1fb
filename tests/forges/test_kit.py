"""The forge kit catches a bad forge, cannot be weakened by overriding, and every shipped forge is held to it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from touchline.forge import ForgeSettings, LocalForgeHost
from touchline.git.repository import Repository
from touchline.plugins.load import load_forge
from touchline.testing import FORGE_SUITE_VERSION, ForgeContract
from touchline_forges.generic import GenericForge

HERE = Path(__file__).parent
SHIPPED = {
    entry.name: entry.value.partition(":")[2]
    for entry in entry_points(group="touchline.forges")
    if entry.dist is not None and entry.dist.name == "touchline"
}
SOURCE = """
import pytest
from touchline.api import *
from touchline.testing import ForgeContract
from touchline.testing.forges import BareBackdoor, make_hosted
from touchline_forges.generic import GenericForge

class Driver(GenericForge):
    pass
{methods}

class TestDriver(ForgeContract):
    @pytest.fixture
    def backdoor(self, tmp_path): return BareBackdoor(make_hosted(tmp_path / "hosted.git"))
    def make_forge(self, backdoor, host, token): return Driver(ForgeSettings(), host)
{overrides}
"""


def run_suite(folder: Path, keyword: str, *, methods: str = "", overrides: str = "") -> tuple[int, str]:
    """Run a third party's test file with pytest, as they would."""
    (folder / "test_driver.py").write_text(SOURCE.format(methods=methods, overrides=overrides))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", "-k", keyword, "test_driver.py"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("methods", "keyword"),
    [
        ("    api_version = API_VERSION + 1", "declares_itself"),
        ("    def identify(self, url): return super().identify(url) if url else RepositoryId('h', 'p')", "no_url_of"),
        ("    def preflight(self, needed, *, repo, head=None): pass", "missing_capability"),
        ("    def update(self, change, **_): return change", "new_text_is_at_the_host and empty"),
        ("    def mark_ready(self, change, *, head_sha): return change", "ready_is_observed"),
        (
            "    def comment(self, change, body, *, key):\n"
            "        return super().comment(change, body, key=key + str(id(object())) + body + str(self._n()))\n"
            "    n = 0\n"
            "    def _n(self):\n        self.n += 1\n        return self.n",
            "repeated_attempt",
        ),
        (
            "    def read_ci(self, repo, sha, change):\n"
            "        return super().read_ci(repo, sha, change).model_copy(update={'checks_readable': False})",
            "report_is_told",
        ),
        (
            "    def request_review(self, change, reviewers): return ReviewRequest()",
            "request_for_review",
        ),
    ],
)
def test_bad_forge_fails_the_scenario_that_is_meant_for_it(tmp_path: Path, methods: str, keyword: str) -> None:
    code, said = run_suite(tmp_path, keyword, methods=methods)
    assert code == 1, said


@pytest.mark.slow
def test_good_forge_passes_and_what_it_does_not_declare_is_skipped_with_its_name(tmp_path: Path) -> None:
    methods = (
        "    def __init__(self, settings, host):\n"
        "        super().__init__(settings, host)\n"
        "        self.capabilities = self.capabilities - {ForgeCapability.COMMENT}"
    )
    code, said = run_suite(tmp_path, "declares_itself or repeated_attempt or missing_cap or unchanged", methods=methods)
    assert code == 0, said
    assert "generic does not declare comment" in said


@pytest.mark.slow
def test_overriding_a_scenario_fails_the_suite_unless_it_says_why(tmp_path: Path) -> None:
    weaker = "    def test_push_goes_forward(self): pass"
    code, said = run_suite(tmp_path, "unchanged", overrides=weaker)
    assert code == 1
    assert "overridden without xfail(reason=...): test_push_goes_forward" in said
    honest = "    @pytest.mark.xfail(reason='cannot push')\n    def test_push_goes_forward(self): assert 0\n"
    assert run_suite(tmp_path, "unchanged", overrides=honest)[0] == 0


def test_suite_has_a_version_and_dozens_of_scenarios() -> None:
    assert FORGE_SUITE_VERSION >= 1
    assert len([name for name in dir(ForgeContract) if name.startswith("test_")]) > 50


def test_forges_are_found() -> None:
    assert SHIPPED["generic"] == "GenericForge"


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_shipped_forge_has_a_contract_class(name: str) -> None:
    tree = [ast.parse(path.read_text(encoding="utf-8")) for path in HERE.glob("test_contract_*.py")]
    held = [
        node
        for module in tree
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
        and node.name.startswith("Test")
        and any(isinstance(base, ast.Name) and base.id == "ForgeContract" for base in node.bases)
        and any(isinstance(part, ast.Name) and part.id == SHIPPED[name] for part in ast.walk(node))
    ]
    assert held


def test_forge_is_loaded_by_its_name(repo: Path) -> None:
    forge = load_forge("generic", ForgeSettings(), LocalForgeHost(Repository.open(repo)))
    assert isinstance(forge, GenericForge)
