"""Making a clean checkout ready with the configured setup command (DESIGN.md, "which tree is verified")."""

from __future__ import annotations

from pathlib import Path

from touchline.errors import ProcessError
from touchline.process import run as run_process
from touchline.process.cancel import Cancellation
from touchline.turn.text import tail


def make_ready(
    setup: tuple[str, ...],
    folder: Path,
    *,
    timeout_s: float,
    output: Path,
    run_id: str,
    cancel: Cancellation | None = None,
) -> str:
    """Runs `setup` in `folder`, its output kept in `output`; "" if all is well, else what went wrong."""
    if not setup:
        return ""
    try:
        done = run_process(
            list(setup),
            cwd=folder,
            timeout_s=timeout_s,
            keep="tail",
            output_path=output,
            supervised=True,
            run_id=run_id,
            cancel=cancel,
        )
    except ProcessError as error:
        return f"the setup command cannot be started: {error.what}"
    if done.ending == "exited" and done.returncode == 0:
        return ""
    how = f"exit status {done.returncode}" if done.ending == "exited" else f"ended by {done.ending}"
    said = tail((done.stdout + b"\n" + done.stderr).decode("utf-8", "replace").strip(), 1000)
    return f"the setup command failed ({how}): {said}"
