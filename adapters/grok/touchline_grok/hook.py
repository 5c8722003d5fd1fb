"""The hook that grok calls before each tool (spec page 2, "grok"): it asks the bridge and prints the answer.

Standard library only and started as a file. grok's hooks fail open, so everything that goes wrong here ends with
status 2, which denies; the shell line that starts it does the same where it cannot even be started.
"""

from __future__ import annotations

import json
import os
import socket
import sys

SOCKET = "hook.sock"
ANSWER_S = 86_000.0
"""The bridge answers or goes away long before; grok itself waits a little longer than this."""
DENIED = 2


def main() -> int:
    """Pass one event on; the folder of the socket is the only argument."""
    payload = sys.stdin.buffer.read()
    os.chdir(sys.argv[1])  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(SOCKET)
        connection.sendall(payload)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    decision = json.loads(answer)["decision"]
    sys.stdout.buffer.write(answer)
    return 0 if decision == "allow" else DENIED


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        sys.stderr.write(f"touchline could not be asked for permission ({error}); the call is denied\n")
        sys.exit(DENIED)
