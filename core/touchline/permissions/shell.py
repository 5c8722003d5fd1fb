"""From a shell command line to the simple commands it may run, or `Unparsable` (spec page 8, "matched on the
parsed command").

Every program that bash could start from the line must stand in the answer: in lists, pipes, subshells, loops,
functions, substitutions and here-documents. tree-sitter reads the line; where its grammar is known to read
otherwise than bash does, or where a node is none of those listed here, the line counts as unparsable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from touchline.permissions.heredocs import check_heredocs
from touchline.permissions.words import HOLE, UnknownShapeError, Word, names, read_word, read_words, source

MAX_LINE = 24_000
"""Code points; a longer line is not read at all, so its parsing time stays bounded."""

MAX_DEPTH = 120
_SPARE_STEPS = 100
_BYTES_PER_STEP = 20
_MAX_OPEN = 150
_MAX_BRACKETS = 3_000

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_HIDDEN_SUBSTITUTION = re.compile(r"`|[$<>]\(|\$\{")
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_STATEMENTS = names(
    "program list pipeline redirected_statement if_statement elif_clause else_clause while_statement do_group"
    " for_statement c_style_for_statement case_statement case_item compound_statement subshell negated_command"
    " variable_assignments test_command unary_expression binary_expression postfix_expression"
    " parenthesized_expression ternary_expression arithmetic_expansion concatenation string expansion"
    " simple_expansion command_substitution process_substitution subscript array command_name"
    " variable_assignment file_redirect heredoc_redirect herestring_redirect heredoc_body number"
)
_LEAVES = names(
    "word number string_content raw_string ansi_c_string translated_string variable_name special_variable_name"
    " heredoc_start heredoc_content heredoc_end file_descriptor test_operator brace_expression comment"
    " extglob_pattern regex"
)
_LOOPS = frozenset({"while_statement", "for_statement", "c_style_for_statement", "function_definition"})
_ARGUMENTS = names(
    "word number string raw_string ansi_c_string translated_string concatenation simple_expansion expansion"
    " command_substitution process_substitution arithmetic_expansion brace_expression $ variable_name"
)
_ONE_LINE = names(
    "command declaration_command unset_command file_redirect redirected_statement variable_assignments"
    " variable_assignment concatenation command_name"
)
"""Nodes that a bare line break ends in bash."""
_LATE_PROGRAMS = frozenset({"let", "test", "[", "read", "printf", "unset", "wait", "mapfile", "readarray", "getopts"})


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection to or from a file."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether the shell opens the target for writing."""
        return self.operator in _WRITES


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program with its words; `words` is empty for assignments or redirects alone.

    `where` tells a reader how the command was reached; `repeated` is set inside loops and functions, where
    it may run several times or not in the written order.
    """

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    where: str = ""
    repeated: bool = False

    @property
    def program(self) -> str | None:
        """The program word exactly as written, or None if it is unknown."""
        return self.words[0].literal if self.words else None


@dataclass(frozen=True, slots=True)
class Parsed:
    """All simple commands of a line, in the order of the text, and the functions it defines before use."""

    commands: tuple[SimpleCommand, ...]
    functions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unparsable:
    """The line cannot be told apart with certainty; it is never allowed by rules alone."""

    reason: str


def parse(line: str) -> Parsed | Unparsable:
    """The simple commands of `line`. Never raises, whatever the text."""
    if len(line) > MAX_LINE:
        return Unparsable(f"the command line is longer than {MAX_LINE} characters")
    if control := _CONTROL.search(line):
        return Unparsable(f"the command line holds the control character U+{ord(control[0]):04X}")
    if _opens_too_much(line):
        return Unparsable("the command line is nested too deeply")
    if _glues_words(line):
        return Unparsable("a line break inside a word")
    root = _tree(line.encode())
    if root is None or root.has_error:
        return Unparsable("the command line is not plain bash")
    reader = _Reader(line.encode())
    try:
        check_heredocs(root, line)
        reader.walk(root, "", repeated=False, depth=0)
        reader.finish()
    except UnknownShapeError as problem:
        return Unparsable(str(problem))
    return Parsed(tuple(reader.commands), frozenset(reader.functions))


def _opens_too_much(line: str) -> bool:
    """A cheap bound on nesting before the grammar, whose repair of broken text takes quadratic time."""
    depth = 0
    brackets = re.findall(r"[()]", line)
    if len(brackets) > 2 * _MAX_BRACKETS:
        return True
    for bracket in brackets:
        depth = depth + 1 if bracket == "(" else max(depth - 1, 0)
        if depth > _MAX_OPEN:
            return True
    return False


def _glues_words(line: str) -> bool:
    """Whether an escaped line break joins two parts of a word, which the grammar reads as two words."""
    for match in re.finditer(r"(\\+)\n", line):
        before, after = line[: match.start()][-2:], line[match.end() : match.end() + 1]
        free = before[-1:] in " \t\n;&|()" and before[:1] != "\\"
        if len(match[1]) % 2 and after not in ("", " ", "\t", "\n") and before and not free:
            return True
    return False


def _tree(line: bytes) -> Node | None:
    """The grammar's tree, or None where reading takes more steps than any plain line of that length needs."""
    steps = 0

    def too_long(_offset: int, has_error: bool) -> bool:
        nonlocal steps
        steps += 1
        return has_error or steps > _SPARE_STEPS + len(line) // _BYTES_PER_STEP

    parser = Parser(Language(tree_sitter_bash.language()))
    try:
        parser.parse(lambda offset, _point: line[offset : offset + 4096], progress_callback=too_long)
    except ValueError:  # how this binding says that the callback stopped it
        return None
    parser.reset()
    return parser.parse(line).root_node  # from one piece of bytes, whose nodes know their text at no cost


