"""The scripted model speaks the OpenAI APIs with the shapes that real clients accept."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from touchline.testing import ScriptedModel
from touchline.testing.openai_chat import OpenAIChat
from touchline.testing.openai_responses import OpenAIResponses
from touchline.testing.steps import Cut, HttpError, Malformed, Say, Shell, ToolCall

RESPONSES = "/v1/responses"
CHAT = "/v1/chat/completions"
SHELL = {
    RESPONSES: {"type": "function", "name": "exec_command"},
    CHAT: {"type": "function", "function": {"name": "bash"}},
}
BOTH = pytest.mark.parametrize("path", [RESPONSES, CHAT])


def post(model: ScriptedModel, path: str, **body: Any) -> tuple[int, bytes]:
    content = json.dumps({"tools": [SHELL[path]], "model": "m", **body}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(model.url + path, content), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def played(path: str, *steps: Any, **body: Any) -> bytes:
    with ScriptedModel(OpenAIResponses(), OpenAIChat()) as model:
        model.play(*steps)
        return post(model, path, **body)[1]


def frames(content: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in content.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_response_is_streamed_and_its_last_frame_is_the_whole_response() -> None:
    text = "ü" * 50_001
    got = frames(played(RESPONSES, Say(text), stream=True))
    deltas = [frame["delta"] for frame in got if frame["type"] == "response.output_text.delta"]
    assert len(deltas) == 2
    assert "".join(deltas) == text
    assert [got[0]["type"], got[-1]["type"]] == ["response.created", "response.completed"]
    assert got[-1]["response"]["output"][0]["content"][0]["text"] == text
    assert got[-1]["response"] == json.loads(played(RESPONSES, Say(text)))


def test_chat_completion_is_streamed_with_usage_last() -> None:
    text = "ü" * 50_001
    content = played(CHAT, Say(text), stream=True)
    got = frames(content)
    assert "".join(frame["choices"][0]["delta"].get("content", "") for frame in got[:-1]) == text
    assert got[-2]["choices"][0]["finish_reason"] == "stop"
    assert got[-1]["usage"]["prompt_tokens"] == OpenAIChat().usage(1).input
    assert content.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ({"type": "function", "name": "exec_command"}, {"cmd": "ls"}),
        ({"type": "function", "name": "shell_command"}, {"command": "ls", "description": "scripted"}),
        ({"type": "function", "name": "shell"}, {"command": ["bash", "-lc", "ls"]}),
    ],
)
def test_shell_is_called_as_the_responses_request_offers_it(tool: dict[str, Any], arguments: dict[str, Any]) -> None:
    (item,) = json.loads(played(RESPONSES, Shell("ls"), tools=[{"name": "other"}, tool]))["output"]
    assert (item["type"], item["name"], json.loads(item["arguments"])) == ("function_call", tool["name"], arguments)


def test_tools_in_the_input_count_and_a_program_is_written_where_one_is_taken() -> None:
    extra = {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]}
    (item,) = json.loads(played(RESPONSES, Shell('echo "x"'), tools=[], input=[extra]))["output"]
    assert (item["type"], item["name"]) == ("custom_tool_call", "exec")
    assert 'tools.exec_command({"cmd": "echo \\"x\\""})' in item["input"]


def test_tools_inside_a_namespace_count() -> None:
    space = {"type": "namespace", "name": "functions", "tools": [{"type": "function", "name": "exec_command"}]}
    (item,) = json.loads(played(RESPONSES, Shell("ls"), tools=[space]))["output"]
    assert item["name"] == "exec_command"


def test_chat_calls_the_shell_by_its_offered_name_streamed_or_not() -> None:
    message = json.loads(played(CHAT, Shell("ls")))["choices"][0]
    assert message["finish_reason"] == "tool_calls"
    function = message["message"]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])["command"]) == ("bash", "ls")
    calls = [
        call["function"]
        for frame in frames(played(CHAT, Shell("ls"), stream=True))
        for choice in frame["choices"]
        for call in choice["delta"].get("tool_calls", [])
    ]
    assert calls == [function]


@BOTH
def test_named_tool_is_called_with_its_own_input(path: str) -> None:
    content = played(path, ToolCall("read", {"path": "/a"}))
    assert b'"read"' in content
    assert b'\\"path\\": \\"/a\\"' in content


@BOTH
def test_http_error_has_the_apis_shape(path: str) -> None:
    with ScriptedModel(OpenAIResponses(), OpenAIChat()) as model:
        model.play(HttpError(429, "slow down"))
        status, content = post(model, path)
    assert status == 429
    assert json.loads(content)["error"]["type"] == "rate_limit_error"


@BOTH
def test_broken_streams_are_broken(path: str) -> None:
    assert len(frames(played(path, Cut(), stream=True))) == 1
    with pytest.raises(json.JSONDecodeError):
        frames(played(path, Malformed(), stream=True))


def test_prompts_and_tool_results_of_the_responses_api() -> None:
    items = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it."}]},
        {"type": "function_call", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "output": "done"},
        {"type": "custom_tool_call_output", "output": [{"type": "text", "text": "too"}]},
    ]
    assert OpenAIResponses().prompts({"input": items}) == ["Do it."]
    assert OpenAIResponses().tool_results({"input": items}) == ["done", "too"]
    assert OpenAIResponses().prompts({"input": "Do it."}) == ["Do it."]


def test_prompts_and_tool_results_of_chat_completions() -> None:
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ]
    assert OpenAIChat().prompts({"messages": messages}) == ["Do it."]
    assert OpenAIChat().tool_results({"messages": messages}) == ["done"]


@BOTH
def test_call_without_tools_takes_no_step(path: str) -> None:
    with ScriptedModel(OpenAIResponses(), OpenAIChat()) as model:
        model.play(Say("One."))
        assert b"One." not in post(model, path, tools=[])[1]
        assert b"One." in post(model, path)[1]


@BOTH
def test_title_that_is_asked_for_as_a_forced_tool_call_takes_no_step(path: str) -> None:
    forced = {"type": "function", "function": {"name": "session_title"}}
    with ScriptedModel(OpenAIResponses(), OpenAIChat()) as model:
        model.play(Say("One."))
        assert b"One." not in post(model, path, tool_choice=forced)[1]
        assert b"One." in post(model, path, tool_choice="auto")[1]
