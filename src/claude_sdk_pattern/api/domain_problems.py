"""How errors of the rooms look from outside: one table from exception to status, code and title.

A class without an entry goes by its nearest base class that has one. ``detail`` replaces the exception's own message
where that would say too much, or where two errors must look the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.exc import OperationalError

from claude_sdk_pattern.accounts import errors as accounts
from claude_sdk_pattern.events import errors as tape
from claude_sdk_pattern.limits import errors as limits
from claude_sdk_pattern.plugins import errors as plugins
from claude_sdk_pattern.policy import errors as policy
from claude_sdk_pattern.sessions import errors as sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemKind:
    """What all problems of one kind have in common. ``code`` is stable: clients decide by it."""

    status: int
    code: str
    title: str
    detail: str | None = None
    retry_after_seconds: int | None = None


# A session one may not see is answered exactly like one that does not exist: the difference would tell which ids do.
_NO_SUCH_SESSION = ProblemKind(
    status=404, code="session_not_found", title="No such session", detail="There is no such session."
)
_NOT_SIGNED_IN = ProblemKind(status=401, code="not_authenticated", title="Not signed in")
_SHUTTING_DOWN = ProblemKind(
    status=503, code="server_shutting_down", title="The server is restarting", retry_after_seconds=5
)
_ELSEWHERE = ProblemKind(
    status=409, code="session_elsewhere", title="Another server works on the session", retry_after_seconds=5
)
_STORAGE_UNAVAILABLE = ProblemKind(
    status=503,
    code="storage_unavailable",
    title="Storage unavailable",
    detail="The server cannot reach its database. Try again in a moment.",
    retry_after_seconds=2,
)

DOMAIN_PROBLEMS: Mapping[type[Exception], ProblemKind] = {
    accounts.InvalidUsernameError: ProblemKind(status=422, code="invalid_username", title="Invalid username"),
    accounts.WeakPasswordError: ProblemKind(status=422, code="weak_password", title="Weak password"),
    accounts.UsernameTakenError: ProblemKind(status=409, code="username_taken", title="Username taken"),
    accounts.UnknownUserError: ProblemKind(status=404, code="user_not_found", title="No such user"),
    accounts.LastAdminError: ProblemKind(status=409, code="last_admin", title="The last administrator"),
    accounts.UserOwnsSessionsError: ProblemKind(status=409, code="user_owns_sessions", title="The user has sessions"),
    accounts.SetupDoneError: ProblemKind(status=409, code="setup_done", title="There are users already"),
    accounts.InvalidLinkError: ProblemKind(status=410, code="link_expired", title="The link is not good any more"),
    accounts.WrongCredentialsError: ProblemKind(status=401, code="wrong_credentials", title="Wrong credentials"),
    accounts.InvalidRefreshTokenError: ProblemKind(status=401, code="sign_in_ended", title="The sign-in has ended"),
    accounts.AuthenticationError: _NOT_SIGNED_IN,
    accounts.TooManyAttemptsError: ProblemKind(status=429, code="too_many_attempts", title="Too many attempts"),
    accounts.SignInOverloadedError: ProblemKind(status=503, code="sign_in_overloaded", title="The server is busy"),
    limits.RateLimitedError: ProblemKind(status=429, code="rate_limited", title="Too many requests"),
    limits.TooManyConnectionsError: ProblemKind(
        status=429, code="too_many_connections", title="Too many connections", retry_after_seconds=10
    ),
    accounts.NotAllowedError: ProblemKind(status=403, code="not_allowed", title="Not allowed"),
    accounts.SessionHiddenError: _NO_SUCH_SESSION,
    sessions.SessionNotFoundError: _NO_SUCH_SESSION,
    sessions.MessageTooLongError: ProblemKind(status=422, code="message_too_long", title="Message too long"),
    sessions.EmptyMessageError: ProblemKind(status=422, code="message_empty", title="Empty message"),
    sessions.TooManyAttachmentsError: ProblemKind(
        status=422, code="too_many_attachments", title="Too many attachments"
    ),
    sessions.AttachmentNotFoundError: ProblemKind(status=404, code="attachment_not_found", title="No such attachment"),
    sessions.AttachmentTooLargeError: ProblemKind(status=413, code="body_too_large", title="File too large"),
    sessions.StorageFullError: ProblemKind(status=507, code="storage_full", title="Storage full"),
    sessions.QueueFullError: ProblemKind(status=409, code="session_busy", title="Too many messages wait"),
    sessions.TooManyWaitingError: ProblemKind(
        status=503, code="server_busy", title="All agents are at work", retry_after_seconds=10
    ),
    sessions.RequestNotPendingError: ProblemKind(status=409, code="request_not_pending", title="Not pending any more"),
    sessions.SessionElsewhereError: _ELSEWHERE,
    sessions.AppNotFoundError: ProblemKind(status=404, code="app_not_found", title="No such app"),
    sessions.AppCallDeniedError: ProblemKind(status=403, code="app_call_denied", title="The policy denies this"),
    sessions.NothingToForkError: ProblemKind(status=409, code="nothing_to_fork", title="Nothing to fork"),
    sessions.NothingToRewindError: ProblemKind(status=409, code="nothing_to_rewind", title="Nothing to go back to"),
    sessions.ShuttingDownError: _SHUTTING_DOWN,
    sessions.SessionError: ProblemKind(status=409, code="refused", title="Refused"),
    policy.PromptBlockedError: ProblemKind(status=422, code="prompt_blocked", title="Message not accepted"),
    policy.InputRefusedError: ProblemKind(status=422, code="input_refused", title="Input not allowed"),
    policy.UnknownRuleError: ProblemKind(status=404, code="rule_not_found", title="No such rule"),
    plugins.UnknownPluginError: ProblemKind(status=404, code="plugin_not_found", title="No such plugin"),
    plugins.UnknownProfileError: ProblemKind(status=404, code="profile_not_found", title="No such profile"),
    plugins.InvalidPluginError: ProblemKind(status=422, code="plugin_invalid", title="No valid plugin"),
    plugins.InvalidConfigError: ProblemKind(status=422, code="plugin_config_invalid", title="Invalid configuration"),
    plugins.PluginChangedError: ProblemKind(status=409, code="plugin_changed", title="The plugin has changed"),
    plugins.DependencyError: ProblemKind(status=409, code="plugin_dependency", title="Plugins depend on each other"),
    plugins.ActivationError: ProblemKind(status=409, code="plugin_failed", title="The plugin does not work"),
    plugins.ArchiveTooLargeError: ProblemKind(status=413, code="body_too_large", title="Archive too large"),
    plugins.PackageNotTrustedError: ProblemKind(status=422, code="package_not_trusted", title="Package not trusted"),
    plugins.UploadRefusedError: ProblemKind(status=422, code="archive_refused", title="Archive not accepted"),
    plugins.UnknownMarketplaceError: ProblemKind(status=404, code="marketplace_not_found", title="No such marketplace"),
    plugins.MarketplaceError: ProblemKind(status=409, code="marketplace_refused", title="Not to be had from there"),
    plugins.PluginError: ProblemKind(status=409, code="plugin_refused", title="Not possible now"),
    tape.UnknownSession: _NO_SUCH_SESSION,
    tape.DuplicateClientId: ProblemKind(
        status=409,
        code="duplicate_message",
        title="Duplicate message",
        detail="A message with this client_id was sent before.",
    ),
    tape.TapeClosed: _SHUTTING_DOWN,
    tape.TapeTakenOver: _ELSEWHERE,
    tape.TapeError: _STORAGE_UNAVAILABLE,
    OperationalError: _STORAGE_UNAVAILABLE,
}


def kind_of(error: Exception) -> ProblemKind:
    """Return the table's entry for an exception.

    Raises:
        KeyError: it has none, nor has any of its base classes.
    """
    for ancestor in type(error).__mro__:
        if ancestor in DOMAIN_PROBLEMS:
            return DOMAIN_PROBLEMS[ancestor]
    raise KeyError(type(error).__name__)
