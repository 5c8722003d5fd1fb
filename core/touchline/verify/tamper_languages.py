"""How tests look in languages other than Python: where one begins, what asserts, what skips (spec page 5). Pure.

Heuristics over text: a comment is not code, a test lasts until the next one begins. What they miss is for the judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_WORDS = 200
"""Code points kept of one line of a test."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its assertions as normalised text, what switches it off, and what takes the force from it."""

    name: str
    assertions: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    """Assertions that cannot fail, swallowed failures, an end before the end."""
    runs: int = 1
    """How often it runs: the number of its parameter sets, where the text tells."""


@dataclass(frozen=True, slots=True)
class Cases:
    """The tests of one file; `skips` and `meddling` are of the file as a whole."""

    by_name: dict[str, Case] = field(default_factory=dict)
    skips: tuple[str, ...] = ()
    meddling: tuple[str, ...] = ()
    """Lines that end the test run, or change how it is judged."""


@dataclass(frozen=True, slots=True)
class Language:
    """Patterns of one language; `start` names the test in its first group that matched."""

    start: re.Pattern[str]
    asserts: re.Pattern[str]
    skips: re.Pattern[str]
    meddles: re.Pattern[str]
    comment: str = "//"


def _language(start: str, asserts: str, skips: str, meddles: str, comment: str = "//") -> Language:
    many = re.MULTILINE
    return Language(re.compile(start, many), re.compile(asserts), re.compile(skips, many), re.compile(meddles), comment)


_QUOTED = r"(?:'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|`([^`\n]{1,200})`)"
_TRIVIAL = re.compile(
    r"expect\(\s*(true|1)\s*\)\s*\.\s*(?:toBe|toEqual|toStrictEqual)\(\s*\1\s*\)|"
    r"expect\(\s*true\s*\)\s*\.\s*toBeTruthy\(|assert(?:True|That)?!?\(\s*true\s*\)|assert_eq!\(\s*(\w+)\s*,\s*\2\s*\)|"
    r"assert(?:Equals|Same)?\(\s*(\w+)\s*,\s*\3\s*\)|Assert\.(?:True|IsTrue)\(\s*true\s*\)|EXPECT_TRUE\(\s*true\s*\)"
)
_NEVER = r"(?!)"

_JAVASCRIPT = _language(
    rf"\b[xf]?(?:it|test|specify)(?:\.\w+)*(?:\([^()\n]{{0,200}}\))?\(\s*{_QUOTED}",
    r"\b(?:expect|assert\w*)\b\s*[.(]|\.should\b",
    r"\b(?:x(?:it|describe|test|specify|context)|f(?:it|describe))\s*\(|"
    r"\b(?:it|test|describe|context|suite|specify)\.(?:skip|only|todo|fails|failing)\b|\bthis\.skip\(",
    r"\bprocess\.(?:exit|reallyExit|kill)\s*\(|\bprocess\.exitCode\s*=|"
    r"(?:global|globalThis|window)\.(?:expect|it|test|describe)\s*=",
)
_JVM = _language(
    r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b[\s\S]{0,600}?"
    r"\b(?:void|fun|def)\s+(?:<[^>\n]*>\s*)?`?([\w ]+)",
    r"\bassert\w*\b|\bfail\(|\bverify\(|\bshould\w*\b|\bexpect\w*\(",
    r"@(?:Disabled|Ignore)\w*|\bassum(?:e|ing)\w*\(|enabled\s*=\s*false",
    r"\bSystem\.exit\(|\bexitProcess\(|Runtime\.getRuntime\(\)\.halt",
)