@dataclass(slots=True)
class _Reader:
    line: bytes
    commands: list[SimpleCommand] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    quoted: list[str] = field(default_factory=list)
    late: bool = False

    def walk(self, node: Node, where: str, *, repeated: bool, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise UnknownShapeError("the command line is nested too deeply")
        if not node.is_named:
            return
        self._no_gaps(node)
        where = _place(node, where)
        repeated = repeated or node.type in _LOOPS
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                self._command(node, (), where, repeated=repeated, depth=depth)
            case "redirected_statement":
                self._redirected(node, where, repeated=repeated, depth=depth)
            case "variable_assignment" if node.parent is not None and node.parent.type not in (
                "command",
                "declaration_command",
                "c_style_for_statement",
            ):
                self.commands.append(
                    SimpleCommand((), assignments=(_assignment(node),), where=where, repeated=repeated)
                )
                self._inside(node, where, repeated=repeated, depth=depth)
            case "function_definition":
                self._function(node, where, repeated=repeated, depth=depth)
            case kind if kind in _STATEMENTS:
                _no_lone_dollar(node)
                self._note_late(node)
                self._assigned_here(node, where, repeated)
                self._inside(node, where, repeated=repeated, depth=depth)
            case kind if kind in _LEAVES:
                self._leaf(node)
            case kind:
                raise UnknownShapeError(f"the command line holds {kind!r}, which the policy does not know")

    def finish(self) -> None:
        """Refuse quoted text that a later evaluation in the same line could run as a command."""
        hidden = any(_HIDDEN_SUBSTITUTION.search(text) for text in self.quoted)
        if hidden and self.late:
            raise UnknownShapeError("a quoted substitution may be evaluated later in the line")

    def _inside(self, node: Node, where: str, *, repeated: bool, depth: int) -> None:
        for child in node.children:
            self.walk(child, where, repeated=repeated, depth=depth + 1)

    def _function(self, node: Node, where: str, *, repeated: bool, depth: int) -> None:
        name = source(node.named_children[0])
        if node.parent is not None and node.parent.type == "program":
            called_before = any(command.program == name for command in self.commands)
            if not called_before:
                self.functions.add(name)
        for child in node.named_children[1:]:
            self.walk(child, where, repeated=repeated, depth=depth + 1)

    def _redirected(self, node: Node, where: str, *, repeated: bool, depth: int) -> None:
        body, *tails = node.named_children
        if body.type in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
            body, tails = node, list(node.named_children)
        if body.type in ("command", "declaration_command", "unset_command"):
            self._no_gaps(body)
            self._command(body, tuple(tails), where, repeated=repeated, depth=depth)
            return
        redirects, extra = _redirects(tails)
        if extra:
            raise UnknownShapeError("words stand after the redirection of a compound command")
        if body is not node:
            self.walk(body, where, repeated=repeated, depth=depth + 1)
        self.commands.append(SimpleCommand((), redirects, where=where, repeated=repeated))
        for tail in tails:
            self.walk(tail, where, repeated=repeated, depth=depth + 1)

    def _command(self, node: Node, tails: tuple[Node, ...], where: str, *, repeated: bool, depth: int) -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        tail_nodes = list(tails)
        previous = -1
        for child in node.children:
            if child.type == "comment":
                continue
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                tail_nodes.append(child)
            elif child.type == "variable_assignment":
                assignments.append(_assignment(child))
            elif child.type == "command_name" or child.type in _ARGUMENTS:
                if child.start_byte == previous:
                    raise UnknownShapeError("two words touch each other")
                words.extend(read_words(child))
            elif node.type != "command" and not child.is_named:
                words.append(Word(source(child)))  # export, declare, unset ...
            else:
                raise UnknownShapeError(f"a command holds {child.type!r}")
            previous = child.end_byte
        if tails and b"-" in self.line[node.end_byte : tails[0].start_byte]:
            words.append(Word("-"))  # the grammar drops a "-" before a here-document
        redirects, extra = _redirects(tail_nodes)
        command = SimpleCommand((*words, *extra), redirects, tuple(assignments), where, repeated)
        if command.program in _LATE_PROGRAMS or node.type != "command":
            self.late = True
        self.commands.append(command)  # before what a here-document's line goes on with
        self._inside(node, where, repeated=repeated, depth=depth)
        for tail in tails:
            self.walk(tail, where, repeated=repeated, depth=depth + 1)

    def _leaf(self, node: Node) -> None:
        text = source(node)
        if node.type == "comment":
            before = self.line[node.start_byte - 1 : node.start_byte]
            if "\n" in text or (before and before not in b" \t\n;&|()"):
                raise UnknownShapeError("a comment begins where bash sees none")
        elif node.type in ("raw_string", "ansi_c_string"):
            self.quoted.append(read_word(node).text)
        elif node.type in ("regex", "extglob_pattern", "translated_string", "brace_expression"):
            if _HIDDEN_SUBSTITUTION.search(text):
                raise UnknownShapeError("a substitution stands inside a pattern")
        elif node.type in ("word", "string_content"):
            self.quoted.append(read_word(node).text if node.type == "word" else text)

    def _assigned_here(self, node: Node, where: str, repeated: bool) -> None:
        """A loop variable, or `${NAME:=value}`: assignments that look like none."""
        variable = next((child for child in node.children if child.type == "variable_name"), None)
        sets = node.type == "for_statement" or any(child.type in ("=", ":=") for child in node.children)
        if variable is not None and sets and node.type in ("for_statement", "expansion"):
            assigned = ((source(variable), Word(HOLE)),)
            self.commands.append(SimpleCommand((), assignments=assigned, where=where, repeated=repeated))

    def _note_late(self, node: Node) -> None:
        arithmetic = node.type in ("arithmetic_expansion", "c_style_for_statement", "subscript")
        prompt = node.type == "expansion" and any(child.type in ("@", "!") for child in node.children)
        double = node.type == "compound_statement" and node.children[0].type == "(("
        if arithmetic or prompt or double or node.type == "test_command":
            self.late = True

    def _no_gaps(self, node: Node) -> None:
        """Between two children only blanks may be skipped, so nothing was dropped by the lexer."""
        if node.type in ("string", "heredoc_body", "heredoc_redirect"):
            return
        blank = b" \t" if node.type in _ONE_LINE else b" \t\n"
        for left, right in pairwise(node.children):
            gap = self.line[left.end_byte : right.start_byte].replace(b"\\\n", b"").strip(blank)
            if gap and not (gap == b"-" and node.type == "redirected_statement" and left.type == "command"):
                raise UnknownShapeError("a part of the command line was not understood")


def _no_lone_dollar(node: Node) -> None:
    """Inside quotes a "$" before a blank is itself; elsewhere the grammar joins it with the next word."""
    quoted = node.parent is not None and node.parent.type in ("string", "heredoc_body")
    if node.type == "simple_expansion" and not quoted and any(blank in source(node) for blank in " \t\n"):
        raise UnknownShapeError("a lone $ before a blank")


def _place(node: Node, where: str) -> str:
    names = {
        "command_substitution": "substitution",
        "process_substitution": "process substitution",
        "function_definition": "function body",
        "subshell": "subshell",
    }
    return names.get(node.type, where)


def _assignment(node: Node) -> tuple[str, Word]:
    name_node, *rest = node.children
    name = source(name_node)
    if name_node.type == "subscript" or (len(rest) > 1 and rest[1].type == "array"):
        return name.split("[")[0], Word(HOLE)
    values = [child for child in rest if child.type not in ("=", "+=")]
    if not values:
        return name, Word("")
    value = read_word(values[0])
    return name, value if rest[0].type == "=" else Word(HOLE + value.text)


def _redirects(nodes: list[Node] | tuple[Node, ...]) -> tuple[tuple[Redirect, ...], tuple[Word, ...]]:
    """The redirections of `nodes`, and the words that stand behind one and so belong to the command."""
    redirects: list[Redirect] = []
    extra: list[Word] = []
    for node in nodes:
        if node.type == "heredoc_redirect":
            inner = [child for child in node.children if child.type in ("file_redirect", "herestring_redirect")]
            found, more = _redirects(inner)
            redirects.extend(found)
            extra.extend(word for child in node.children if child.type in _ARGUMENTS for word in read_words(child))
            extra.extend(more)
            continue
        if node.type == "herestring_redirect":
            extra.extend(word for child in node.named_children[1:] for word in read_words(child))
            continue
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [child for child in node.children if child.type in _ARGUMENTS]
        if operator in (">&-", "<&-"):
            extra.extend(word for child in targets for word in read_words(child))
            continue
        if not operator or not targets:
            raise UnknownShapeError("a redirection without a target")
        first, *others = targets
        extra.extend(word for child in others for word in read_words(child))
        target = read_word(first)
        number = target.literal or ""
        if operator in (">&", "<&") and (number.rstrip("-").isdigit() or number == "-"):
            continue
        redirects.append(Redirect(operator, target))
    return tuple(redirects), tuple(extra)
