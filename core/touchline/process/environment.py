"""What a child sees of our environment, and what it never sees (spec page 2, "The process host").

The same for executors, tests, gates and git calls: inherited, minus forge tokens, minus the variables by which
an agent CLI recognises that it runs inside another one, minus those that would point git at another
repository, minus what the configuration removes. Pure: nothing here reads the real environment by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

RUN_VARIABLE = "TOUCHLINE_RUN"
"""Marks every process of a run; its value is the run's id."""

MARK_VARIABLE = "TOUCHLINE_PROCESS"
"""Marks the tree of one started program, so that a part of it that ran away is still recognised."""

_FORGE_TOKEN = re.compile(
    r"""
    (?: GH | GITHUB | GL | GITLAB | GITEA | FORGEJO | CODEBERG | BITBUCKET )
    (?: _ [A-Z0-9]+ )*?
    _ (?: TOKEN | PAT | OAUTH | PASSWORD | APP_PASSWORD | PRIVATE_KEY )
    | CI_ (?: JOB_TOKEN | JOB_JWT (?: _V[12] )? | BUILD_TOKEN | REGISTRY_PASSWORD | DEPLOY_PASSWORD
            | DEPENDENCY_PROXY_PASSWORD | REPOSITORY_URL )
    | ACTIONS_ (?: RUNTIME_TOKEN | ID_TOKEN_REQUEST_TOKEN | ID_TOKEN_REQUEST_URL )
    | HUB_TOKEN | HOMEBREW_GITHUB_API_TOKEN | COMPOSER_AUTH
    """,
    re.VERBOSE,
)
_NESTED_SESSION = re.compile(
    r"""
    CLAUDECODE | CLAUDE_ENV_FILE | CLAUDE_PROJECT_DIR | CLAUDE_PLUGIN_ROOT | AI_AGENT
    | CLAUDE_CODE_ (?: ENTRYPOINT | SSE_PORT | SESSION_\w+ | \w+_SESSION_ID | REMOTE\w* | CHILD_\w+ | PARENT_\w+
                     | AGENT_\w+ | TEAM_\w+ | TASK_LIST_ID | EXECPATH )
    | CODEX_ (?: SANDBOX\w* | THREAD_ID | CI | INTERNAL_\w+ )
    | OPENCODE (?: _PID | _CALLER | _SERVER\w* | _SESSION\w* )?
    | GROK_ (?: SESSION\w* | AGENT | PARENT_\w+ )
    """,
    re.VERBOSE,
)
_GIT_REDIRECT = re.compile(
    r"""
    GIT_ (?: ALTERNATE_OBJECT_DIRECTORIES | CONFIG | CONFIG_PARAMETERS | CONFIG_COUNT | CONFIG_KEY_\d+
           | CONFIG_VALUE_\d+ | OBJECT_DIRECTORY | DIR | WORK_TREE | IMPLICIT_WORK_TREE | GRAFT_FILE | INDEX_FILE
           | INDEX_VERSION | NO_REPLACE_OBJECTS | REPLACE_REF_BASE | PREFIX | INTERNAL_SUPER_PREFIX
           | SHALLOW_FILE | COMMON_DIR | NAMESPACE | QUARANTINE_PATH | REFLOG_ACTION | EXTERNAL_DIFF | DIFF_OPTS
           | LITERAL_PATHSPECS | GLOB_PATHSPECS | NOGLOB_PATHSPECS | ICASE_PATHSPECS )
    """,
    re.VERBOSE,
)


def is_removed(name: str) -> bool:
    """Whether an inherited variable of this name is kept from every child."""
    return any(pattern.fullmatch(name) for pattern in (_FORGE_TOKEN, _NESTED_SESSION, _GIT_REDIRECT))


def clean_environment(
    base: Mapping[str, str],
    *,
    run_id: str = "",
    remove: Collection[str] = (),
    add: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """`base` without what no child may see and without `remove`, then `add`, then the mark of the run.

    `add` is a deliberate choice of ours and may bring back a name that is never inherited.
    """
    gone = frozenset(remove)
    kept = {name: value for name, value in base.items() if name not in gone and not _removed(name)}
    if add:
        kept.update(add)
    if run_id:
        kept[RUN_VARIABLE] = run_id
    return kept


def inside_run(environ: Mapping[str, str]) -> str:
    """The id of the run that this process belongs to, "" outside of any."""
    return environ.get(RUN_VARIABLE, "")


_known: dict[str, bool] = {}


def _removed(name: str) -> bool:
    # The same few dozen names come again with each of the many small git calls of a turn.
    answer = _known.get(name)
    if answer is None:
        answer = is_removed(name)
        if len(_known) < 4096:
            _known[name] = answer
    return answer
