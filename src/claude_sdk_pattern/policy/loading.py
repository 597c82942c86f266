"""Reads policies from files. A policy that is wrong keeps the server from starting: there is no half of one."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import yaml
from pydantic import ValidationError

from claude_sdk_pattern.policy.errors import PolicyFileError
from claude_sdk_pattern.policy.model import HostPolicy, Policy


def builtin_policy() -> Policy:
    """Return the policy that comes with the package."""
    text = resources.files(__package__).joinpath("builtin.yaml").read_text(encoding="utf-8")
    return parse_policy(text, name="builtin.yaml")


def load_policy(operator_file: Path | None, *, open_hosts: Sequence[str] = ()) -> Policy:
    """Return the built-in policy with the operator's laid over it.

    ``open_hosts`` are those that the walls let agents reach, with or without a port: to open them once is enough.

    Raises:
        PolicyFileError: the file cannot be read or is not valid.
    """
    opened = HostPolicy(allow=tuple(host.partition(":")[0] for host in open_hosts))
    policy = builtin_policy().with_layer(Policy(version=1, hosts=opened))
    if operator_file is None:
        return policy
    try:
        text = operator_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"{operator_file}: it cannot be read: {error}") from error
    layer = parse_policy(text, name=str(operator_file))
    try:
        return policy.with_layer(layer)
    except ValueError as error:
        raise PolicyFileError(f"{operator_file}: {error}") from error


def parse_policy(text: str, *, name: str) -> Policy:
    """Return the policy written in ``text``; ``name`` stands in the messages.

    Raises:
        PolicyFileError: it is no YAML, or no policy.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyFileError(f"{name}: this is no YAML: {error}") from error
    try:
        return Policy.model_validate(data)
    except ValidationError as error:
        faults = [
            f"{name}: {'.'.join(str(part) for part in fault['loc']) or 'the whole file'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
        raise PolicyFileError("\n".join(faults)) from error
