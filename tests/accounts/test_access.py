"""Who may do what to which session: pure decisions."""

import pytest

from claude_sdk_pattern.accounts.access import SessionAction, SessionRole, authorize, session_role
from claude_sdk_pattern.accounts.errors import SessionHiddenError
from claude_sdk_pattern.accounts.users import Role, User


def user(user_id: str, role: Role = Role.USER) -> User:
    return User(id=user_id, username=user_id, role=role)


@pytest.mark.parametrize("action", SessionAction)
@pytest.mark.parametrize("role", Role)
def test_the_owner_may_do_everything(action: SessionAction, role: Role) -> None:
    assert authorize(user("alice", role), action, "alice") is SessionRole.OWNER


@pytest.mark.parametrize("action", SessionAction)
def test_an_admin_may_do_everything(action: SessionAction) -> None:
    assert authorize(user("root", Role.ADMIN), action, "alice") is SessionRole.OWNER


@pytest.mark.parametrize("action", SessionAction)
@pytest.mark.parametrize("role", [Role.USER, Role.OPERATOR])
def test_for_everybody_else_a_session_does_not_exist(action: SessionAction, role: Role) -> None:
    assert session_role(user("bob", role), "alice") is None
    with pytest.raises(SessionHiddenError):
        authorize(user("bob", role), action, "alice")


def test_a_session_role_includes_itself_and_the_ones_below() -> None:
    order = [SessionRole.VIEWER, SessionRole.EDITOR, SessionRole.OWNER]
    for height, role in enumerate(order):
        assert [other for other in order if role.includes(other)] == order[: height + 1]
