"""REST routes of the files that people attach to messages."""

from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse

from claude_sdk_pattern.api.problems import PROBLEM_RESPONSES
from claude_sdk_pattern.api.schemas import AttachmentView
from claude_sdk_pattern.api.services import ServicesDependency
from claude_sdk_pattern.api.sessions import Readable, Writable
from claude_sdk_pattern.api.uploads import FILE_FORM, FRAMING_BYTES, UploadedFile
from claude_sdk_pattern.sessions.errors import AttachmentNotFoundError, AttachmentTooLargeError
from claude_sdk_pattern.sessions.media_types import IMAGES, PDF

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"], responses=PROBLEM_RESPONSES)

# What a page may show. Whatever else a file is, a browser saves it and does not open it in our name.
_SHOWN: Final = frozenset({*IMAGES, PDF})

# Should somebody open it as a page after all, it is one without scripts, origin and network.
_POLICY: Final = "sandbox; default-src 'none'; frame-ancestors 'none'"

_FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The file",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("/{session_id}/attachments", status_code=201, openapi_extra=FILE_FORM)
async def upload_attachment(request: Request, session: Writable, services: ServicesDependency) -> AttachmentView:
    """Upload one file. It reaches the agent with the message that names its id."""
    store = services.manager.attachments
    announced = request.headers.get("content-length", "")
    # Told at once, the client need not send what would be refused.
    if announced.isdecimal() and int(announced) > store.max_bytes + FRAMING_BYTES:
        raise AttachmentTooLargeError(store.max_bytes)
    upload = await UploadedFile.begin(request)
    stored = await store.add(session.id, upload.name, upload)
    return AttachmentView(
        attachment_id=stored.attachment_id,
        name=stored.name,
        size_bytes=stored.size_bytes,
        media_type=stored.media_type,
    )


@router.get("/{session_id}/attachments/{attachment_id}", response_class=FileResponse, responses=_FILE)
async def download_attachment(attachment_id: str, session: Readable, services: ServicesDependency) -> FileResponse:
    """Return an uploaded file: pictures and PDFs to be shown, all others to be saved."""
    store = services.manager.attachments
    stored = await store.get(session.id, attachment_id)
    path = store.path(session.id, stored.attachment_id)
    if not path.is_file():
        # Its row is here, its bytes are on another machine or were lost.
        raise AttachmentNotFoundError
    return FileResponse(
        path,
        media_type=stored.media_type,
        filename=stored.name,
        content_disposition_type="inline" if stored.media_type in _SHOWN else "attachment",
        headers={"Content-Security-Policy": _POLICY, "Cross-Origin-Resource-Policy": "same-origin"},
    )
