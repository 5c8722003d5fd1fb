"""pebble, a very small agent CLI. It stands for the program that you want to drive; your own needs no such file.

Standard input: one JSON line with the prompt, then an answer for each permission that it asks. Standard output: JSON
lines. The conversation is kept in a file after each message, so that a later process can go on with it.
"""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

TOOLS = [{"name": "Bash", "description": "Run a shell command", "input_schema": {"type": "object"}}]


def say(**event):
    print(json.dumps(event), flush=True)


def ask_model(messages):
    body = {"model": os.environ.get("PEBBLE_MODEL", "pebble-1"), "messages": messages, "tools": TOOLS}
    request = urllib.request.Request(
        f"{os.environ['PEBBLE_URL']}/v1/messages", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def run_tool(block):
    command = block["input"].get("command", "")
    say(type="permission", id=block["id"], command=command)
    answer = json.loads(sys.stdin.readline())
    if not answer["allowed"]:
        say(type="tool-end", id=block["id"], status="denied", output=answer["reason"])
        return answer["reason"]
    say(type="tool", id=block["id"], command=command)
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    say(type="tool-end", id=block["id"], status="error" if done.returncode else "ok", output=output)
    return output


def talk(asked):
    file = Path(asked["session_file"])
    if asked["resume"] and not file.exists():
        return say(type="error", kind="no-session", message="there is no such session")
    messages = json.loads(file.read_text()) if asked["resume"] else []
    messages.append({"role": "user", "content": [{"type": "text", "text": asked["prompt"]}]})
    say(type="session", model=os.environ.get("PEBBLE_MODEL", "pebble-1"))
    while True:
        file.write_text(json.dumps(messages))
        answer = ask_model(messages)
        usage = answer["usage"]
        cached = usage.get("cache_read_input_tokens", 0)
        say(type="usage", input=usage["input_tokens"] + cached, output=usage["output_tokens"], cached=cached)
        messages.append({"role": "assistant", "content": answer["content"]})
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not calls:
            text = "".join(block["text"] for block in answer["content"] if block["type"] == "text")
            file.write_text(json.dumps(messages))
            return say(type="end", text=text)
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": run_tool(call)} for call in calls]
        messages.append({"role": "user", "content": results})


def main():
    if sys.argv[1:] == ["--version"]:
        return print("pebble 1.0.0")
    try:
        talk(json.loads(sys.stdin.readline()))
    except urllib.error.HTTPError as error:
        say(type="error", kind=f"http-{error.code}", message=str(error))
    except (OSError, ValueError, KeyError) as error:
        say(type="error", kind="model", message=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
