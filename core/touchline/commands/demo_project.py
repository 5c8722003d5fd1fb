"""The small project that `touchline demo` works on: a plan, real tests, a short configuration.

The scripted player's script `demo` plays on it: its first attempt forgets accents, which two tests really catch.
"""

from __future__ import annotations

PLAN = """\
# Slugs for titles

Add `slugify(title)` to `src/slugify.py`: it turns a title into a short name for a URL.

1. Letters are lower case; runs of anything that is no letter or digit become one `-`, none at either end.
2. Accented letters lose their accent: `Crème brûlée` becomes `creme-brulee`.

The tests in `tests/` describe the same; they must pass and must not be changed.
"""

TESTS = """\
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from slugify import slugify


class SlugTest(unittest.TestCase):
    def test_words_are_joined_by_one_dash(self):
        self.assertEqual(slugify("Hello,  World!"), "hello-world")

    def test_nothing_stands_at_the_ends(self):
        self.assertEqual(slugify("  (draft) "), "draft")

    def test_accents_are_folded(self):
        self.assertEqual(slugify("Cr\\u00e8me br\\u00fbl\\u00e9e"), "creme-brulee")


if __name__ == "__main__":
    unittest.main()
"""

EXAMPLE = """\
\"\"\"Prints the slugs of two titles; exit status 1 when they are not what the plan says.\"\"\"

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from slugify import slugify

slugs = [slugify(title) for title in ("Release notes, 2nd edition", "Cr\u00e8me br\u00fbl\u00e9e!")]
print(*slugs)
sys.exit(slugs != ["release-notes-2nd-edition", "creme-brulee"])
"""

README = """\
# slugs

A library for short names. The plan for its first feature is in docs/plans/.
"""

CONFIG = """\
# Who plays in this example; a repository with a real agent CLI needs no such section.
executors:
  demo:
    driver: scripted
    script: demo
# A setup of your own is only needed where it cannot be detected.
tests:
  command: ["{python}", "-B", "-m", "unittest", "discover", "-s", "tests", "-v"]
"""

EXECUTOR = "demo"


def files(python: str, *, plan: str | None = None) -> dict[str, str]:
    """Path to content of every file of the project; `python` is the interpreter that its tests run with."""
    quoted = python.replace("\\", "\\\\").replace('"', '\\"')
    return {
        "README.md": README,
        "docs/plans/slugs.md": plan or PLAN,
        "tests/test_slugify.py": TESTS,
        "examples/titles.py": EXAMPLE,
        "touchline.yaml": CONFIG.format(python=quoted),
        ".gitignore": "__pycache__/\n",
    }
