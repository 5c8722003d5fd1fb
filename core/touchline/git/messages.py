"""Commit messages from what a player says it did (spec page 5, "one semantic commit for each turn"). Pure.

A message says what the code now does. It never mentions turns, finding ids or review, closes no issue, mentions
nobody, skips no CI, and holds no control character, whatever the text was. A sentence that cannot do without is
left out; if nothing remains, the changed paths make the subject.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from touchline.git.quoting import quote_path

MAX_SUBJECT = 72
MAX_BODY = 2000
_MAX_INPUT = 20_000
_MAX_LINE = 1000

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.DOTALL)
_URL_OF_ISSUE = r"https?://\S+/(?:issues?|pull|pulls|merge_requests|work_items)/\d+\S*"
_TRAILER = re.compile(
    r"""(?ix)
    ^\s* (?: signed-off | co-authored | reviewed | acked | tested | reported | helped | suggested | approved )-by \s* :
    | ^\s* (?: change-id | skip-checks ) \s* :
    | ^\s* (?: [a-z][a-z-]{0,40}-by | (?:co-?)?author | link | refs? | references | see | issues? | cc | to | pr | mr
             | ticket | bug(?:zilla)? | close[sd]? | fix(?:e[sd])? | resolve[sd]? | implement(?:s|ed)? )
      \s* : (?= \s*(?:\S+\s*)?[<\#!@] | \s*https?:// | \s*\d )
    """
)
_SKIP_CI = re.compile(
    r"""(?ix)
    \[ [^\]\n]{0,40} \bskip\b [^\]\n]{0,40} \]
    | \[ (?:no|skip|disable)[ _-]?\w{0,20}[ _-]?(?:ci|actions?|checks?|pipelines?|builds?) [^\]\n]{0,20} \]
    | \[ ci[ _-]?(?:skip|no|off) [^\]\n]{0,20} \]
    | \*{3} \s* no_?ci \s* \*{3}
    | \b skip-checks \s* [:=] \s* true \b
    | \b ci[._](?:skip|variable) \b
    """
)
_ISSUE = rf"(?:(?:[\w.-]+/)*[\w.-]*[#!]\d+|\bgh-\d+|{_URL_OF_ISSUE}|(?:issue|bug|ticket)s?\s+[#]?\d+|\d+)"
_CLOSING_VERB = (
    r"(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?|address(?:es|ed|ing)?"
    r"|refs?|see|part of|for)"
)
_CLOSING = re.compile(rf"(?i)[\s,;(\[]*\b{_CLOSING_VERB}\b\s*:?\s*{_ISSUE}(?:\s*(?:,|and|&)\s*{_ISSUE})*[)\]]*")
_REFERENCE = re.compile(rf"(?i)(?:\b[\w.-]+(?:/[\w.-]+)+|\b[\w-]+)?[#!]\d+\b|\bgh-\d+\b|{_URL_OF_ISSUE}")
_ID = r"\b(?:F|Q|G|C|CI|VI|RI)-\d+\b"
_FINDING = re.compile(
    r"(?i)[\s,;]*(?:\b(?:fix(?:e[sd]|ing)?|address(?:es|ed|ing)?|resolv(?:e[sd]?|ing)|clos(?:e[sd]?|ing)"
    r"|handl(?:e[sd]?|ing)|for|per|as per|see|from|of)\s+)?(?:\b(?:finding|item|issue|gate|blocker)s?\s+)?"
    rf"[(\[]*{_ID}(?:\s*(?:,|/|and|&)\s*{_ID})*[)\]]*\s*[:,]?"
)
_PROCESS = (
    r"\b(?:turns?[ #-]*\d+|(?:this|that)[ -]turn\b|(?:last|previous|earlier|player(?:'s)?)[ -]turns?"
    r"|turns?\s+(?:budget|limit)|(?:first|second|third|final|next)[ -]turn|re-?review\w*|review\w*"
    r"|(?:verification|coach(?:'s)?|judge(?:'s)?|the|your|this|all|numbered)\s+feedback|feedback\s+(?:items?|file|rounds?)"
    r"|(?:blocking|open|failed|numbered)\s+(?:items?|findings?|gates?)|(?:the|these|all|verification)\s+findings?"
    r"|findings?\s+\d+|(?:address(?:es|ed)?|fix(?:es|ed)?)\s+(?:all\s+)?(?:the\s+)?items?\b|items?\s+\d+"
    r"|player(?:'s)?\s+report|touchline|verif(?:ication|y)\s+runs?|severity\s+\d+|round\s+\d+)"
)
_IS_ID = re.compile(rf"(?i){_ID}")
_IS_PROCESS = re.compile(rf"(?i){_PROCESS}")
_JOINT = (
    r"\b(?:as|per|after|following|from|in|during|on|for|since|because(?:\s+of)?|based\s+on|to\s+address|addressing"
    r"|according\s+to|which|that|by|and)\b"
)
_CLAUSE = re.compile(rf"(?i)[\s,;:(\[–—-]*{_JOINT}(?:(?!{_JOINT})[^.!?\n])*?{_PROCESS}[^.!?\n]*")
_PREFIX = re.compile(
    r"""(?ix)
    ^ (?: (?:fixup|squash|amend|wip)[!:]\s* | (?:summary|done|changes?|commit(?:\ message)?)\s*:\s*
        | (?: \#{1,6} | [-*+•] | \d+[.)] )\s+ | >+\s* )+
    """
)
_FIRST_PERSON = re.compile(r"^(?:I|We)(?: have|'ve)? (?=[a-z])")
_TRIVIAL = re.compile(
    r"""(?ix)
    [\s\#*_>-]* (?: (?:all\ )?(?:done|ok(?:ay)?|fixed|finished|completed?|implemented) | summary | changes?(?:\ made)?
    | updates? | wip | it\ works | task\ (?:is\ )?(?:done|complete) | as\ (?:requested|planned|asked)
    | implement(?:s|ed)?\ (?:the\ )?(?:whole\ |entire\ )?plan(?:\ as\ (?:described|written))? ) [\s.!:*_]*
    """
)
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`(\[])")


def clean_message(text: str, *, paths: Sequence[str] = ()) -> str:
    """The commit message for a player's summary `text`: a subject, and a body if more was said. Never empty."""
    lines = [_clean_line(line) for line in _plain(text).split("\n")]
    subject = ""
    body: list[str] = []
    for line in lines:
        if not subject:
            subject = line if line and not _TRIVIAL.fullmatch(line) else ""
        else:
            body.append(line)
    if not subject:
        return _from_paths(paths)
    subject, rest = _split_subject(_inert(_as_subject(subject)))
    if not subject or _offends(subject):
        return _from_paths(paths)
    body = [rest, *body] if rest else body
    said = re.sub(r"\n{3,}", "\n\n", "\n".join(_body_line(line) for line in body)).strip()
    return f"{subject}\n\n{_cut(said, MAX_BODY)}\n" if said else f"{subject}\n"


def message_digest(message: str) -> str:
    """What a ledger keeps of a message, to know its commit again."""
    return hashlib.sha256(message.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(text: str) -> str:
    """`text` without escapes, control characters and invisible marks."""
    text = _ANSI.sub("", text[:_MAX_INPUT].replace("\r\n", "\n").replace("\r", "\n"))
    text = unicodedata.normalize("NFC", text.replace("\t", " "))
    kept = (
        letter
        for letter in text
        if letter == "\n" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    return "".join("\n" if letter in "\u2028\u2029" else letter for letter in kept)


def _clean_line(line: str) -> str:
    """A line without what no message mentions."""
    line = line[:_MAX_LINE]
    if _TRAILER.search(line):
        return ""
    line = _SKIP_CI.sub(" ", line)
    kept = []
    for sentence in _SENTENCE.split(line):
        sentence = _REFERENCE.sub(" ", _CLOSING.sub(" ", sentence))
        sentence = _FINDING.sub(" ", sentence)
        if _IS_PROCESS.search(sentence):
            sentence = _CLAUSE.sub("", sentence)
        if not _IS_PROCESS.search(sentence) and re.search(r"\w", sentence):
            kept.append(_tidy(sentence))
    return " ".join(kept).strip()


def _tidy(text: str) -> str:
    text = re.sub(r"[(\[]\s*[)\]]", " ", text)
    text = re.sub(r"\s+([,.;:!?)\]])", r"\1", re.sub(r" {2,}", " ", text))
    text = text.strip(" ,;:–—")
    return re.sub(r"(?i)(?:[\s,;]+(?:and|or))+$|^(?:(?:and|or)[\s,;]+)+", "", text).strip()


def _inert(line: str) -> str:
    """A line that no forge reads anything into: nobody is mentioned, nothing is referred to."""
    while True:
        before = line
        line = re.sub(r"(?<![A-Za-z0-9_])@+(?=\w)", "", line)
        line = re.sub(r"[#!](?=\d)|#(?=\w)", "", line)
        line = _SKIP_CI.sub(" ", line)
        line = re.sub(r" {2,}", " ", line).strip()
        if line == before:
            return line


def _body_line(line: str) -> str:
    line = _inert(line)
    # What one step took out can leave a new word behind.
    return "" if _offends(line) or _TRAILER.search(line) else line


def _offends(line: str) -> bool:
    return any(pattern.search(line) for pattern in (_IS_PROCESS, _IS_ID, _REFERENCE, _SKIP_CI))


def _as_subject(line: str) -> str:
    line = _FIRST_PERSON.sub("", _PREFIX.sub("", line)).strip().strip("*_ ")
    return line[:1].upper() + line[1:] if not re.match(r"[a-z]+(?:\([^)]*\))?!?: ", line) else line


def _split_subject(line: str) -> tuple[str, str]:
    """The first sentence, at most `MAX_SUBJECT` long, and what is left for the body."""
    first, _, rest = line.partition(". ")
    first = first.rstrip(" .,;:")
    if len(first) <= MAX_SUBJECT:
        return first, rest.strip()
    return _cut(first, MAX_SUBJECT), line.strip()


def _cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, cut after a word."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    words = head.rsplit(None, 1)[0] if " " in head else head
    return (words if len(words) > limit // 2 else head).rstrip(" ,;:.-") + "…"


def _from_paths(paths: Sequence[str]) -> str:
    names = [_inert(_plain(quote_path(path)).replace("\n", " ")) for path in sorted(set(paths))]
    names = [name for name in names if name]
    if not names:
        return "Update the implementation\n"
    if len(names) <= 2:
        subject = f"Update {' and '.join(names)}"
        if len(subject) <= MAX_SUBJECT:
            return f"{subject}\n"
    tops = {name.rpartition("/")[0] for name in names}
    where = f" in {tops.pop()}" if len(tops) == 1 and "" not in tops else ""
    count = f"{len(names)} files" if len(names) > 1 else "one file"
    subject = f"Update {count}{where}"
    return f"{subject if len(subject) <= MAX_SUBJECT else f'Update {count}'}\n"
