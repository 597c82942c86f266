"""The wire form of an event. Pure: no database."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sdk_pattern.events.recorded import RecordedEvent, user_actor
from claude_sdk_pattern.events.types import Status, Text


def _recorded(payload: bytes, *, turn_id: str | None = "t1", ts_ms: int = 0, actor: str = "agent") -> RecordedEvent:
    return RecordedEvent(
        session_id="s1", seq=7, type="text", turn_id=turn_id, actor=actor, ts_ms=ts_ms, block_id="b1", payload=payload
    )


def test_frame_is_the_envelope_followed_by_the_payload() -> None:
    payload = Text(block_id="b1", content="hi").encode()
    assert _recorded(payload, turn_id=None, ts_ms=1_795_272_417_022, actor=user_actor("u1")).frame == (
        b'{"seq":7,"session_id":"s1","turn_id":null,"actor":"user:u1","ts":"2026-11-21T14:46:57.022Z",'
        b'"type":"text","block_id":"b1","content":"hi"}'
    )


@given(content=st.text(), turn_id=st.none() | st.text(), actor=st.text(), ts_ms=st.integers(0, 4_000_000_000_000))
def test_frame_is_json_with_every_field_whatever_the_strings_are(
    content: str, turn_id: str | None, actor: str, ts_ms: int
) -> None:
    frame = json.loads(
        _recorded(Text(block_id="b", content=content).encode(), turn_id=turn_id, actor=actor, ts_ms=ts_ms).frame
    )
    moment = datetime.fromisoformat(frame.pop("ts"))
    assert moment.tzinfo is UTC
    assert round(moment.timestamp() * 1000) == ts_ms
    assert frame == {
        "seq": 7,
        "session_id": "s1",
        "turn_id": turn_id,
        "actor": actor,
        "type": "text",
        "block_id": "b",
        "content": content,
    }


def test_frame_is_built_once_for_all_readers() -> None:
    recorded = _recorded(Text(block_id="b1", content="hi").encode())
    assert recorded.frame is recorded.frame


def test_event_is_the_typed_payload() -> None:
    assert _recorded(b'{"type":"status","status":"idle"}').event == Status(status="idle")


def test_recorded_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        _recorded(b"{}").seq = 8  # pyright: ignore[reportAttributeAccessIssue]
