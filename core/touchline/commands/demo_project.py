"""The small project that `touchline demo` works on: a plan, real tests, a real exerciser, a short configuration."""

from __future__ import annotations

PLAN = """\
# Slugs for titles

Add `slugify(title)` to `slugs.py`: it turns a title into a short name for a URL.

1. Letters are lower case; runs of anything that is no letter or digit become one `-`; none at either end.
2. Accented letters lose their accent: `Crème brûlée` becomes `creme-brulee`.
3. A title without any letter or digit is an error: `ValueError` with the title in its message.

The tests in `tests/` describe the same; they must pass and must not be changed.
"""

TESTS = """\
import unittest

from slugs import slugify


class SlugTest(unittest.TestCase):
    def test_words_are_joined_by_one_dash(self):
        self.assertEqual(slugify("Hello,  World!"), "hello-world")

    def test_nothing_stands_at_the_ends(self):
        self.assertEqual(slugify("  (draft) "), "draft")

    def test_accents_are_folded(self):
        self.assertEqual(slugify("Cr\\u00e8me br\\u00fbl\\u00e9e"), "creme-brulee")

    def test_an_empty_slug_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "!!!"):
            slugify("!!!")


if __name__ == "__main__":
    unittest.main()
"""

EXERCISE = """\
\"\"\"Uses the feature as a caller would; exit status 0 when it does what the plan says.\"\"\"

import sys

from slugs import slugify

got = [slugify(title) for title in ("Release notes, 2nd edition", "\\u00c0 la carte")]
print(got)
sys.exit(got != ["release-notes-2nd-edition", "a-la-carte"])
"""

README = """\
# slugs

A library for short names. The plan for its first feature is in docs/plans/.
"""

CONFIG = """\
# What this repository says about itself; everything else is touchline's default.
tests:
  command: {python} -m unittest discover --start-directory tests --top-level-directory .
exerciser:
  command: {python} exercise.py
"""


def files(python: str) -> dict[str, str]:
    """Path to content of every file of the project; `python` is the interpreter that its commands use."""
    return {
        "README.md": README,
        "docs/plans/slugs.md": PLAN,
        "tests/__init__.py": "",
        "tests/test_slugs.py": TESTS,
        "exercise.py": EXERCISE,
        "touchline.yaml": CONFIG.format(python=python),
        ".gitignore": "__pycache__/\n",
    }
