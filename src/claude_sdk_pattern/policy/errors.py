"""What can go wrong with a policy.

::

    PolicyError
    ├── PolicyFileError        a policy file cannot be used; the message names the file, the place and the fault
    ├── PromptBlockedError     the prompt guard refused a message; nothing of it is on the tape
    ├── InputRefusedError      a person's edited input is not allowed or not of the right shape; edit it again
    ├── ApprovalNotPendingError  the request was answered, has expired, or never was
    └── UnknownRuleError       there is no such remembered rule
"""


class PolicyError(Exception):
    """Base of all of them."""


class PolicyFileError(PolicyError):
    """A policy file cannot be read or is not valid."""


class PromptBlockedError(PolicyError):
    """The prompt guard refused a message. ``rule`` is the id of the pattern that decided."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(f"{why} (rule {rule}). Reword the message and send it again.")
        self.rule = rule


class InputRefusedError(PolicyError):
    """The input that a person put in place of the agent's is not allowed, or not of its shape.

    The request stays open: the person can change the input and answer again.
    """


class ApprovalNotPendingError(PolicyError):
    """The request was answered, has expired, or never was. ``decided_by`` is who answered, if somebody did."""

    def __init__(self, request_id: str, *, decided_by: str | None = None) -> None:
        super().__init__("this permission request is not pending any more")
        self.request_id = request_id
        self.decided_by = decided_by


class UnknownRuleError(PolicyError):
    """There is no such rule, or not one of this session or person."""

    def __init__(self) -> None:
        super().__init__("there is no such rule")
