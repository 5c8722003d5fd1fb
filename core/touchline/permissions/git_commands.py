"""What a `git` command does: the subcommand behind git's own options, and options that change its meaning
(spec page 8, "no push, no git configuration, no history rewriting").

Only subcommands and options listed here count as known. Git takes any unique beginning of a long option, so
options are compared by prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from touchline.permissions.effects import READ, Effect, Kind, doubt
from touchline.permissions.words import Word, names

_READING = names(
    "status diff log show blame annotate grep ls-files ls-tree cat-file rev-parse rev-list describe shortlog"
    " name-rev merge-base for-each-ref show-ref show-branch count-objects check-ignore check-attr check-ref-format"
    " diff-tree diff-index diff-files whatchanged version fsck verify-commit verify-tag cherry range-diff"
    " get-tar-commit-id patch-id stripspace hash-object merge-tree help"
)
_FIXED: dict[str, Kind] = {
    **dict.fromkeys(
        names("push send-pack send-email http-push fetch pull fetch-pack ls-remote clone svn p4"), Kind.PUSH
    ),
    **dict.fromkeys(names("config credential init hook maintenance update-server-info"), Kind.CONFIGURE),
    **dict.fromkeys(
        names(
            "reset rebase filter-branch filter-repo replace update-ref gc prune repack pack-refs cherry-pick revert"
            " merge am fast-import commit-tree mktag write-tree notes bisect clean prune-packed unpack-objects"
            " submodule sparse-checkout refs history backfill"
        ),
        Kind.REWRITE,
    ),
    "switch": Kind.SWITCH,
    **dict.fromkeys(names("add rm mv stage update-index read-tree checkout-index"), Kind.INDEX),
}
_LISTING: dict[str, tuple[frozenset[str], frozenset[str], Kind]] = {
    # subcommand: words after it that only list, options that only list, what anything else does
    "remote": (frozenset({"get-url"}), frozenset({"-v", "--verbose"}), Kind.CONFIGURE),
    "worktree": (frozenset({"list"}), frozenset({"--porcelain", "-z"}), Kind.REWRITE),
    "stash": (frozenset({"list", "show"}), frozenset({"-p", "--stat", "--name-only"}), Kind.REWRITE),
    "reflog": (frozenset({"show"}), frozenset(), Kind.REWRITE),
    "symbolic-ref": (frozenset(), frozenset({"--short", "-q"}), Kind.REWRITE),
}
_BRANCH_LISTS = names(
    "-a -r -v -vv -l --all --remotes --list --show-current --verbose --no-color --merged --no-merged --contains"
    " --format --sort --points-at -i --ignore-case --column --no-column"
)
_LISTS_NAMES = names("-l --list --contains --no-contains --merged --no-merged --points-at --show-current")
_TAG_LISTS = names("-l -n --list --contains --merged --no-merged --points-at --sort --format --column")
_QUERY = frozenset(
    {"--get", "--get-all", "--get-regexp", "--list", "-l", "--show-origin", "--show-scope", "get", "list"}
)
_HARMLESS_KEYS = ("color.", "advice.", "core.quotepath", "diff.renames", "diff.renamelimit")
_PLAIN_FLAGS = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help", "-h"}
)
_RUNS_OR_WRITES = (
    "--output",
    "--open-files-in-pager",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--exec",
    "--upload-pack",
)
_COMMIT_REFUSED = ("--amend", "--no-verify", "--fixup", "--squash", "--author", "--date", "--reset-author", "--edit")


def describe_git(words: Sequence[Word]) -> tuple[Effect, ...]:
    """The effects of `git` with `words` behind it."""
    rest = list(words)
    folders: list[Word] = []
    while rest:
        word = rest[0].literal
        if word is None:
            return (doubt("the git subcommand is not known before the line runs"),)
        if not word.startswith("-"):
            break
        rest.pop(0)
        if word == "-C":
            if rest:
                folders.append(rest.pop(0))
        elif word == "-c":
            refused = _setting(rest.pop(0) if rest else Word(""))
            if refused is not None:
                return (refused,)
        elif word.startswith("--config-env"):
            return (Effect(Kind.CONFIGURE, "`git --config-env` sets configuration"),)
        elif word not in _PLAIN_FLAGS:
            return (doubt(f"git's option {word} changes where git works or what it runs"),)
    if not rest:
        return (READ,)
    name = rest[0].literal or ""
    arguments = rest[1:]
    effects = _subcommand(name, arguments)
    if folders:
        return (*effects, Effect(Kind.BUILD, "git works in another folder", tuple(folders)))
    return effects


def _setting(word: Word) -> Effect | None:
    key, _, value = word.text.partition("=")
    if word.literal is not None and (key.casefold().startswith(_HARMLESS_KEYS)):
        return None
    if word.literal is not None and key.casefold() == "core.pager" and value in ("", "cat"):
        return None
    return Effect(Kind.CONFIGURE, f"`git -c {key}` sets configuration")


def _subcommand(name: str, arguments: Sequence[Word]) -> tuple[Effect, ...]:
    texts = [word.text for word in arguments]
    if name in _FIXED:
        return _fixed(name, texts)
    if name in _READING:
        for word, text in zip(arguments, texts, strict=True):
            if word.literal is None and text.startswith("\0"):
                return (doubt(f"an argument of `git {name}` that may be an option is not known beforehand"),)
            opens = name == "grep" and not text.startswith("--") and text.startswith("-") and "O" in text
            if _is_option(text, _RUNS_OR_WRITES) or opens:
                return (doubt(f"`git {name} {text.partition('=')[0]}` runs a program or writes a file"),)
        if name == "hash-object" and any(text.startswith("-") and "w" in text for text in texts):
            return (Effect(Kind.REWRITE, "`git hash-object -w` writes an object"),)
        return (READ,)
    match name:
        case "commit":
            return _commit(arguments)
        case "checkout":
            return _checkout(arguments)
        case "restore":
            return _restore(arguments)
        case "apply":
            return _apply(texts)
        case "branch":
            return _listing(name, arguments, _BRANCH_LISTS)
        case "tag":
            return _listing(name, arguments, _TAG_LISTS)
    if name in _LISTING:
        words, options, otherwise = _LISTING[name]
        plain = [text for text in texts if not text.startswith("-")]
        known = all(word.literal is not None for word in arguments[:1])
        only_options = all(text in options for text in texts if text.startswith("-"))
        if name == "stash" and not texts:
            return (Effect(otherwise, "`git stash` moves changes away"),)
        if known and only_options and (not plain or plain[0] in words or (name == "symbolic-ref" and len(plain) == 1)):
            return (READ,)
        return (Effect(otherwise, f"`git {name}` with these arguments changes the repository"),)
    return (doubt(f"`git {name}` is no subcommand that the policy knows (it may be an alias)"),)


def _fixed(name: str, texts: Sequence[str]) -> tuple[Effect, ...]:
    if name == "config" and texts and texts[0] in _QUERY and not any("edit" in text for text in texts):
        return (READ,)
    if name == "config" and len(texts) == 2 and texts[0] in ("--local", "--global") and texts[1] in _QUERY:
        return (READ,)
    if name == "submodule" and texts[:1] == ["status"] and len(texts) == 1:
        return (READ,)
    if name == "notes" and texts[:1] in (["list"], ["show"]):
        return (READ,)
    return (Effect(_FIXED[name], f"`git {name}`"),)


def _commit(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    valued = False
    for word in arguments:
        text = word.text
        if valued:
            valued = False
            continue
        if word.splits or (word.literal is None and text.startswith(("-", "\0"))):
            return (doubt("an option of `git commit` is not known before the line runs"),)
        if text == "--":
            break
        if text in ("--message", "--file", "--trailer", "--template"):
            valued = True
        elif text.startswith("--"):
            if _is_option(text, _COMMIT_REFUSED):
                return (Effect(Kind.REWRITE, f"`git commit {text.partition('=')[0]}`"),)
        elif text.startswith("-") and len(text) > 1:
            letters = text[1:]
            for place, letter in enumerate(letters):
                if letter in "mFtCcS":
                    valued = place == len(letters) - 1 and letter != "S"
                    if letter in "cC":
                        return (Effect(Kind.REWRITE, f"`git commit -{letter}`"),)
                    break
                if letter in "ne":
                    return (Effect(Kind.REWRITE, f"`git commit -{letter}`"),)
    return (Effect(Kind.COMMIT, "`git commit`"),)


def _checkout(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    texts = [word.text for word in arguments]
    if texts[:1] == ["--"] and len(texts) > 1:
        return (Effect(Kind.WRITE, "`git checkout --` restores files", tuple(arguments[1:])),)
    return (Effect(Kind.SWITCH, "`git checkout` may switch the branch; to restore a file use `git checkout -- FILE`"),)


def _restore(arguments: Sequence[Word]) -> tuple[Effect, ...]:
    paths: list[Word] = []
    for place, word in enumerate(arguments):
        text = word.text
        if text == "--":
            paths.extend(arguments[place + 1 :])
            break
        if text in ("--worktree", "-W", "-q", "--quiet") or text.startswith("--source="):
            continue
        if text.startswith("-"):
            return (Effect(Kind.INDEX, f"`git restore {text}`"),)
        paths.append(word)
    return (Effect(Kind.WRITE, "`git restore`", tuple(paths)),)


def _apply(texts: Sequence[str]) -> tuple[Effect, ...]:
    known = ("--check", "--stat", "--numstat", "--summary", "-R", "--reverse", "-v", "--verbose", "--whitespace=fix")
    for text in texts:
        if text.startswith("-") and text not in known and not text.startswith(("-p", "--whitespace")):
            return (doubt(f"`git apply {text}` is not known to stay inside the work tree"),)
    return (Effect(Kind.WRITE, "`git apply`", (Word("."),)),)


def _listing(name: str, arguments: Sequence[Word], listing: frozenset[str]) -> tuple[Effect, ...]:
    """Reading if every option only lists, and names stand there only behind one that makes git list them."""
    texts = [word.text for word in arguments]
    if any(word.literal is None and not word.glob for word in arguments):
        return (doubt(f"the arguments of `git {name}` are not known before the line runs"),)
    options = [text.partition("=")[0] for text in texts if text.startswith("-")]
    names_listed = any(one in _LISTS_NAMES or (name == "tag" and one[:2] == "-n") for one in options)
    only_lists = all(one in listing or (name == "tag" and re.fullmatch(r"-n\d*", one)) for one in options)
    if only_lists and (names_listed or len(options) == len(texts)):
        return (READ,)
    return (Effect(Kind.REWRITE, f"`git {name}` with these arguments changes refs"),)


def _is_option(text: str, refused: Sequence[str]) -> bool:
    name = text.partition("=")[0]
    return len(name) > 2 and name.startswith("--") and any(full.startswith(name) for full in refused)
