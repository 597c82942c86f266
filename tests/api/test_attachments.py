"""Uploads, downloads and messages with files, against the server process: real CLI, real database, real disk."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.pictures import pdf, png
from tests.support.server import Server
from tests.support.talking import SESSIONS, answer, new_session, until_quiet, whole_tape

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

MAX_BYTES = 20_971_520


@pytest.fixture
async def session_id(alice: httpx2.AsyncClient) -> str:
    return await new_session(alice)


def code(response: httpx2.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json", response.text
    return response.status_code, response.json()["code"]


async def upload(client: httpx2.AsyncClient, session_id: str, name: str, content: bytes) -> httpx2.Response:
    # The type that a client claims does not count.
    return await client.post(f"{SESSIONS}/{session_id}/attachments", files={"file": (name, content, "text/html")})


async def uploaded(client: httpx2.AsyncClient, session_id: str, name: str, content: bytes) -> dict[str, Any]:
    response = await upload(client, session_id, name, content)
    assert response.status_code == 201, response.text
    return response.json()


def stored(server: Server, session_id: str) -> list[Path]:
    """Return the files that the server keeps for a session or has not finished."""
    folder = server.data_dir / "attachments"
    return [path for name in (session_id, "incoming") for path in (folder / name).glob("*")]


async def test_an_uploaded_file_comes_back_as_it_was(alice: httpx2.AsyncClient, session_id: str) -> None:
    content = os.urandom(3_000_000)
    view = await uploaded(alice, session_id, "Größe 1.bin", content)
    assert view | {"attachment_id": ""} == {
        "attachment_id": "",
        "name": "Größe 1.bin",
        "size_bytes": len(content),
        "media_type": "application/octet-stream",
    }
    response = await alice.get(f"{SESSIONS}/{session_id}/attachments/{view['attachment_id']}")
    assert (response.status_code, response.content) == (200, content)


@pytest.mark.parametrize(
    ("name", "content", "kind", "disposition"),
    [
        ("fox.html", png(3, 3), "image/png", "inline"),
        ("report.svg", pdf(20), "application/pdf", "inline"),
        ("page.png", b"<script>alert(1)</script>", "text/plain; charset=utf-8", "attachment"),
        ("evil.pdf", b"MZ\x00\x01", "application/octet-stream", "attachment"),
    ],
)
async def test_a_download_can_do_no_harm_whatever_it_is_called(
    alice: httpx2.AsyncClient, session_id: str, name: str, content: bytes, kind: str, disposition: str
) -> None:
    view = await uploaded(alice, session_id, name, content)
    headers = (await alice.get(f"{SESSIONS}/{session_id}/attachments/{view['attachment_id']}")).headers
    assert headers["content-type"] == kind
    assert headers["content-disposition"] == f'{disposition}; filename="{name}"'
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]


async def test_files_are_only_for_those_who_may_see_the_session(
    alice: httpx2.AsyncClient, bob: httpx2.AsyncClient, ada: httpx2.AsyncClient, session_id: str
) -> None:
    view = await uploaded(alice, session_id, "a.txt", b"mine")
    path = f"{SESSIONS}/{session_id}/attachments/{view['attachment_id']}"
    assert code(await bob.get(path)) == (404, "session_not_found")
    assert code(await upload(bob, session_id, "b.txt", b"his")) == (404, "session_not_found")
    assert (await ada.get(path)).content == b"mine"
    his = await new_session(bob)
    assert code(await bob.get(f"{SESSIONS}/{his}/attachments/{view['attachment_id']}")) == (404, "attachment_not_found")
    for wrong in ("unknown", "..%2F..%2Ftest.db", "%00", "x" * 500):
        assert code(await alice.get(f"{SESSIONS}/{session_id}/attachments/{wrong}"))[0] == 404


async def test_a_file_over_the_limit_is_refused_and_nothing_is_kept(
    server: Server, alice: httpx2.AsyncClient, session_id: str
) -> None:
    assert code(await upload(alice, session_id, "big.bin", b"x" * (MAX_BYTES + 1))) == (413, "body_too_large")
    assert code(await upload(alice, session_id, "huge.bin", b"x" * (2 * MAX_BYTES))) == (413, "body_too_large")

    async def unannounced() -> AsyncGenerator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        for _ in range(25):
            yield b"x" * 1_000_000

    headers = {"content-type": "multipart/form-data; boundary=b"}
    path = f"{SESSIONS}/{session_id}/attachments"
    assert code(await alice.post(path, content=unannounced(), headers=headers)) == (413, "body_too_large")
    assert stored(server, session_id) == []
    await uploaded(alice, session_id, "fits.bin", b"x" * MAX_BYTES)
    assert len(stored(server, session_id)) == 1


PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\ncontent\r\n'


@pytest.mark.parametrize(
    ("content_type", "body", "problem"),
    [
        ("application/json", b"{}", (415, "unsupported_media_type")),
        ("multipart/form-data", PART + b"--b--\r\n", (415, "unsupported_media_type")),
        ("multipart/form-data; boundary=" + "b" * 300, PART, (422, "invalid_request")),
        ("multipart/form-data; boundary=b", b"nonsense", (422, "invalid_request")),
        ("multipart/form-data; boundary=b", b"", (422, "invalid_request")),
        ("multipart/form-data; boundary=b", PART, (422, "invalid_request")),
        ("multipart/form-data; boundary=b", PART + PART + b"--b--\r\n", (422, "invalid_request")),
        ("multipart/form-data; boundary=b", PART.replace(b'"file"', b'"other"'), (422, "invalid_request")),
        ("multipart/form-data; boundary=b", PART.replace(b'; filename="a.txt"', b""), (422, "invalid_request")),
    ],
)
async def test_a_body_that_is_not_one_file_is_refused_and_nothing_is_kept(
    server: Server, alice: httpx2.AsyncClient, session_id: str, content_type: str, body: bytes, problem: tuple[int, str]
) -> None:
    path = f"{SESSIONS}/{session_id}/attachments"
    assert code(await alice.post(path, content=body, headers={"content-type": content_type})) == problem
    assert stored(server, session_id) == []


async def test_a_message_carries_files_to_the_agent(alice: httpx2.AsyncClient, session_id: str) -> None:
    ids = [
        (await uploaded(alice, session_id, "fox.png", png(9, 9)))["attachment_id"],
        (await uploaded(alice, session_id, "notes.txt", b"heron"))["attachment_id"],
    ]
    body = {"text": "what is in the picture", "attachments": ids}
    assert (await alice.post(f"{SESSIONS}/{session_id}/messages", json=body)).status_code == 202
    tape = await until_quiet(alice, session_id)
    assert [each["name"] for each in tape[0]["attachments"]] == ["fox.png", "notes.txt"]
    assert "- image, image/" in answer(tape)
    body = {"text": "", "attachments": ids[:1], "client_id": "c2"}
    assert (await alice.post(f"{SESSIONS}/{session_id}/messages", json=body)).status_code == 202
    assert "- image, image/" in answer((await until_quiet(alice, session_id, 2))[len(tape) :])


async def test_a_message_with_files_that_are_not_there_is_refused_and_nothing_is_stored(
    server: Server, alice: httpx2.AsyncClient, session_id: str
) -> None:
    path = f"{SESSIONS}/{session_id}/messages"
    body = {"text": "look", "attachments": ["unknown"]}
    assert code(await alice.post(path, json=body)) == (404, "attachment_not_found")
    body = {"text": "look", "attachments": ["x"] * 11}
    assert code(await alice.post(path, json=body)) == (422, "too_many_attachments")
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        for ids, expected in ((["unknown"], "attachment_not_found"), (["x"] * 11, "too_many_attachments")):
            await chat.send(type="user_message", text="look", client_id="c1", attachments=ids)
            refusal = await chat.until("error")
            assert (refusal["code"], refusal["client_id"], refusal["recoverable"]) == (expected, "c1", True)
        view = await uploaded(alice, session_id, "a.txt", b"x")
        await chat.send(type="user_message", text="", client_id="c1", attachments=[view["attachment_id"]])
        assert (await chat.until("user_message", client_id="c1"))["attachments"] == [view]
        await chat.until("result")
    assert (await whole_tape(alice, session_id))[0]["client_id"] == "c1"


async def test_deleting_a_session_deletes_its_files(server: Server, alice: httpx2.AsyncClient, session_id: str) -> None:
    await uploaded(alice, session_id, "a.txt", b"x")
    assert len(stored(server, session_id)) == 1
    assert (await alice.delete(f"{SESSIONS}/{session_id}")).status_code == 204
    assert stored(server, session_id) == []


async def test_a_long_tool_result_comes_short_everywhere_and_whole_when_asked_for(
    server: Server, alice: httpx2.AsyncClient, session_id: str
) -> None:
    async with server.chat(alice, f"?session_id={session_id}") as chat:
        document = (await uploaded(alice, session_id, "large.pdf", pdf(300_000)))["attachment_id"]
        fields = {"text": "read file attachments/large.pdf", "client_id": "c1", "attachments": [document]}
        await chat.send(type="user_message", **fields)
        live = await chat.until("tool_result")
        await chat.until("result")
    assert live["truncated"] is True
    assert live["content"][-1] == {"type": "text", "text": "[application/pdf, 400 kB, is left out here]"}
    assert [frame for frame in await whole_tape(alice, session_id) if frame["type"] == "tool_result"] == [live]
    path = f"{SESSIONS}/{session_id}/messages"
    whole = (await alice.get(f"{path}/{live['seq']}")).raise_for_status().json()
    assert "truncated" not in whole
    assert len(whole["content"][-1]["source"]["data"]) == 400_000
    assert {**whole, "content": live["content"], "truncated": True} == live
    for seq in (10**6, 2**53 - 1):
        assert code(await alice.get(f"{path}/{seq}")) == (404, "event_not_found")
    for wrong in ("0", "-1", "x", str(2**53)):
        assert code(await alice.get(f"{path}/{wrong}")) == (422, "invalid_request")


async def test_one_event_is_only_for_those_who_may_see_the_session(
    alice: httpx2.AsyncClient, bob: httpx2.AsyncClient, session_id: str
) -> None:
    await alice.patch(f"{SESSIONS}/{session_id}", json={"title": "mine"})
    assert (await alice.get(f"{SESSIONS}/{session_id}/messages/1")).json()["title"] == "mine"
    assert code(await bob.get(f"{SESSIONS}/{session_id}/messages/1")) == (404, "session_not_found")
