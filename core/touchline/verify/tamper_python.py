"""The tests of a Python file, read from its syntax tree (spec page 5, what the coach notices). Pure."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from touchline.verify.tamper_languages import LANGUAGES, Case, Cases, read_cases, shortened

_SKIP = re.compile(r"(?:^|\.)(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure)\b")
_SKIP_CALLS = frozenset({"skip", "skipTest", "xfail", "importorskip", "SkipTest"})
_EXITS = frozenset({"os._exit", "_exit", "os.abort", "pytest.exit"})
_PLAIN_EXITS = frozenset({"sys.exit", "exit", "quit"})
_RUNNERS = ("unittest.", "pytest.", "_pytest.", "builtins.", "TestCase.", "sys.exit", "os._exit")
_HOOKS = frozenset(
    {
        "pytest_sessionfinish",
        "pytest_runtest_makereport",
        "pytest_runtest_protocol",
        "pytest_runtest_call",
        "pytest_pyfunc_call",
        "pytest_collection_modifyitems",
        "pytest_ignore_collect",
        "pytest_cmdline_main",
        "pytest_unconfigure",
        "load_tests",
    }
)
_BROAD = frozenset({"Exception", "BaseException", "AssertionError"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def read_python(text: str) -> Cases:
    """The tests in `text`; one that does not parse is read by its lines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        return _read(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return read_cases(text, LANGUAGES["py"])


def _read(tree: ast.Module) -> Cases:
    found: dict[str, Case] = {}
    for name, function, inherited in _tests(tree.body, "", ()):
        found[name] = _case(name, function, inherited)
    skips = [shortened(ast.unparse(node)) for node in tree.body if _skips_the_file(node)]
    return Cases(found, skips=tuple(skips), meddling=tuple(dict.fromkeys(_meddling(tree))))


def _tests(
    body: list[ast.stmt], above: str, inherited: tuple[ast.expr, ...]
) -> Iterator[tuple[str, _Function, tuple[ast.expr, ...]]]:
    for node in body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield above + node.name, node, inherited
        elif isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{above}{node.name}.", (*inherited, *node.decorator_list))
        elif isinstance(node, ast.If | ast.Try):
            inner = [*node.body, *node.orelse]
            yield from _tests(inner, above, inherited)


def _case(name: str, function: _Function, inherited: tuple[ast.expr, ...]) -> Case:
    assertions: list[str] = []
    skips = [f"@{shortened(ast.unparse(one))}" for one in (*inherited, *function.decorator_list) if _is_skip(one)]
    weak: list[str] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            (weak if _always_true(node.test) else assertions).append(f"assert {shortened(ast.unparse(node.test))}")
        elif isinstance(node, ast.Call):
            called = _name(node.func).rpartition(".")[2]
            if called in _SKIP_CALLS:
                skips.append(shortened(ast.unparse(node)))
            elif called.startswith("assert") or called in ("raises", "warns", "fail"):
                (weak if _never_fails(called, node) else assertions).append(shortened(ast.unparse(node)))
        elif isinstance(node, ast.Try) and _swallows(node):
            weak.append("failures inside `try` are swallowed")
    weak += _early_ends(function)
    return Case(name, tuple(assertions), tuple(skips), tuple(weak), _runs(function))


def _is_skip(decorator: ast.expr) -> bool:
    return bool(_SKIP.search(_name(decorator.func if isinstance(decorator, ast.Call) else decorator)))


def _name(node: ast.expr) -> str:
    """The dotted name, as far as it is one."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _always_true(test: ast.expr) -> bool:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Tuple):
        return bool(test.elts)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(_always_true(value) for value in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        return ast.dump(test.left) == ast.dump(test.comparators[0])
    return False


def _never_fails(called: str, call: ast.Call) -> bool:
    if called == "assertTrue" and call.args:
        return _always_true(call.args[0])
    same = called in ("assertEqual", "assertIs", "assertEquals") and len(call.args) >= 2
    return same and ast.dump(call.args[0]) == ast.dump(call.args[1])


def _swallows(node: ast.Try) -> bool:
    """Whether an assertion inside is caught by a handler that lets the test pass."""
    if not any(isinstance(inner, ast.Assert) or _asserts(inner) for one in node.body for inner in ast.walk(one)):
        return False
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        broad = any(kind is None or _name(kind).rpartition(".")[2] in _BROAD for kind in kinds)
        silent = not any(
            isinstance(inner, ast.Raise | ast.Assert) or _asserts(inner)
            for one in handler.body
            for inner in ast.walk(one)
        )
        if broad and silent:
            return True
    return False


def _asserts(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func).rpartition(".")[2].startswith(("assert", "fail"))


def _early_ends(function: _Function) -> list[str]:
    places = [number for number, one in enumerate(function.body) if isinstance(one, ast.Return)]
    return ["it returns before its end"] if places and places[0] < len(function.body) - 1 else []


def _runs(function: _Function) -> int:
    total = 1
    for one in function.decorator_list:
        if isinstance(one, ast.Call) and _name(one.func).endswith("parametrize") and len(one.args) > 1:
            cases = one.args[1]
            if isinstance(cases, ast.List | ast.Tuple):
                total *= len(cases.elts)
    return total


def _skips_the_file(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _name(node.value.func).rpartition(".")[2] in _SKIP_CALLS
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {_name(target) for target in targets}
        if "pytestmark" in names:
            return bool(re.search(r"\b(?:skip|skipif|xfail)\b", ast.unparse(node)))
        return bool(names & {"collect_ignore", "collect_ignore_glob", "__test__"})
    return False


def _meddling(tree: ast.Module) -> Iterator[str]:
    body = [node for node in tree.body if not _is_main(node)]
    for top in body:
        for node in ast.walk(top):
            if isinstance(node, ast.Call) and _ends_the_run(node):
                yield shortened(ast.unparse(node))
            elif isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for name in map(_name, targets):
                    if name.startswith(_RUNNERS) or name.endswith((".exitstatus", ".outcome", ".testsfailed")):
                        yield shortened(ast.unparse(node))
            elif isinstance(node, _Function) and node.name in _HOOKS:
                yield f"def {node.name}"


def _ends_the_run(call: ast.Call) -> bool:
    """Whether the call ends the process as a success; a script that gives its own status on is none."""
    name = _name(call.func)
    if name in _PLAIN_EXITS:
        return not call.args or (isinstance(call.args[0], ast.Constant) and not call.args[0].value)
    return name in _EXITS


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
