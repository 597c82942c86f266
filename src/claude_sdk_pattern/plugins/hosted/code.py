"""The Python of one plugin, loaded: an MCP server with its tools, which also runs its hooks and its router."""

import asyncio
import base64
import importlib
import inspect
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from claude_agent_sdk import SdkMcpTool, create_sdk_mcp_server
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from claude_sdk_pattern.plugins.author import SURROUNDINGS, Ask, Caller, JsonObject, PlatformRefusedError, Surroundings
from claude_sdk_pattern.plugins.hosted.apps import offer_apps
from claude_sdk_pattern.plugins.hosted.errors import CodeError
from claude_sdk_pattern.plugins.hosted.protocol import (
    ASK_PREFIX,
    HOOK,
    HTTP,
    AskParams,
    AskRequest,
    AskResult,
    CodeSpec,
    HookParams,
    HookResult,
    HttpParams,
    HttpResult,
)

type _Context = ServerRequestContext[Any]


def load_server(spec: CodeSpec, *, is_shared: bool = False) -> Server[Any]:
    """Import what ``spec`` names and return the server that offers it.

    Args:
        spec: what that is.
        is_shared: this process runs other code too, which the plugin's modules must not get in the way of.

    Raises:
        CodeError: something that is named is not there, or is something else.
        BaseException: whatever the plugin's modules raise when they are imported.
    """
    SURROUNDINGS.set(_surroundings(spec))
    _prepare_imports(Path(spec.root), is_shared=is_shared)
    tools = [] if spec.tools is None else _tools(spec)
    hooks = {name: _function(spec, name) for name in spec.hooks}
    config = create_sdk_mcp_server(spec.plugin, tools=[_bounded(tool, spec) for tool in tools])
    server: Server[Any] = config["instance"]
    offer_apps(server, spec, tools)

    async def run_hook(_: _Context, params: HookParams) -> HookResult:
        SURROUNDINGS.set(_surroundings(spec))
        reply = await _called(hooks[params.function], params.data)
        if reply is not None and not isinstance(reply, dict):
            raise CodeError(f"the hook {params.function} has to return a dictionary or nothing")
        return HookResult(reply=cast("JsonObject | None", reply))

    server.add_request_handler(HOOK, HookParams, run_hook)
    if spec.router is not None:
        server.add_request_handler(HTTP, HttpParams, _answering(spec, _attribute(spec, spec.router)))
    return server


def _surroundings(spec: CodeSpec) -> Surroundings:
    return Surroundings(name=spec.plugin, root=Path(spec.root), data=Path(spec.data), config=spec.config)


# --- finding ---------------------------------------------------------------------------------------------------


def _prepare_imports(root: Path, *, is_shared: bool) -> None:
    folders = [str(root / "python"), str(root)]
    others = [path for path in sys.path if path not in folders]
    # First where it is alone: a module of the plugin is what its manifest means.
    sys.path[:] = [*others, *folders] if is_shared else [*folders, *others]
    # Those of an earlier version.
    for name, module in list(sys.modules.items()):
        if _is_inside(module, root):
            del sys.modules[name]


def _import(spec: CodeSpec, name: str) -> ModuleType:
    module = importlib.import_module(name)
    if not _is_inside(module, Path(spec.root)):
        raise CodeError(f"the name of the module {name} is taken; give it another")
    return module


def _is_inside(module: ModuleType, root: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).is_relative_to(root)


def _attribute(spec: CodeSpec, place: str) -> Any:
    module, _, name = place.partition(":")
    try:
        return getattr(_import(spec, module), name)
    except AttributeError:
        raise CodeError(f"the module {module} has no {name}") from None


def _function(spec: CodeSpec, place: str) -> Callable[[JsonObject], Any]:
    function = _attribute(spec, place)
    if not callable(function):
        raise CodeError(f"{place} is no function")
    return function


def _tools(spec: CodeSpec) -> list[SdkMcpTool[Any]]:
    module = _import(spec, spec.tools or "")
    found: dict[str, SdkMcpTool[Any]] = {}
    for value in vars(module).values():
        if isinstance(value, SdkMcpTool):
            tool = cast("SdkMcpTool[Any]", value)
            if found.setdefault(tool.name, tool) is not tool:
                raise CodeError(f"two tools of the module {spec.tools} are called {tool.name}")
    if not found:
        raise CodeError(f"the module {spec.tools} has no function with @tool")
    return list(found.values())


# --- calling ---------------------------------------------------------------------------------------------------


def _bounded(tool: SdkMcpTool[Any], spec: CodeSpec) -> SdkMcpTool[Any]:
    """Return a tool that answers with an error in place of more than anybody reads."""

    async def handler(arguments: Any) -> dict[str, Any]:
        # Here and not once for all: the server runs each call in a context that knows nothing of the one it began in.
        SURROUNDINGS.set(_surroundings(spec))
        try:
            result = await tool.handler(arguments)
        except MemoryError as error:
            raise MemoryError("The plugin has not enough memory for this.") from error
        except SystemExit as error:
            # It would end the process, and with it what others wait for.
            raise CodeError("The tool wanted to exit.") from error
        size = len(json.dumps(result, ensure_ascii=False, default=str).encode(errors="replace"))
        if size <= spec.max_result_bytes:
            return result
        told = f"The result has {size} bytes, and the limit is {spec.max_result_bytes}. Ask for less."
        return {"content": [{"type": "text", "text": told}], "is_error": True}

    return replace(tool, handler=handler)


async def _called(function: Callable[[JsonObject], Any], data: JsonObject) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(data)
    # A plain function may block; the others go on meanwhile.
    return await asyncio.to_thread(function, data)


def _answering(spec: CodeSpec, router: Any) -> Callable[[_Context, HttpParams], Awaitable[HttpResult]]:
    """Return what answers HTTP requests with a router."""
    # Imported here, because they take their time and most plugins have no endpoints.
    import httpx2
    from fastapi import APIRouter, FastAPI

    if not isinstance(router, APIRouter):
        raise CodeError(f"{spec.router} is no FastAPI router")
    app = FastAPI(title=spec.plugin)
    app.include_router(router)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)

    async def answer(context: _Context, params: HttpParams) -> HttpResult:
        SURROUNDINGS.set(
            replace(
                _surroundings(spec),
                ask=_asking(context),
                call_id=params.call_id,
                caller=None if params.caller is None else Caller(**params.caller),
            )
        )
        async with httpx2.AsyncClient(transport=transport, base_url="http://plugin") as client:
            response = await client.request(
                params.http_method, params.path, headers=params.headers, content=base64.b64decode(params.body)
            )
        if len(response.content) > spec.max_result_bytes:
            raise CodeError(f"the answer has {len(response.content)} bytes, the limit is {spec.max_result_bytes}")
        return HttpResult(
            status=response.status_code,
            headers=list(response.headers.multi_items()),
            body=base64.b64encode(response.content).decode(),
        )

    return answer


def _asking(context: _Context) -> Ask:
    async def ask(name: str, params: JsonObject) -> JsonObject:
        request = AskRequest(method=ASK_PREFIX + name, params=AskParams(**params))
        result = await context.session.send_request(cast("Any", request), AskResult)
        if result.refused is not None:
            raise PlatformRefusedError(result.refused)
        return result.model_dump()

    return ask
