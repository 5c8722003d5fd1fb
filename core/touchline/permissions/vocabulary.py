"""The programs, subcommands and variables that the policy knows by name (spec page 8, "ordinary build tools").

What is missing here is asked about; what stands here was read through for options that write or run something.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchline.permissions.words import names
from touchline.permissions.wrappers import SHELLS

SAFE_WITH_ANYTHING = names(
    ": true false pwd ls cat head tail wc grep egrep fgrep echo cut tr basename dirname realpath readlink stat du df"
    " nl od md5sum sha1sum sha256sum sha512sum cksum seq sleep expr comm paste column fold rev tac strings diff cmp"
    " jq test [ exit return break continue shift wait type which whoami id uname nproc arch tty cal bc factor"
    " numfmt expand unexpand fmt join tsort vmstat free uptime ps lsof jobs times getconf locale ulimit umask"
    " base32 base64 hexdump cd pushd popd dirs git-lfs-status nm objdump readelf size ldd pgrep shellcheck"
)
SAFE_EXCEPT: Mapping[str, tuple[str, ...]] = {
    "rg": ("--pre", "--hostname-bin"),
    "sort": ("-o", "--output", "--compress-program", "-T", "--files0-from"),
    "find": ("-delete", "-fprint", "-fprintf", "-fprint0", "-fls", "-exec", "-execdir", "-ok", "-okdir"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "tree": ("-o", "--output", "-R"),
    "date": ("-s", "--set"),
    "file": ("-C", "--compile"),
    "set": ("-o", "-a", "-k"),
    "printf": ("-v",),
    "hash": ("-p",),
    "command": (),
    "yq": ("-i", "--inplace", "--in-place", "-s", "--split-exp"),
    "hostname": ("-F", "-b"),
}
SAFE_VALUES = frozenset({("set", "pipefail"), ("set", "errexit"), ("set", "nounset"), ("set", "xtrace")})
VARIABLES = frozenset(
    {"export", "declare", "typeset", "local", "readonly", "unset", "read", "mapfile", "readarray", "getopts"}
)
CHANGES_FILES = names("rm rmdir mv mkdir touch ln chmod tee truncate unlink")
WHOLE = frozenset({"rm", "mv", "chmod", "rmdir", "unlink"})
COPIES = frozenset({"cp", "install"})

ANY: frozenset[str] = frozenset()
BUILD_TOOLS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        names(
            "make gmake ninja cmake ctest tox nox pytest py.test mypy ruff black isort flake8 pylint pyright"
            " coverage tsc eslint prettier jest vitest mocha webpack vite rollup esbuild babel swc stylelint"
            " mvn mvnw gradle gradlew javac java jar kotlinc gcc g++ cc c++ clang clang++ ld ar ranlib strip rustc"
            " rustfmt gofmt goimports golangci-lint staticcheck phpunit rspec rake rubocop yamllint"
            " markdownlint hadolint djlint bandit vulture pip-compile cython protoc autoconf automake libtool"
            " pkg-config clang-format clang-tidy hypothesis lint-imports playwright stylua"
        ),
        ANY,
    ),
    "cargo": names(
        "build b test t check c clippy fmt run r doc bench clean add remove tree metadata nextest fetch update llvm-cov"
    ),
    "go": names("build test vet fmt run mod list generate get install version doc clean work"),
    "npm": names("ci install i test t run run-script start ls list outdated audit explain fund prune dedupe rebuild"),
    "pnpm": names("install i test t run start ls list add remove build lint typecheck outdated"),
    "yarn": names("install test run start add remove build lint typecheck list why check"),
    "bun": names("install test run build add remove"),
    "pip": names("install list show freeze check wheel download"),
    "pip3": names("install list show freeze check wheel download"),
    "uv": names("sync pip lock add remove venv build tree export"),
    "poetry": names("install check build lock show add remove update"),
    "pdm": names("install build lock list add remove sync"),
    "pipenv": names("install sync lock check"),
    "dotnet": names("build test restore run format clean"),
    "swift": names("build test run"),
    "bazel": names("build test query"),
    "composer": names("install test validate dump-autoload"),
    "bundle": names("install check list"),
    "mix": names("test compile deps.get format credo"),
    "deno": names("test check fmt lint"),
    "pre-commit": frozenset({"run"}),
    "meson": names("setup compile test configure introspect"),
    "cabal": names("build test update check"),
    "stack": names("build test"),
    "terraform": frozenset({"fmt", "validate"}),
}
QUIET_FLAGS = names("-q --quiet -s --silent -v --verbose --offline --locked --frozen --no-color --ci")
"""Options without a value that may stand before a subcommand."""
RUNS_TEXT: Mapping[str, tuple[str, ...]] = {
    "make": ("--eval", "SHELL=", ".SHELLFLAGS=", "-f-", "-f/dev/", "--file=-", "--makefile=-", "-"),
    "gmake": ("--eval", "SHELL=", ".SHELLFLAGS=", "-f-", "-f/dev/", "--file=-", "--makefile=-", "-"),
    "cmake": ("-E",),
    "ctest": ("--build-and-test", "--test-command"),
    "rake": ("-e", "-E", "-p", "--execute"),
    "bazel": ("--run_under",),
    "go": ("-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"),
    "cargo": ("--config",),
    "mvn": ("exec:",),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), ("-wrapper", "-specs", "-B")),
}
"""Beginnings of arguments by which a build tool runs text or another program; a "-" stands for itself alone."""
PYTHON_MODULES = names(
    "pytest unittest pip venv build mypy ruff black flake8 isort pylint coverage tox nox compileall py_compile"
    " doctest tabnanny hatch pre_commit sphinx mkdocs pyright bandit vulture"
)
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
PYTHON_FLAGS = re.compile(r"-[uBsEIOqvbdxS]+|-W.+|-X.+|--version|-V|-VV")
SCRIPT_FLAGS: Mapping[str, re.Pattern[str]] = {
    "node": re.compile(r"--test(?:-.*)?|--version|-v|--enable-source-maps|--no-warnings|--check|-c|--trace-.*"),
    "perl": re.compile(r"-w|-c|-v|--version"),
    "ruby": re.compile(r"-w|-c|-v|--version"),
    "php": re.compile(r"-l|-v|--version"),
    "lua": re.compile(r"-v"),
    "tsx": re.compile(r"--version"),
    "ts-node": re.compile(r"--version"),
    "Rscript": re.compile(r"--version"),
    "source": re.compile(r"(?!)"),
    ".": re.compile(r"(?!)"),
    **dict.fromkeys(SHELLS, re.compile(r"[-+][abefhkmnptuvxBCEHPTl]+|--norc|--noprofile|--posix|--version")),
}
TRANSPARENT = names(
    "env command builtin exec nohup setsid time coproc nice ionice timeout stdbuf xargs busybox toybox npx bunx eval"
    " trap winpty caffeinate"
)
"""Wrappers that do nothing by themselves; what they run is judged on its own."""

DANGEROUS_NAME = re.compile(
    r"GIT_.*|LD_.*|DYLD_.*|BASH_.*|PATH|IFS|ENV|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|HOME|XDG_CONFIG_.*|CDPATH"
    r"|PAGER|EDITOR|VISUAL|LESSOPEN|LESSCLOSE|MANPAGER|SSH_.*|PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|PYTHONSTARTUP"
    r"|PYTHONHOME|GOFLAGS|RUSTC(?:_.*)?|CARGO_.*|JAVA_TOOL_OPTIONS|PYTEST_PLUGINS|npm_config_.*|BROWSER|MAKEFLAGS|GNUMAKEFLAGS|SHELL|TOUCHLINE_.*|FPATH|ZDOTDIR|GLOBIGNORE"
)
HARMLESS_VALUES = frozenset(
    {
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("PAGER", ""),
        ("GIT_PAGER", ""),
        ("GIT_EDITOR", "true"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("EDITOR", "true"),
    }
)
