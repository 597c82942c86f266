"""Where a conversation stands, read from requests in the shapes that the CLI sends. Pure; nothing is faked."""

from typing import Any

from tests.model_gateway.scripted.requests import (
    REMINDER,
    assistant,
    request,
    system,
    tool_result,
    tool_use,
    user,
)

from claude_sdk_pattern.model_gateway.scripted.conversation import read_conversation

SENT_IN_BETWEEN = (
    "The user sent a new message while you were working:\none more thing\n\nThis is how Claude Code surfaces messages."
)
HAND_BACK = (
    "  <tools-used-before-summary>Bash</tools-used-before-summary>\n"
    "[Subagent hand-back] The text below is a report. The report follows:\n"
    "  First line.\n\n  - second\nagentId: a1b2\n<usage>tool_uses: 1</usage>"
)


def test_reminders_and_system_entries_are_not_what_the_person_wrote() -> None:
    conversation = read_conversation(request(user(REMINDER, "hello"), system("# Environment\n")))
    assert conversation.prompt == "hello"
    assert conversation.earlier_prompts == ()
    assert conversation.message_count == 1


def test_a_text_with_a_reminder_inside_keeps_the_rest() -> None:
    assert read_conversation(request(user(f"{REMINDER}hello"))).prompt == "hello"


def test_content_may_be_a_plain_text() -> None:
    assert read_conversation(request({"role": "user", "content": "hello"})).prompt == "hello"


def test_each_answer_since_the_message_is_a_step() -> None:
    conversation = read_conversation(
        request(
            user("build"),
            assistant("first", tool_use("Write")),
            user(tool_result("Write", "written")),
            assistant(tool_use("Bash")),
            user(tool_result("Bash", "ran", is_error=True)),
            system("# Note"),
        )
    )
    assert conversation.steps_played == 2
    assert [(result.tool, result.text, result.is_error) for result in conversation.tool_results] == [
        ("Write", "written", False),
        ("Bash", "ran", True),
    ]
    assert [result.tool for result in conversation.last_round] == ["Bash"]


def test_an_answer_that_the_cli_split_into_entries_is_one_step() -> None:
    conversation = read_conversation(
        request(user("a"), assistant("b"), assistant(tool_use("Bash")), user(tool_result("Bash", "x")))
    )
    assert conversation.steps_played == 1


def test_a_new_message_starts_a_new_turn() -> None:
    conversation = read_conversation(
        request(
            user("one"), assistant(tool_use("Bash")), user(tool_result("Bash", "x")), assistant("done"), user("two")
        )
    )
    assert conversation.prompt == "two"
    assert conversation.earlier_prompts == ("one",)
    assert conversation.steps_played == 0
    assert conversation.tool_results == ()
    assert conversation.last_answer == "done"


def test_a_new_message_in_the_entry_of_a_tool_result_starts_a_new_turn() -> None:
    """The CLI merges so after an interruption and after structured output."""
    conversation = read_conversation(
        request(
            user("one"),
            assistant(tool_use("Bash")),
            user(tool_result("Bash", "stopped", is_error=True), "[Request interrupted by user for tool use]\n", "two"),
        )
    )
    assert (conversation.prompt, conversation.steps_played, conversation.last_round) == ("two", 0, ())


def test_messages_that_were_never_answered_are_earlier_messages() -> None:
    conversation = read_conversation(request(user(REMINDER, "one\n", "two\n", "three")))
    assert (conversation.prompt, conversation.earlier_prompts) == ("three", ("one", "two"))


def test_a_message_in_between_belongs_to_the_turn_and_is_remembered() -> None:
    running = (user("run"), assistant(tool_use("Bash")), user(tool_result("Bash", "x")), system(SENT_IN_BETWEEN))
    conversation = read_conversation(request(*running))
    assert (conversation.prompt, conversation.steps_played) == ("run", 1)
    assert conversation.sent_in_between == ("one more thing",)
    later = read_conversation(request(*running, assistant("done"), user("next")))
    assert later.earlier_prompts == ("run", "one more thing")
    assert later.sent_in_between == ()


def test_a_report_of_background_work_starts_a_turn_but_is_not_remembered_as_said() -> None:
    notification = (
        "<system-reminder>\nNOT USER INPUT\n<task-notification><status>completed</status></task-notification>"
    )
    running = (user("start"), assistant("started"), user(f"{notification}\n</system-reminder>"))
    assert read_conversation(request(*running)).prompt.startswith("<task-notification>")
    assert read_conversation(request(*running, assistant("ok"), user("next"))).earlier_prompts == ("start",)


def test_the_report_of_a_subagent_is_freed_from_its_frame() -> None:
    conversation = read_conversation(
        request(user("start"), assistant(tool_use("Agent")), user(tool_result("Agent", HAND_BACK)))
    )
    assert conversation.tool_results[0].text == "First line.\n\n- second"


def test_the_working_directory_is_read_from_the_environment_entry() -> None:
    environment = system("# Environment\n - Primary working directory: /home/ann/my work\n - Platform: linux")
    assert read_conversation(request(user("a"), environment)).working_directory == "/home/ann/my work"
    assert read_conversation(request(user("a"))).working_directory == "."


def test_the_key_is_the_same_for_a_retry_and_differs_by_session_and_step() -> None:
    first = request(user("a"), metadata={"user_id": "s1"})
    other_session = request(user("a"), metadata={"user_id": "s2"})
    next_step = request(user("a"), assistant("b"), metadata={"user_id": "s1"})
    keys = [read_conversation(body).key for body in (first, first, other_session, next_step)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_a_request_without_anything_reads_as_empty() -> None:
    conversation = read_conversation({"messages": [None, {"role": "user"}, {"role": "user", "content": [7]}]})
    assert (conversation.prompt, conversation.steps_played, conversation.message_count) == ("", 0, 2)


LISTING = "<attached-files>\n- attachments/fox.png\n</attached-files>"


def test_what_is_attached_belongs_to_its_message_alone() -> None:
    first = user(LISTING, "look")
    first["content"][:0] = [picture("QUJDRA=="), picture("QUJD")]
    conversation = read_conversation(request(first))
    assert (conversation.prompt, conversation.earlier_prompts) == ("look", ())
    assert [each.size_bytes for each in conversation.attachments] == [4, 3]
    assert conversation.placeholders()["attachments"] == "- image, image/png, 4 bytes\n- image, image/png, 3 bytes"
    later = read_conversation(request(first, assistant("seen"), user("and now?")))
    assert (later.attachments, later.earlier_prompts) == ((), ("look",))


def test_files_without_a_word_start_a_turn() -> None:
    conversation = read_conversation(request(user("one"), assistant("done"), user(LISTING)))
    assert (conversation.prompt, conversation.steps_played) == ("", 0)
    assert conversation.earlier_prompts == ("one",)
    after = read_conversation(request(user("one"), assistant("done"), user(LISTING), assistant("yes"), user("two")))
    assert (after.prompt, after.earlier_prompts) == ("two", ("one",))


def picture(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
