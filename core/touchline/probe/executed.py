"""The same loop on a real executor plugin: its answers instead of the engine's summaries (spec page 7).

The executor works in an empty folder of its own that is removed at the end, as a verifier without anybody to ask,
so a probe changes nothing of the user's.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from touchline.execution import execute_turn
from touchline.executor import Capability, Executor, Limits, TurnRequest
from touchline.permissions.gate import PermissionGate
from touchline.permissions.policy import make_policy
from touchline.probe.engine import PermissionDenial, Responder, Response

LIMITS = Limits(wall_s=600.0, idle_s=300.0, grace_s=10.0)

_NAMESPACE = uuid.UUID("6f1d6c2e-0d0b-5b0e-9d53-6b1f0f6b7c11")


@contextmanager
def executor_responder(executor: Executor, session_id: str, *, limits: Limits = LIMITS) -> Iterator[Responder]:
    """A responder that runs each prompt as one turn of `executor`, in one session where it can resume.

    The executor's session id follows from `session_id`. A turn that fails is a response with its failure.
    """
    with tempfile.TemporaryDirectory(prefix="touchline-probe-") as name:
        root = Path(os.path.realpath(name))
        work, scratch = root / "work", root / "scratch"
        work.mkdir()
        scratch.mkdir(mode=0o700)
        run_id = f"probe-{uuid.uuid4().hex}"
        gate = PermissionGate(make_policy("verifier", str(work)), root, run=run_id)
        resumes = Capability.RESUME in executor.capabilities
        state = {"session": str(uuid.uuid5(_NAMESPACE, session_id))}

        def respond(prompt: str, turn: int) -> Response:
            if turn > 1 and not resumes:
                state["session"] = str(uuid.uuid5(_NAMESPACE, f"{session_id} {turn}"))
            request = TurnRequest(
                task_id=f"probe-{session_id}",
                role="verifier",
                prompt=prompt,
                cwd=work,
                session_id=state["session"],
                scratch=scratch,
                resume=resumes and turn > 1,
                limits=limits,
                turn=turn,
            )
            gate.new_turn()
            executed = execute_turn(executor, request, permit=gate.permit, run_id=run_id)
            state["session"] = executed.session_id
            usage = executed.usage
            return Response(
                executed.text,
                usage.input if usage is not None else None,
                usage.output if usage is not None else None,
                tuple(PermissionDenial(one.raw_tool or one.tool, "not allowed in a probe") for one in executed.denials),
                f"{executed.failure.kind}: {executed.failure.reason}" if executed.failure is not None else "",
            )

        yield respond
