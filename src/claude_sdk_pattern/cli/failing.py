"""How a command fails: one clear line per fault on standard error, and exit code 1 (2 is for wrong usage)."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Never

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError
from sqlalchemy.exc import ArgumentError, OperationalError

from claude_sdk_pattern.accounts.errors import AccountError
from claude_sdk_pattern.config.settings import explain
from claude_sdk_pattern.isolation.kinds import IsolationUnavailableError
from claude_sdk_pattern.plugins.errors import InvalidConfigError, InvalidPluginError, PluginError
from claude_sdk_pattern.policy.errors import PolicyFileError
from claude_sdk_pattern.storage.data_folder import DataFolderInUse
from claude_sdk_pattern.storage.schema import SchemaMismatch


def fail(message: str) -> Never:
    """End the command with a message."""
    for line in message.splitlines():
        typer.echo(f"error: {line}", err=True)
    raise typer.Exit(1)


@contextmanager
def explained_failures() -> Generator[None]:
    """Turn what an operator can do something about into a message; anything else is a bug and keeps its traceback."""
    try:
        yield
    except ValidationError as error:
        fail(explain(error))
    except AccountError as error:
        fail(str(error))
    except SchemaMismatch as error:
        fail(f"{error}; run `claude-sdk-pattern migrate`")
    except OperationalError as error:
        # The driver's own words, without the statement and its parameters.
        fail(f"the database cannot be used: {str(error.orig).splitlines()[0]}")
    except (InvalidPluginError, InvalidConfigError) as error:
        fail("\n".join(str(problem) for problem in error.problems))
    except (DataFolderInUse, IsolationUnavailableError, PluginError, PolicyFileError) as error:
        fail(str(error))
    except (ArgumentError, SettingsError, ValueError) as error:
        # A database URL that cannot be read, or of a kind that is not supported.
        fail(str(error))
