"""`touchline init` (spec page 8): a commented touchline.yaml that changes nothing until a line is uncommented."""

from __future__ import annotations

from pathlib import Path

import click

TEMPLATE = """\
# Settings of touchline for this repository. Every key is optional; what is commented out shows the default or an
# example. `touchline config show --origin` says what is in effect, `touchline schema config` lists every key.
# Secrets never stand here: name the environment variable that holds them.

# Executors by a name of your choice; the name of an installed driver works without an entry.
#executors:
#  claude:
#    driver: claude
#    command: claude
#    model: opus
#    env: {HTTP_PROXY: "http://proxy.example.com:3128"}
#    env_from: {ANTHROPIC_API_KEY: TEAM_ANTHROPIC_KEY}
#    env_remove: [DEBUG]
#    extra_args: ["--verbose"]
#    limits: {wall: 1h, idle: 15m, grace: 10s}
#  rehearsal:
#    driver: scripted
#    script: oracle

# Judges, the most preferred one first: an executor in a fresh session that writes nothing, or a command.
#reviewers:
#  - name: reviewer
#    executor: claude
#    model: opus
#    timeout: 30m
#  - name: licences
#    command: ./check-licences --json

# Who really uses the feature. Default: a fresh session of the player's executor.
#exerciser:
#  enabled: true
#  executor: claude
#  command: null
#  model: opus
#  timeout: 30m

# The test command. Default: detected from the project's files, and printed.
#tests:
#  enabled: true
#  command: pytest -q
#  timeout: 30m
#  baseline: true

# Rules of your own that must hold before anything is approved.
#gates:
#  exerciser: ["the page loads without an error in the console"]
#  review: ["public functions have a docstring"]

# How a turn's work is verified. deep: every judge, in parallel. worktree: in a clean checkout.
#verify:
#  depth: light
#  workspace: in-place
#  setup: npm ci
#  timeout: 1h

# Forges by host name.
#forge:
#  git.example.com:
#    driver: gitlab
#    api_url: https://git.example.com/api/v4
#    token_env: GIT_EXAMPLE_TOKEN
#    commands: {inspect: ./forge inspect}
#    read_timeout_s: 60
#    write_timeout_s: 300

# Defaults of `touchline run`; its flags win. Budgets have no default: unset means no bound.
#run:
#  executor: claude
#  max_turns: 10
#  severity: 5
#  plans: docs/plans
#  ci_timeout: 6h
#  budgets:
#    turn: {max_tokens: 2000000, max_cost: 5.0}
#    run: {max_tokens: 10000000, max_cost: 25.0}

# What executors may do; deny beats ask beats allow, and the denials of all files add up.
#permissions:
#  deny: ["bash(terraform apply *)", "edit(.github/**)"]
#  ask: ["bash(npm publish *)"]
#  allow: ["bash(make *)", "webfetch(docs.python.org)"]

# Kinds of secrets besides the known ones: a match stops before commit and push.
#secrets:
#  patterns: {acme-token: "acme-(?P<value>[0-9a-f]{32})"}

# Hook plugins besides the installed ones: importable Python modules.
#hooks:
#  modules: [my_team.touchline_hooks]
"""


@click.command()
@click.option("--repo", metavar="DIR", default=".", help="The repository; default: the current folder.")
def init(*, repo: str) -> None:
    """Write a commented touchline.yaml."""
    from touchline.config import places
    from touchline.config.writing import create_file

    target = places.repository_file(Path(repo))
    create_file(target, TEMPLATE.encode())
    click.echo(f"{target}: written; every setting in it is still commented out", err=True)
