from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.verify.tamper_languages import LANGUAGES, extension, read_cases
from touchline.verify.tamper_python import read_python
from touchline.verify.tamper_tests import is_test_file, weakenings

PYTHON = """\
import pytest
def test_add():
    assert add(1, 2) == 3
    assert add(0, 0) == 0
class TestOther:
    def test_sub(self):
        self.assertEqual(sub(2, 1), 1)
"""


def seen(path: str, before: str, now: str) -> list[str]:
    return [one.mechanism for one in weakenings({path: (before, now)})]


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "a_test.py",
        "conftest.py",
        "sitecustomize.py",
        "pkg/thing_test.go",
        "src/a.test.ts",
        "src/a.spec.jsx",
        "__tests__/a.js",
        "src/test/java/ATest.java",
        "AppTests.swift",
        "spec/a_spec.rb",
        "a_test.exs",
        "test/a.bats",
        "src/lib.rs",
        "tests/helpers.py",
    ],
)
def test_files_of_tests_are_known_by_name_and_folder(path: str) -> None:
    assert is_test_file(path)


@pytest.mark.parametrize(
    "path", ["src/a.py", "testing.md", "tests/data.csv", "latest.js", "contest.py", "docs/spec.md"]
)
def test_other_files_are_no_tests(path: str) -> None:
    assert not is_test_file(path)


@pytest.mark.parametrize(
    ("old", "new", "mechanism"),
    [
        ("    assert add(0, 0) == 0\n", "", "assertions-removed"),
        ("assert add(0, 0) == 0", "assert add(0, 0) is not None", "assertions-changed"),
        ("assert add(1, 2) == 3", "assert add(1, 2) == 4", "assertions-changed"),
        ("assert add(0, 0) == 0", "assert True", "assertions-removed tests-without-force"),
        ("assert add(0, 0) == 0", "assert add(0, 0) == 0 or True", "assertions-removed tests-without-force"),
        ("self.assertEqual(sub(2, 1), 1)", "self.assertTrue(True)", "assertions-removed tests-without-force"),
        ("self.assertEqual(sub(2, 1), 1)", "pass", "assertions-removed"),
        ("def test_add", "@pytest.mark.skip\ndef test_add", "tests-skipped"),
        ("def test_add", "@pytest.mark.xfail(strict=False)\ndef test_add", "tests-skipped"),
        ("class TestOther", "@unittest.skipIf(True, '')\nclass TestOther", "tests-skipped"),
        ("def test_add():\n", "def test_add():\n    pytest.skip('later')\n", "tests-skipped"),
        ("import pytest\n", "import pytest\npytestmark = pytest.mark.skip\n", "tests-skipped"),
        ("import pytest\n", "import pytest\npytest.importorskip('absent')\n", "tests-skipped"),
        ("import pytest\n", "import pytest\n__test__ = False\n", "tests-skipped"),
        ("def test_add():\n", "def test_add():\n    return\n", "tests-without-force"),
        ("def test_add", "def check_add", "tests-deleted"),
        ("import pytest\n", "import pytest, os\nos._exit(0)\n", "test-run-interference"),
        ("import pytest\n", "import pytest, sys\nsys.exit(0)\n", "test-run-interference"),
        ("import pytest\n", "import pytest, sys\nsys.exit()\n", "test-run-interference"),
        ("import pytest\n", "import pytest\nunittest.TestCase.run = lambda *a: None\n", "test-run-interference"),
        ("import pytest\n", "import pytest\ndef pytest_runtest_makereport(item): pass\n", "test-run-interference"),
        ("import pytest\n", "import pytest\nsession.exitstatus = 0\n", "test-run-interference"),
    ],
)
def test_what_takes_the_force_from_python_tests_is_seen(old: str, new: str, mechanism: str) -> None:
    assert old in PYTHON
    assert seen("tests/test_a.py", PYTHON, PYTHON.replace(old, new, 1)) == mechanism.split()


def test_swallowed_failures_are_seen() -> None:
    swallowed = "def test_add():\n    try:\n        assert add(1, 2) == 3\n    except AssertionError:\n        pass\n"
    assert seen("test_a.py", "def test_add():\n    assert add(1, 2) == 3\n", swallowed) == ["tests-without-force"]
    reported = swallowed.replace("pass", "raise")
    assert seen("test_a.py", "def test_add():\n    assert add(1, 2) == 3\n", reported) == []


