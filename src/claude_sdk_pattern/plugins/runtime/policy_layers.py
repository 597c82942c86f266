"""What active plugins change about the policy of a session: the tools they declare, and the hooks they bring."""

import glob
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

from claude_sdk_pattern.plugins.author import JsonObject
from claude_sdk_pattern.plugins.manifest import Hook as DeclaredHook
from claude_sdk_pattern.plugins.plugin_set import ActivePlugin
from claude_sdk_pattern.plugins.runtime.names import server_names
from claude_sdk_pattern.policy.hooks import Hook, HookCall, HookReply
from claude_sdk_pattern.policy.model import Category, FilePolicy, Policy, Rule

type RunFunction = Callable[[str, JsonObject, float], Awaitable[JsonObject | None]]
"""Runs a hook function of a plugin: its name, what happened, the limit in seconds; to what it returned."""

# A plugin may object, ask, change and add. That nobody is asked is not for a plugin to decide.
_DECISIONS = ("deny", "ask")


def policy_layer(plugin: ActivePlugin) -> Policy:
    """Return what a plugin lays over the policy: the tools of its own servers that it declares.

    Patterns that reach for the tools of others mean nothing here.
    """
    own = tuple(f"mcp__{server}__" for server in server_names(plugin))
    declared: dict[str, Category] = {
        pattern: "mcp" for pattern in plugin.package.permissions.tools if pattern.startswith(own)
    }
    return Policy(version=1, tools=cast("dict[Any, Category]", declared))


def folders_layer(place: Path) -> Policy:
    """Return what is laid over the policy of sessions whose plugins have folders in ``place``: agents may read there.

    Skills and commands tell them to look into files beside them, and nobody needs to be asked about each.
    """
    resolved = os.path.realpath(place)
    rule = Rule(
        id="plugins.folder",
        decision="allow",
        tools=("Read", "Glob", "Grep"),
        paths=(glob.escape(resolved), f"{glob.escape(resolved)}/*"),
        reason="It lies in the folder of an active plugin.",
    )
    return Policy(version=1, files=FilePolicy(readable=(resolved,)), rules=(rule,))


def hooks_of(plugin: ActivePlugin, run: RunFunction) -> Sequence[Hook]:
    """Return the hooks of a plugin; their functions are run by ``run``, in the plugin's own process."""
    manifest = plugin.package.manifest
    if manifest is None:
        return ()
    return [
        Hook(
            name=f"{plugin.name}/{number}/{hook.function}",
            event=hook.event,
            run=_running(plugin.name, hook, run),
            kind=hook.kind,
            tools=("*",) if not hook.matcher else tuple(hook.matcher.split("|")),
            # Behind the limit of the call, which says more about what happened.
            timeout_seconds=hook.timeout_seconds + 1.0,
        )
        for number, hook in enumerate(manifest.hooks)
    ]


def _running(plugin: str, hook: DeclaredHook, run: RunFunction) -> Callable[[HookCall], Awaitable[HookReply]]:
    async def ask(call: HookCall) -> HookReply:
        return read_reply(plugin, await run(hook.function, call.data, hook.timeout_seconds))

    return ask


def read_reply(plugin: str, reply: JsonObject | None) -> HookReply:
    """Return what a hook function answered, as the dispatcher wants it.

    Raises:
        ValueError: it is no such answer; of a security hook that denies.
    """
    if not reply:
        return HookReply()
    decision, changed = reply.get("decision"), reply.get("updated_input")
    if decision not in (None, *_DECISIONS):
        raise ValueError(f"a hook of {plugin} decides {decision!r}; it may decide {' or '.join(_DECISIONS)}")
    if changed is not None and not isinstance(changed, dict):
        raise ValueError(f"a hook of {plugin} changes an input to something that is no object")
    return HookReply(
        decision=decision,
        reason=_text(reply.get("reason")),
        rule=f"plugin.{plugin}" if decision is not None else None,
        updated_input=cast("JsonObject | None", changed),
        context=_text(reply.get("context")),
    )


def _text(value: Any) -> str | None:
    return value[:10_000] if isinstance(value, str) else None
