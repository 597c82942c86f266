"""A stand-in for the model API that answers from scenario files.

It speaks enough of the Messages API that the real Claude Code CLI runs against it, so demo mode, tests and benchmarks
need neither a key nor a network. What it says is data: see ``scenarios/`` and ``docs/scripted-model.md``.
"""

from claude_sdk_pattern.model_gateway.scripted.errors import ScenarioError
from claude_sdk_pattern.model_gateway.scripted.loader import Scenarios, load_scenarios
from claude_sdk_pattern.model_gateway.scripted.running import ScriptedModel, running_scripted_model
from claude_sdk_pattern.model_gateway.scripted.server import ReceivedRequest, ScriptedApp, create_scripted_app

__all__ = [
    "ReceivedRequest",
    "ScenarioError",
    "Scenarios",
    "ScriptedApp",
    "ScriptedModel",
    "create_scripted_app",
    "load_scenarios",
    "running_scripted_model",
]