def test_fewer_parameter_sets_are_seen() -> None:
    before = "@pytest.mark.parametrize('a', [1, 2, 3])\ndef test_a(a):\n    assert f(a)\n"
    assert seen("test_a.py", before, before.replace("1, 2, 3", "1")) == ["assertions-removed"]
    assert seen("test_a.py", before, before.replace("1, 2, 3", "1, 2, 3, 4")) == []


@pytest.mark.parametrize(
    "now",
    [
        PYTHON,
        PYTHON + "def test_more():\n    assert add(5, 5) == 10\n",
        PYTHON.replace("assert add(0, 0) == 0", "assert add(0, 0) == 0, 'zero'\n    assert add(9, 9) == 18"),
        PYTHON.replace("assert add(1, 2) == 3", "assert (add(1,  2)) == 3"),
        PYTHON.replace("def test_add", "# a comment\ndef test_add"),
        PYTHON.replace("def test_add", "def test_addition"),
        PYTHON + "import sys\ndef main():\n    sys.exit(run())\n",
        PYTHON + 'if __name__ == "__main__":\n    import sys\n    sys.exit(pytest.main())\n',
    ],
)
def test_more_reworded_or_renamed_tests_are_no_weakening(now: str) -> None:
    assert seen("tests/test_a.py", PYTHON, now) == []


def test_a_test_that_moves_to_another_file_is_not_deleted() -> None:
    moved = {"tests/test_a.py": (PYTHON, ""), "tests/test_b.py": ("", PYTHON)}
    assert weakenings(moved) == []
    weaker = {"tests/test_a.py": (PYTHON, ""), "tests/test_b.py": ("", PYTHON.replace(" == 0", ""))}
    assert [one.mechanism for one in weakenings(weaker)] == ["assertions-changed"]


def test_a_deleted_file_of_tests_names_what_is_gone() -> None:
    (found,) = weakenings({"tests/test_a.py": (PYTHON, "")})
    assert (found.mechanism, found.what) == ("tests-deleted", "a file of tests was deleted: tests/test_a.py")
    assert found.evidence.split("\n") == ["test_add", "TestOther.test_sub"]


