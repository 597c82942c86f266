"""Decide what to answer to a conversation: which scenario, which of its steps."""

from collections.abc import Mapping
from dataclasses import replace

from claude_sdk_pattern.model_gateway.scripted.conversation import Conversation
from claude_sdk_pattern.model_gateway.scripted.errors import PlayError
from claude_sdk_pattern.model_gateway.scripted.loader import Match, Scenarios
from claude_sdk_pattern.model_gateway.scripted.reply import Reply, compose, fill_tree, tool_use
from claude_sdk_pattern.model_gateway.scripted.schema import Step
from claude_sdk_pattern.model_gateway.scripted.schema_sample import misfit, sample
from claude_sdk_pattern.model_gateway.scripted.templates import fill_number

STRUCTURED_OUTPUT = "StructuredOutput"
"""The tool that the CLI offers when its caller demands output of a given shape."""


def play(scenarios: Scenarios, conversation: Conversation, *, estimated_input_tokens: int) -> Reply:
    """Return the next answer of ``conversation``. A mistake in numbers or JSON becomes the text of the answer."""
    match = scenarios.choose(conversation.prompt, conversation.tools)
    values = {**conversation.placeholders(), **(match.words if match else {})}
    step = _step(scenarios, match, conversation)
    try:
        reply = compose(step, values, estimated_input_tokens=estimated_input_tokens)
    except PlayError as problem:
        # No placeholders in this one: the words of the problem may quote the message.
        reply = compose(
            Step(say="{{ problem }}"), {"problem": str(problem)}, estimated_input_tokens=estimated_input_tokens
        )
    if conversation.sent_in_between and _ends_the_turn(reply):
        note = compose(scenarios.after_a_message_in_between, values, estimated_input_tokens=estimated_input_tokens)
        reply = replace(reply, blocks=(*reply.blocks, *note.blocks))
    return _with_structured_output(reply, match, conversation, values)


def _ends_the_turn(reply: Reply) -> bool:
    return reply.stop_reason == "end_turn" and reply.failure is None


def _step(scenarios: Scenarios, match: Match | None, conversation: Conversation) -> Step:
    steps = match.scenario.steps if match else (scenarios.fallback,)
    if any(result.is_error for result in conversation.last_round):
        own = match.scenario.after_a_failed_tool if match else None
        if own != "continue":
            return own or scenarios.after_a_failed_tool
    if conversation.steps_played < len(steps):
        return steps[conversation.steps_played]
    return scenarios.after_the_last_step


def _with_structured_output(
    reply: Reply, match: Match | None, conversation: Conversation, values: Mapping[str, str]
) -> Reply:
    """Add the call that hands in the data to what would otherwise be the turn's last answer."""
    schema = conversation.tools.get(STRUCTURED_OUTPUT)
    handed_in = any(result.tool == STRUCTURED_OUTPUT and not result.is_error for result in conversation.tool_results)
    given = match.scenario.structured_output if match else None
    if schema is None or handed_in or not _ends_the_turn(reply) or given == "none":
        return reply
    failures = sum(result.tool == STRUCTURED_OUTPUT for result in conversation.tool_results)
    if match is not None and failures < fill_number(match.scenario.misfits, values):
        data = misfit(schema)
    else:
        data = sample(schema) if given is None else fill_tree(given, values)
    return replace(reply, blocks=(*reply.blocks, tool_use(STRUCTURED_OUTPUT, data)), stop_reason="tool_use")
