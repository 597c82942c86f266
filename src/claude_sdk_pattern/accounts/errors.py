"""What can go wrong with accounts and what may be done with them.

::

    AccountError
    ├── InvalidUsernameError          the name breaks the rules; choose another
    ├── WeakPasswordError             the password breaks the rules; choose another
    ├── UsernameTakenError            there is a user of this name already
    ├── UnknownUserError              there is no such user
    ├── UserOwnsSessionsError         the user has sessions, which would be left without anybody; delete them first
    ├── LastAdminError                it would leave nobody who may administer; make another administrator first
    ├── SetupDoneError                there are users already; ask one of them
    ├── AuthenticationError           whoever asks has not proved who they are
    │   ├── WrongCredentialsError     unknown name, wrong password or disabled user: deliberately not said which
    │   ├── InvalidAccessTokenError   forged, expired, or its login has ended; refresh, then sign in again
    │   ├── InvalidRefreshTokenError  unknown, expired, revoked or used a second time; sign in again
    │   ├── InvalidLinkError          unknown, expired or used before; ask an administrator for a new one
    │   ├── ProviderSignInError       the identity provider did not vouch for anybody we know; ``code`` says why
    │   └── InvalidTicketError        unknown, expired or used before; ask for a new one
    ├── TooManyAttemptsError          too many sign-ins failed; wait
    ├── SignInOverloadedError         too many passwords wait to be checked; try again
    ├── NotAllowedError               signed in, but the role does not suffice
    └── SessionHiddenError            the session is somebody else's; said as if it did not exist

Messages are written for the person who gets them: the edge passes them on.
"""


class AccountError(Exception):
    """Base of all errors of this room."""


class InvalidUsernameError(AccountError):
    """The username breaks the rules; the message says which."""


class WeakPasswordError(AccountError):
    """The password breaks the rules; the message says which, and never holds the password."""


class UsernameTakenError(AccountError):
    """There is a user of this name already; disabled users keep theirs."""

    def __init__(self, username: str) -> None:
        super().__init__(f"there is a user named {username} already")
        self.username = username


class UnknownUserError(AccountError):
    """There is no user of this name or id."""

    def __init__(self, user: str) -> None:
        super().__init__(f"there is no user {user}")
        self.user = user


class UserOwnsSessionsError(AccountError):
    """The user owns sessions and cannot be deleted before them."""

    def __init__(self, username: str) -> None:
        super().__init__(f"{username} has sessions; delete them first")


class LastAdminError(AccountError):
    """It would leave no enabled administrator, and with that nobody who could make one."""

    def __init__(self) -> None:
        super().__init__("This is the last administrator. Make somebody else one first.")


class SetupDoneError(AccountError):
    """The first user is there already."""

    def __init__(self) -> None:
        super().__init__("There are users already. Ask an administrator to add you.")


class AuthenticationError(AccountError):
    """Base of the reasons why somebody counts as not signed in."""


class WrongCredentialsError(AuthenticationError):
    """Username and password do not open an account. Says not why: that would tell which names exist."""

    def __init__(self) -> None:
        super().__init__("The username or the password is wrong.")


class InvalidAccessTokenError(AuthenticationError):
    """The access token is forged or expired, or its login has ended, or its user was disabled."""

    def __init__(self) -> None:
        super().__init__("The access token is missing, expired or not valid any more.")


class InvalidRefreshTokenError(AuthenticationError):
    """The refresh token is unknown, expired or revoked, or was spent before and has now ended its login."""

    def __init__(self) -> None:
        super().__init__("The sign-in has ended. Please sign in again.")


class InvalidLinkError(AuthenticationError):
    """The link is unknown, expired or used, or its user was disabled meanwhile."""

    def __init__(self) -> None:
        super().__init__("This link has expired or was used before. Ask an administrator for a new one.")


class ProviderSignInError(AuthenticationError):
    """Signing in through the identity provider did not work.

    ``code`` is stable and says why; the message is for the person and the operator, and holds nothing secret.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class InvalidTicketError(AuthenticationError):
    """The ticket is unknown, expired or used, or the login it belongs to has ended."""

    def __init__(self) -> None:
        super().__init__("The ticket is expired or was used before. Ask for a new one.")


class TooManyAttemptsError(AccountError):
    """Too many sign-ins with this name from this address; the next is looked at after ``retry_after_seconds``."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(f"Too many attempts to sign in. Try again in {retry_after_seconds} seconds.")
        self.retry_after_seconds = retry_after_seconds


class SignInOverloadedError(AccountError):
    """More passwords wait to be checked than the server has time for."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("Too many people are signing in right now. Try again in a moment.")
        self.retry_after_seconds = retry_after_seconds


class NotAllowedError(AccountError):
    """The user's role does not suffice for what was asked."""


class SessionHiddenError(AccountError):
    """The user has no part in the session and must not learn that it exists."""

    def __init__(self) -> None:
        super().__init__("There is no such session.")