OTHERS = {
    "a.test.ts": (
        "it('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n"
        "it('subs', () => {\n  expect(sub(2, 1)).toBe(1);\n});\n",
        "it('adds'",
        "it.skip('adds'",
        "  expect(sub(2, 1)).toBe(1);\n",
        "it('subs'",
    ),
    "a_test.go": (
        'func TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal("no")\n\t}\n}\n'
        "func TestSub(t *testing.T) {\n\trequire.Equal(t, 1, sub(2, 1))\n}\n",
        "(t *testing.T) {\n\tif",
        '(t *testing.T) {\n\tt.Skip("later")\n\tif',
        "\trequire.Equal(t, 1, sub(2, 1))\n",
        "func TestSub",
    ),
    "src/lib.rs": (
        "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
        "#[test]\nfn subs() {\n    assert!(sub(2, 1) == 1);\n}\n",
        "#[test]\nfn adds",
        "#[test]\n#[ignore]\nfn adds",
        "    assert!(sub(2, 1) == 1);\n",
        "fn subs",
    ),
    "ATest.java": (
        "class ATest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n"
        "  @Test\n  void subs() {\n    assertEquals(1, sub(2, 1));\n  }\n}\n",
        "  @Test\n  void adds",
        "  @Disabled\n  @Test\n  void adds",
        "    assertEquals(1, sub(2, 1));\n",
        "void subs",
    ),
    "a_spec.rb": (
        "it 'adds' do\n  expect(add(1, 2)).to eq 3\nend\nit 'subs' do\n  expect(sub(2, 1)).to eq 1\nend\n",
        "it 'adds'",
        "xit 'adds'",
        "  expect(sub(2, 1)).to eq 1\n",
        "it 'subs'",
    ),
    "ATest.php": (
        "function testAdds() {\n  $this->assertSame(3, add(1, 2));\n}\n"
        "function testSubs() {\n  $this->assertSame(1, sub(2, 1));\n}\n",
        "function testAdds() {\n",
        "function testAdds() {\n  $this->markTestSkipped();\n",
        "  $this->assertSame(1, sub(2, 1));\n",
        "function testSubs",
    ),
    "ATests.cs": (
        "[Fact]\npublic void Adds() {\n  Assert.Equal(3, Add(1, 2));\n}\n"
        "[Fact]\npublic void Subs() {\n  Assert.Equal(1, Sub(2, 1));\n}\n",
        "[Fact]\npublic void Adds",
        '[Fact(Skip = "x")]\npublic void Adds',
        "  Assert.Equal(1, Sub(2, 1));\n",
        "void Subs",
    ),
    "ATests.swift": (
        "func testAdds() {\n  XCTAssertEqual(3, add(1, 2))\n}\nfunc testSubs() {\n  XCTAssertEqual(1, sub(2, 1))\n}\n",
        "func testAdds() {\n",
        'func testAdds() throws {\n  throw XCTSkip("x")\n',
        "  XCTAssertEqual(1, sub(2, 1))\n",
        "func testSubs",
    ),
    "a_test.exs": (
        'test "adds" do\n  assert add(1, 2) == 3\nend\ntest "subs" do\n  assert sub(2, 1) == 1\nend\n',
        'test "adds"',
        '@tag :skip\ntest "adds"',
        "  assert sub(2, 1) == 1\n",
        'test "subs"',
    ),
    "a_test.dart": (
        "test('adds', () {\n  expect(add(1, 2), 3);\n});\ntest('subs', () {\n  expect(sub(2, 1), 1);\n});\n",
        "expect(add(1, 2), 3);\n}",
        "expect(add(1, 2), 3);\n}, skip: true",
        "  expect(sub(2, 1), 1);\n",
        "test('subs'",
    ),
    "a_test.cc": (
        "TEST(Calc, Adds) {\n  EXPECT_EQ(add(1, 2), 3);\n}\nTEST(Calc, Subs) {\n  EXPECT_EQ(sub(2, 1), 1);\n}\n",
        "TEST(Calc, Adds) {\n",
        "TEST(Calc, Adds) {\n  GTEST_SKIP();\n",
        "  EXPECT_EQ(sub(2, 1), 1);\n",
        "TEST(Calc, Subs)",
    ),
    "tests/a.bats": (
        '@test "adds" {\n  [ "$(add 1 2)" = 3 ]\n}\n@test "subs" {\n  [ "$(sub 2 1)" = 1 ]\n}\n',
        '@test "adds" {\n',
        '@test "adds" {\n  skip later\n',
        '  [ "$(sub 2 1)" = 1 ]\n',
        '@test "subs"',
    ),
}


@pytest.mark.parametrize("path", OTHERS)
def test_other_languages_skips_removed_assertions_and_deleted_tests_are_seen(path: str) -> None:
    before, plain, skipped, assertion, second = OTHERS[path]
    assert plain in before
    assert assertion in before
    assert is_test_file(path)
    assert seen(path, before, before) == []
    assert seen(path, before, before.replace(plain, skipped)) == ["tests-skipped"]
    assert seen(path, before, before.replace(assertion, "")) == ["assertions-removed"]
    assert "tests-deleted" in seen(path, before, before[: before.index(second)])
    assert seen(path, before, before + before.replace("dds", "dds2").replace("ubs", "ubs2")) == []


def test_a_commented_out_assertion_is_a_removed_one() -> None:
    before = OTHERS["a.test.ts"][0]
    assert seen("a.test.ts", before, before.replace("  expect(sub", "  // expect(sub")) == ["assertions-removed"]


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    read_python(text)
    for language in LANGUAGES.values():
        read_cases(text, language)
    assert "/" not in extension(text)


def test_python_too_deep_for_a_parser_is_read_by_its_lines() -> None:
    deep = "def test_a():\n    assert f() == 1\nx = " + "(" * 5000 + ")" * 5000 + "\n"
    assert [*read_python(deep).by_name] == ["test_a"]
