"""The scripted model speaks the Anthropic Messages API as a real client needs it, and fails on demand."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from touchline.testing import ScriptedModel
from touchline.testing.model import SCRIPT_OVER
from touchline.testing.steps import Cut, HttpError, Malformed, Refused, Say, Shell, Silent, ToolCall

PROMPT = {"role": "user", "content": "Do it."}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


def post(model: ScriptedModel, path: str = "/v1/messages?beta=true", **body: Any) -> tuple[int, dict[str, str], bytes]:
    """One request; status, headers and body."""
    host = model.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    try:
        connection.request("POST", path, json.dumps({"tools": [{"name": "Bash"}], **body}))
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def events(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in content.decode().splitlines() if line.startswith("data: ")]


def test_message_is_streamed_as_events(model: ScriptedModel) -> None:
    model.play(Say("Grüße."))
    status, headers, content = post(model, stream=True, messages=[PROMPT])
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    kinds = [event["type"] for event in events(content)]
    assert kinds == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events(content)[2]["delta"]["text"] == "Grüße."


def test_long_text_comes_in_pieces_that_add_up(model: ScriptedModel) -> None:
    text = "ü" * 100_001
    model.play(Say(text))
    _, _, content = post(model, stream=True)
    deltas = [event["delta"]["text"] for event in events(content) if event["type"] == "content_block_delta"]
    assert len(deltas) == 3
    assert "".join(deltas) == text


def test_message_without_streaming_is_one_json_body(model: ScriptedModel) -> None:
    model.play(ToolCall("Read", {"file_path": "/a"}), Say("Done."))
    _, _, content = post(model)
    message = json.loads(content)
    assert message["content"] == [
        {"type": "tool_use", "id": message["content"][0]["id"], "name": "Read", "input": {"file_path": "/a"}}
    ]
    assert message["stop_reason"] == "tool_use"
    message = json.loads(post(model)[2])
    assert (message["content"][0]["text"], message["stop_reason"]) == ("Done.", "end_turn")


def test_both_forms_count_the_same_tokens(model: ScriptedModel) -> None:
    model.play(Say("One."), Say("One."))
    streamed = events(post(model, stream=True)[2])
    usage = json.loads(post(model)[2])["usage"]
    assert usage["output_tokens"] == streamed[-2]["usage"]["output_tokens"] == model.usage(1).output
    assert usage["input_tokens"] + usage["cache_read_input_tokens"] == model.usage(1).input


def test_shell_step_calls_the_shell_tool(model: ScriptedModel) -> None:
    model.play(Shell("git status"))
    block = json.loads(post(model)[2])["content"][0]
    assert (block["name"], block["input"]["command"]) == ("Bash", "git status")


def test_script_that_is_over_says_so(model: ScriptedModel) -> None:
    model.play(Say("One."))
    texts = [json.loads(post(model)[2])["content"][0]["text"] for _ in range(2)]
    assert texts == ["One.", SCRIPT_OVER]


def test_side_calls_without_tools_take_no_step(model: ScriptedModel) -> None:
    model.play(Say("One."))
    assert json.loads(post(model, tools=[])[2])["content"][0]["text"] == "ok"
    assert json.loads(post(model)[2])["content"][0]["text"] == "One."
    assert model.main_calls() == 1


def test_fault_before_an_answer_happens_once_and_a_last_fault_for_ever(model: ScriptedModel) -> None:
    model.play(HttpError(500), Say("One."))
    assert [post(model)[0] for _ in range(2)] == [500, 200]
    model.play(HttpError(529))
    assert [post(model)[0] for _ in range(3)] == [529, 529, 529]


def test_http_error_has_type_message_and_headers(model: ScriptedModel) -> None:
    model.play(HttpError(429, "slow down", retry_after_s=1.5, headers={"x-limit": "five_hour"}))
    status, headers, content = post(model)
    assert (status, headers["retry-after"], headers["x-limit"]) == (429, "1.5", "five_hour")
    assert json.loads(content)["error"] == {"type": "rate_limit_error", "message": "slow down"}


def test_cut_stream_ends_in_the_middle(model: ScriptedModel) -> None:
    model.play(Cut())
    assert [event["type"] for event in events(post(model, stream=True)[2])] == ["message_start"]


def test_malformed_stream_holds_a_line_that_is_no_json(model: ScriptedModel) -> None:
    model.play(Malformed())
    with pytest.raises(json.JSONDecodeError):
        events(post(model, stream=True)[2])


def test_silent_stream_says_nothing_until_its_time_is_over(model: ScriptedModel) -> None:
    model.play(Silent(0.3))
    began = time.monotonic()
    post(model, stream=True)
    assert 0.25 < time.monotonic() - began < 5


def test_server_closes_at_once_although_a_stream_is_silent() -> None:
    began = time.monotonic()
    with ScriptedModel() as server:
        server.play(Silent(60))
        host = server.url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("POST", "/v1/messages", json.dumps({"tools": [1], "stream": True}))
        connection.getresponse().read(10)
    connection.close()
    assert time.monotonic() - began < 5


def test_refused_connections_are_accepted_again_with_the_next_script_on_the_same_port(model: ScriptedModel) -> None:
    url = model.url
    model.play(Refused())
    with pytest.raises(ConnectionRefusedError):
        post(model)
    model.play(Say("Back."))
    assert model.url == url
    assert post(model)[0] == 200


def test_prompts_and_tool_results_are_read_from_the_latest_call(model: ScriptedModel) -> None:
    messages = [
        PROMPT,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "denied"}]},
                {"type": "text", "text": "Go on."},
            ],
        },
    ]
    assert (model.prompts(), model.tool_results()) == ([], [])
    post(model, messages=messages)
    assert model.prompts() == ["Do it.", "Go on."]
    assert model.tool_results() == ["denied"]


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_probe_of_a_client_is_answered(model: ScriptedModel, method: str) -> None:
    connection = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=10)
    connection.request(method, "/")
    assert connection.getresponse().status == 200
    connection.close()
    assert model.requests[0].method == method


@pytest.mark.parametrize("raw", [b"not json", b"[1, 2]", b"\xff"])
def test_request_that_is_no_json_object_is_refused_and_kept(model: ScriptedModel, raw: bytes) -> None:
    connection = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/messages", raw)
    assert connection.getresponse().status == 404
    connection.close()
    assert model.requests[0].body is None


def test_unknown_endpoint_is_not_found(model: ScriptedModel) -> None:
    assert post(model, path="/v1/telepathy")[0] == 404