LANGUAGES: dict[str, Language] = {
    **dict.fromkeys(("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue"), _JAVASCRIPT),
    **dict.fromkeys(("java", "kt", "kts", "scala", "groovy"), _JVM),
    "go": _language(
        r"^func\s+((?:Test|Fuzz|Example)\w*)\s*\(",
        r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is)\.\w+\(|// Output:",
        r"\b\w+\.Skip(?:f|Now)?\(|\btesting\.Short\(\)|^//go:build\s+ignore|^// \+build\s+ignore",
        r"\bos\.Exit\(\s*0\s*\)|\bsyscall\.Exit\(",
    ),
    "rs": _language(
        r"#\[(?:\w+::)*(?:test|rstest)\b[\s\S]{0,400}?\bfn\s+(\w+)",
        r"\b(?:debug_)?assert\w*!|\bpanic!\(|\bshould_panic\b|\bunreachable!",
        r"#\[ignore|#\[cfg\(any\(\)\)\]",
        r"\bprocess::(?:exit|abort)\(",
    ),
    "cs": _language(
        r"\[(?:Test|TestMethod|Fact|Theory|TestCase)\b[\s\S]{0,600}?\b(?:void|Task)\s+(\w+)\s*\(",
        r"\bAssert\.\w+|\.Should\w*\(",
        r"\[Ignore|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive)",
        r"\bEnvironment\.(?:Exit|FailFast|ExitCode)\b",
    ),
    "rb": _language(
        rf"^\s*[xf]?(?:it|specify|example|test)\s*\(?\s*{_QUOTED}|^\s*def\s+(test_\w+)",
        r"\bexpect\b|\bassert\w*\b|\brefute\w*\b|\.should\b|\b(?:must|wont)_\w+",
        r"^\s*x(?:it|describe|context|specify)\b|^\s*(?:skip|pending)\b|,\s*(?:skip|pending|focus):|:skip\b",
        r"\bexit!?\b|\babort\b",
        "#",
    ),
    "php": _language(
        rf"\bfunction\s+(test\w+)\s*\(|^\s*(?:it|test)\(\s*{_QUOTED}",
        r"(?:->|::)assert\w+|\bexpectException|\bexpect\(",
        r"markTest(?:Skipped|Incomplete)|->(?:skip|only|todo)\(",
        r"\b(?:exit|die)\s*[;(]",
    ),
    "swift": _language(
        r"\bfunc\s+(test\w+)\s*\(|@Test\b[\s\S]{0,200}?\bfunc\s+(\w+)",
        r"\bXCT(?:Assert\w*|Fail|Unwrap)\b|#(?:expect|require)\b",
        r"\bXCTSkip\w*|\.disabled\(",
        r"\bexit\(\s*0\s*\)",
    ),
    "exs": _language(
        r"^\s*test\s+\"([^\"\n]{1,200})\"",
        r"\b(?:assert|refute)\w*\b",
        r"@(?:module|describe)?tag\s+:?skip|@moduletag\s+:skip",
        r"\bSystem\.halt\(",
        "#",
    ),
    "dart": _language(
        rf"\btest(?:Widgets)?\(\s*{_QUOTED}", r"\bexpect\w*\(", r"\bskip:\s*|\bsolo:\s*true|@Skip\(", r"\bexit\(\s*0"
    ),
    **dict.fromkeys(
        ("c", "cc", "cpp", "cxx"),
        _language(
            r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE)\s*\(\s*([^)\n]{1,200})\)",
            r"\b(?:EXPECT|ASSERT|CHECK|REQUIRE|BOOST)(?:_\w+)?\s*\(|\bassert\(",
            r"\bGTEST_SKIP\b|\bDISABLED_|\[\.\]|\[!mayfail\]|\bSKIP\(",
            r"\b_?[eE]xit\(\s*(?:0|EXIT_SUCCESS)\s*\)",
        ),
    ),
    **dict.fromkeys(
        ("bats", "sh"),
        _language(
            r"^@test\s+\"([^\"\n]{1,200})\"|^(test_\w+)\s*\(\)",
            r"(?<!\w)\[\[?\s|\bassert\w*\b|\brefute\w*\b|\btest\s",
            r"^\s*skip\b",
            r"^\s*exit\s+0\b|\|\|\s*true\b",
            "#",
        ),
    ),
    # Python that does not parse; what does is read by `tamper_python`.
    "py": _language(
        r"^\s*(?:async\s+)?def\s+(test\w*)\s*\(",
        r"^\s*assert\b|\bassert\w+\(|\b(?:raises|warns)\(",
        r"@(?:\w+\.)*(?:skip\w*|xfail|expectedFailure)\b|\b(?:skip|skipTest|xfail|importorskip)\(",
        r"\b(?:os\._exit|sys\.exit|pytest\.exit)\(",
        "#",
    ),
}
"""By file extension."""


def extension(path: str) -> str:
    """The part of the file name after its last dot, in lower case."""
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def read_cases(text: str, language: Language) -> Cases:
    """The tests in `text`."""
    code = _without_comments(text, language.comment)
    starts = list(language.start.finditer(code))
    ends = [*(match.start() for match in starts[1:]), len(code)]
    found: dict[str, Case] = {}
    for match, end in zip(starts, ends, strict=False):  # without a test there is one end too many
        name = next((group for group in match.groups() if group), "").strip()
        lines = [shortened(line) for line in code[match.start() : end].split("\n")]
        told = [line for line in lines if language.asserts.search(line)]
        weak = tuple(line for line in told if _TRIVIAL.search(line))
        real = tuple(line for line in told if line not in weak)
        case = Case(name, assertions=real, weak=weak)
        known = found.get(name)
        if known is not None:  # two of one name count as one with both bodies
            case = Case(name, assertions=known.assertions + real, weak=known.weak + weak, runs=known.runs + 1)
        found[name] = case
    return Cases(
        found,
        # Build tags that switch a file off are comments.
        skips=_matching(language.skips, text if language.comment == "//" else code),
        meddling=_matching(language.meddles, code),
    )


def shortened(text: str) -> str:
    """One line of code with its white space folded, bounded."""
    return " ".join(text.split())[:MAX_WORDS]


def _matching(pattern: re.Pattern[str], code: str) -> tuple[str, ...]:
    # Line by line: a pattern for the beginning of a line must not see the middle of one.
    return tuple(shortened(line) for line in code.split("\n") if pattern.search(line))


def _without_comments(text: str, comment: str) -> str:
    if comment == "#":
        return re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"/\*[\s\S]*?\*/", "", text)
    return re.sub(r"(?<![:\"'`/])//(?! Output:).*$", "", text, flags=re.MULTILINE)
