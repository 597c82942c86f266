"""The gate's decisions, as tables: pure, but for a real folder with real links."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claude_sdk_pattern.policy.calls import GateContext, ToolCall, Verdict, input_hash
from claude_sdk_pattern.policy.gate import STRUCTURAL_RULES, PermissionGate
from claude_sdk_pattern.policy.loading import builtin_policy
from claude_sdk_pattern.policy.model import CategoryPolicy, FilePolicy, HostPolicy, Policy, Rule
from claude_sdk_pattern.policy.suggestions import suggest_rules


def bash(gate: PermissionGate, context: GateContext, command: str, **more: object) -> Verdict:
    return gate.decide(ToolCall(tool="Bash", input={"command": command, **more}), context)


INSIDE = [
    ("Read", "src/a.py"),
    ("Read", "./src/../b.py"),
    ("Read", "inner/a.py"),
    ("Read", "new folder/ü/名前.txt"),
    ("Read", "..a/b"),
    ("Read", "a..b"),
    ("Write", "not/there/yet.txt"),
    ("Edit", "src/a.py"),
    ("Write", "~/plans/plan.md"),
    ("Read", "~/projects/x/tool-results/1.txt"),
    ("Read", "\u2024\u2024/x"),
    ("Read", "file:///etc/passwd"),
    ("Read", "%2e%2e/other"),
    ("Read", "loop"),
]

OUTSIDE = [
    ("Read", "/etc/passwd"),
    ("Read", "../other/secret.txt"),
    ("Read", "src/../../other/secret.txt"),
    ("Read", "to-passwd"),
    ("Read", "to-other/secret.txt"),
    ("Read", "chain/secret.txt"),
    ("Read", "src/up/other/secret.txt"),
    ("Read", "../own-but-longer/x"),
    ("Read", "/proc/self/environ"),
    ("Read", "~"),
    ("Read", "~/.claude.json"),
    ("Read", "~root/.ssh/id_rsa"),
    ("Read", "a\0b"),
    ("Write", "~/projects/x.jsonl"),
    ("Write", "/etc/cron.d/x"),
    ("Write", "to-other/new.txt"),
    ("Edit", "../other/secret.txt"),
    ("MultiEdit", "/etc/profile"),
    ("LS", "/"),
    ("Grep", "/etc"),
    ("Glob", ".."),
]

FIELD = {"LS": "path", "Grep": "path", "Glob": "path"}


@pytest.mark.parametrize(("tool", "path"), INSIDE)
def test_a_path_inside_the_session_is_left_to_the_mode(
    gate: PermissionGate, context: GateContext, tool: str, path: str
) -> None:
    verdict = gate.decide(ToolCall(tool=tool, input={FIELD.get(tool, "file_path"): path}), context)
    assert (verdict.decision, verdict.is_granted) == ("allow", False)


@pytest.mark.parametrize(("tool", "path"), OUTSIDE)
def test_a_path_that_leads_out_of_the_session_is_denied(
    gate: PermissionGate, context: GateContext, tool: str, path: str
) -> None:
    verdict = gate.decide(ToolCall(tool=tool, input={FIELD.get(tool, "file_path"): path}), context)
    assert (verdict.decision, verdict.rule) == ("deny", "files.outside-session")
    assert verdict.reason
    assert "workspace" in verdict.reason, "it says what to do instead"


@pytest.mark.parametrize(
    ("tool", "folder", "decision"),
    [
        ("Read", "readable", "allow"),
        ("Write", "readable", "deny"),
        ("Read", "writable", "allow"),
        ("Write", "writable", "allow"),
        ("Read", "other", "deny"),
    ],
)
def test_folders_that_the_policy_opens_are_open_for_what_it_says(
    context: GateContext, tmp_path: Path, tool: str, folder: str, decision: str
) -> None:
    for name in ("readable", "writable", "other"):
        (tmp_path / name).mkdir()
    files = FilePolicy(readable=(f"{tmp_path}/readable",), writable=(f"{tmp_path}/writable",))
    gate = PermissionGate(builtin_policy()).with_layers([Policy(version=1, files=files)])
    for path, expected in (
        (f"{tmp_path}/{folder}/deep/file", decision),
        (f"{tmp_path}/{folder}/../../x", "deny"),
        (f"{tmp_path}/{folder}-and-more/x", "deny"),
    ):
        verdict = gate.decide(ToolCall(tool=tool, input={"file_path": path, "content": "x"}), context)
        assert verdict.decision == expected, path


@pytest.mark.parametrize(
    ("pattern", "folder", "decision"),
    [
        ("**/*.py", None, "allow"),
        ("src/*.py", None, "allow"),
        ("*", "src", "allow"),
        ("/etc/*", None, "deny"),
        ("../*", None, "deny"),
        ("*/../../other/*", None, "deny"),
        ("{a,../../other}/*", None, "deny"),
        ("../../other/*", "src", "deny"),
        ("to-other/*", None, "deny"),
    ],
)
def test_patterns_of_files_are_paths_too(
    gate: PermissionGate, context: GateContext, pattern: str, folder: str | None, decision: str
) -> None:
    tool_input = {"pattern": pattern, **({"path": folder} if folder else {})}
    assert gate.decide(ToolCall(tool="Glob", input=tool_input), context).decision == decision


ORDINARY = [
    "ls -la",
    "cd src && python3 -m pytest -q 2>&1 | tail -5",
    'for f in *.py; do wc -l "$f"; done',
    "if [ -f x ]; then cat x; fi",
    "git status; git diff | head",
    "npm test -- --watch=false",
    "echo 'rm -rf /' > notes.txt",
    "grep -rn 'sudo' .",
    'echo "shutdown now"',
    "echo done > /dev/null 2>&1",
    "mkdir -p build && cp a build/",
    "rm notes.txt",
    "python3 -c 'print(1)'",
    "cat <<'EOF' > a.txt\nsudo rm -rf /\nEOF",
    "tail -f /dev/null",
    'x=$(date); echo "$x"',
    "echo x > /tmp/scratch",
    "timeout 5 sleep 1",
    "git clone ./here there",
]

DENIED = [
    ("sudo ls", "shell.privilege"),
    ("/usr/bin/sudo ls", "shell.privilege"),
    ("s\\udo ls", "shell.privilege"),
    ("su''do ls", "shell.privilege"),
    ('"sudo" ls', "shell.privilege"),
    ("$'\\x73udo' ls", "shell.privilege"),
    ("ls; sudo ls", "shell.privilege"),
    ("ls && sudo ls", "shell.privilege"),
    ("ls || sudo ls", "shell.privilege"),
    ("ls | sudo tee x", "shell.privilege"),
    ("ls &\nsudo ls", "shell.privilege"),
    ("echo $(sudo id)", "shell.privilege"),
    ("echo `sudo id`", "shell.privilege"),
    ("cat <(sudo cat x)", "shell.privilege"),
    ("(cd x; sudo ls)", "shell.privilege"),
    ("if true; then sudo ls; fi", "shell.privilege"),
    ("f() { sudo ls; }; f", "shell.privilege"),
    ("bash -c 'sudo ls'", "shell.privilege"),
    ('bash -lc "sudo ls"', "shell.privilege"),
    ("sh -c 'bash -c \"sudo ls\"'", "shell.privilege"),
    ("eval 'sudo ls'", "shell.privilege"),
    ("bash <<'EOF'\nsudo ls\nEOF", "shell.privilege"),
    ("bash <<< 'sudo ls'", "shell.privilege"),
    ("env A=b sudo ls", "shell.privilege"),
    ("nohup nice -n 5 timeout -s KILL 5 sudo ls", "shell.privilege"),
    ("find . -exec sudo rm {} \\;", "shell.privilege"),
    ("ls | xargs -I{} sudo rm {}", "shell.privilege"),
    ("command sudo ls", "shell.privilege"),
    ("exec sudo ls", "shell.privilege"),
    ("trap 'sudo ls' EXIT", "shell.privilege"),
    ("A=1 sudo ls", "shell.privilege"),
    ("echo ${x:-$(sudo id)}", "shell.privilege"),
    ("rm -rf /", "shell.delete-root"),
    ("rm -fr -- /", "shell.delete-root"),
    ("rm -r --force /*", "shell.delete-root"),
    ("rm -rf ~", "shell.delete-root"),
    ('rm -rf "$HOME"', "shell.delete-root"),
    ("rm -rf ${HOME}/", "shell.delete-root"),
    ("bash -c 'rm -rf /'", "shell.delete-root"),
    ("busybox rm -rf /", "shell.delete-root"),
    ("shutdown -h now", "shell.machine"),
    ("nsenter -t 1 -m sh", "shell.machine"),
    ("unshare -r bash", "shell.machine"),
    ("mkfs.ext4 /dev/sda1", "shell.disk"),
    ("dd if=x of=/dev/sda bs=1M", "shell.disk"),
    ("cat /proc/1/environ", "shell.other-processes"),
    ("cat < /etc/hosts; cat /proc/self/environ", "shell.other-processes"),
    ("cat /etc/shadow", "shell.secret-files"),
    ("socat - EXEC:sh", "shell.reverse-shell"),
    (":(){ :|:& };:", "shell.fork-bomb"),
    ("b() { b & b & }; b", "shell.fork-bomb"),
    ("echo x > /etc/passwd", "files.outside-session"),
    ("echo x >> ../other/secret.txt", "files.outside-session"),
    ("echo x >| to-other/y", "files.outside-session"),
    ("bash -c 'echo x > /etc/y'", "files.outside-session"),
    ("echo x > /tmp/../etc/y", "files.outside-session"),
    ("curl https://example.org", "network.host"),
    ("curl -s -o x example.org/a", "network.host"),
    ("wget -q http://127.0.0.1:8000/", "network.host"),
    ("curl $URL", "network.host"),
    ("curl http://2130706433/", "network.host"),
    ("ssh -p 22 user@host ls", "network.host"),
    ("scp a host:b", "network.host"),
    ("git clone https://example.org/x.git", "network.host"),
    ("git clone git@example.org:x.git", "network.host"),
    ("bash -c 'echo $ANTHROPIC_API_KEY'", "secrets.reference"),
    ("eval 'echo ${ANTHROPIC_API_KEY}'", "secrets.reference"),
]

ASKED = [
    ("rm -rf build", "shell.delete-recursive"),
    ("rm -r build", "shell.delete-recursive"),
    ("rm --recursive build", "shell.delete-recursive"),
    ("find . -name '*.o' -delete", "shell.delete-recursive"),
    ("git reset --hard", "shell.delete-recursive"),
    ("git clean -fdx", "shell.delete-recursive"),
    ("git push", "shell.publish"),
    ("git push origin main --force", "shell.publish"),
    ("npm publish", "shell.publish"),
    ("LD_PRELOAD=./x.so ls", "shell.injected-environment"),
    ("PATH=.:$PATH make", "shell.injected-environment"),
    ("export BASH_ENV=./x; ls", "shell.injected-environment"),
    ("$CMD x", "shell.unreadable"),
    ("$(cat x) y", "shell.unreadable"),
    ("l?", "shell.unreadable"),
    ('eval "$X"', "shell.unreadable"),
    ('bash -c "$X"', "shell.unreadable"),
    ("cat x | sh", "shell.unreadable"),
    ("cat x | python3", "shell.unreadable"),
    ("echo 'not closed", "shell.unreadable"),
    ("if true; then ls", "shell.unreadable"),
    ("echo " + "x" * 30_000, "shell.unreadable"),
    ("echo a\u202eb", "shell.hidden-characters"),
    ("echo a\u200bb", "shell.hidden-characters"),
]


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_commands_are_left_to_the_mode(gate: PermissionGate, context: GateContext, command: str) -> None:
    verdict = bash(gate, context, command)
    assert (verdict.decision, verdict.rule) == ("allow", None)


@pytest.mark.parametrize(("command", "rule"), DENIED)
def test_commands_that_are_denied_name_their_rule(
    gate: PermissionGate, context: GateContext, command: str, rule: str
) -> None:
    verdict = bash(gate, context, command)
    assert (verdict.decision, verdict.rule) == ("deny", rule)
    assert verdict.reason


@pytest.mark.parametrize(("command", "rule"), ASKED)
def test_doubtful_commands_are_asked_about(gate: PermissionGate, context: GateContext, command: str, rule: str) -> None:
    verdict = bash(gate, context, command)
    assert (verdict.decision, verdict.rule) == ("ask", rule)


@pytest.mark.parametrize(("command", "rule"), ASKED)
def test_a_session_that_asks_nobody_denies_what_it_would_ask(
    gate: PermissionGate, context: GateContext, command: str, rule: str
) -> None:
    verdict = bash(gate, replace(context, permission_mode="dontAsk"), command)
    assert (verdict.decision, verdict.rule) == ("deny", rule)


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("echo $ANTHROPIC_API_KEY", "echo ''"),
        ("echo ${ANTHROPIC_API_KEY}", "echo ''"),
        ("echo ${ANTHROPIC_API_KEY:0:5}x", "echo ''x"),
        ('echo "key: $ANTHROPIC_API_KEY."', 'echo "key: ."'),
        ("cat <<E\n$ANTHROPIC_API_KEY\nE", "cat <<E\n\nE"),
    ],
)
def test_references_to_secret_variables_are_taken_out(
    gate: PermissionGate, context: GateContext, command: str, changed: str
) -> None:
    verdict = bash(gate, context, command)
    assert verdict.changed_input == {"command": changed}
    assert verdict.changes
    assert bash(gate, context, changed).changed_input is None, "nothing is left of it"


def test_what_is_only_written_about_a_variable_stays(gate: PermissionGate, context: GateContext) -> None:
    assert bash(gate, context, "echo '$ANTHROPIC_API_KEY'").changed_input is None


def test_a_tool_nobody_declared_is_denied_until_a_layer_declares_it(gate: PermissionGate, context: GateContext) -> None:
    call = ToolCall(tool="mcp__acme__lookup", input={"q": "${ACME_API_KEY} x"})
    assert gate.decide(call, context).rule == "tools.undeclared"
    plugin = Policy(version=1, tools={"mcp__acme__*": "mcp"}, secret_variables=("ACME_*",))
    verdict = gate.with_layers([plugin]).decide(call, context)
    assert (verdict.decision, verdict.changed_input) == ("allow", {"q": " x"})


def test_a_category_is_for_those_whose_role_is_high_enough(context: GateContext) -> None:
    layer = Policy(version=1, categories={"shell": CategoryPolicy(role="operator")})
    gate = PermissionGate(builtin_policy().with_layer(layer))
    assert bash(gate, context, "ls").rule == "tools.role"
    assert bash(gate, replace(context, role="operator"), "ls").decision == "allow"
    assert bash(gate, replace(context, role="admin"), "ls").decision == "allow"


def test_only_listed_commands_leave_the_sandbox(context: GateContext) -> None:
    gate = PermissionGate(builtin_policy().with_layer(Policy(version=1, unsandboxed=("docker ps *", "make"))))
    for command, decision in [
        ("docker ps -a", "allow"),
        ("make", "allow"),
        ("make && docker ps", "allow"),
        ("make clean", "deny"),
        ("docker ps; cat x", "deny"),
        ("docker ps $X", "deny"),
        ("docker ps $(cat x)", "deny"),
        ("", "deny"),
    ]:
        assert bash(gate, context, command, dangerouslyDisableSandbox=True).decision == decision, command
    assert bash(gate, context, "make clean", dangerouslyDisableSandbox=False).decision == "allow"


@pytest.mark.parametrize(
    ("url", "decision"),
    [
        ("https://docs.example.org/a", "allow"),
        ("https://API.Example.com:443/x", "allow"),
        ("https://api.example.com./x", "allow"),
        ("https://example.org/", "deny"),
        ("https://docs.example.org.evil.net/", "deny"),
        ("https://docs.example.org@evil.net/", "deny"),
        ("https://evil.net/?docs.example.org", "deny"),
        ("https://evil.net#docs.example.org", "deny"),
        ("https://evil.net\\@docs.example.org/", "deny"),
        ("https:// docs.example.org/", "deny"),
        ("file:///etc/passwd", "deny"),
        ("gopher://docs.example.org/", "deny"),
        ("http://[::1]/", "deny"),
        ("http://0x7f000001/", "deny"),
        ("docs.example.org", "deny"),
        ("https://docs.exаmple.org/", "deny"),
        ("", "deny"),
    ],
)
def test_urls_are_held_against_the_list_of_hosts(context: GateContext, url: str, decision: str) -> None:
    hosts = HostPolicy(allow=("*.example.org", "api.example.com"))
    gate = PermissionGate(builtin_policy().with_layer(Policy(version=1, hosts=hosts)))
    assert gate.decide(ToolCall(tool="WebFetch", input={"url": url, "prompt": "x"}), context).decision == decision


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("curl -sSL https://docs.example.org/x -o y", "allow"),
        ("curl -H 'Accept: x' -d a=b https://docs.example.org", "allow"),
        ('curl "https://docs.example.org/$PAGE"', "allow"),
        ("curl https://docs.example.org https://evil.net", "deny"),
        ('curl "https://$HOST/x"', "deny"),
        ("curl --url https://evil.net", "deny"),
        ("curl --url=https://evil.net", "deny"),
        ("curl -x evil.net:80 https://docs.example.org", "deny"),
        ("curl --resolve docs.example.org:443:6.6.6.6 https://docs.example.org", "deny"),
        ("curl -K config", "deny"),
        ("wget -i list.txt", "deny"),
        ("git clone https://docs.example.org/x.git", "allow"),
    ],
)
def test_network_commands_are_held_against_the_list_of_hosts(context: GateContext, command: str, decision: str) -> None:
    layer = Policy(version=1, hosts=HostPolicy(allow=("*.example.org",)))
    assert bash(PermissionGate(builtin_policy().with_layer(layer)), context, command).decision == decision


def test_a_remembered_answer_spares_the_question_and_no_denial(gate: PermissionGate, context: GateContext) -> None:
    call = ToolCall(tool="Bash", input={"command": "git push origin main"})
    exact, programs = suggest_rules(call, gate.policy, context)
    assert bash(gate, replace(context, rules=(exact,)), "git push origin main").is_granted
    assert bash(gate, replace(context, rules=(exact,)), "git push origin other").decision == "ask"
    wide = replace(context, rules=(programs,))
    assert bash(gate, wide, "git push origin other").is_granted
    assert bash(gate, wide, "git push; rm -rf build").decision == "ask", "every command has to be covered"
    assert bash(gate, wide, "git push $(cat x)").decision == "ask", "and known"
    assert bash(gate, wide, "git clone https://example.org/x").decision == "deny"
    everything = Rule(id="x", decision="allow", reason="all")
    assert bash(gate, replace(context, rules=(everything,)), "sudo ls").decision == "deny"
    assert (
        gate.decide(ToolCall(tool="AskUserQuestion", input={}), replace(context, rules=(everything,))).decision == "ask"
    )


def test_rules_of_the_database_can_ask_and_deny_for_some_roles(gate: PermissionGate, context: GateContext) -> None:
    rule = Rule(
        id="ops.make", decision="deny", tools=("Bash",), commands=("make *",), roles=("user",), reason="No make."
    )
    assert bash(gate, replace(context, rules=(rule,)), "make all").rule == "ops.make"
    assert bash(gate, replace(context, rules=(rule,), role="admin"), "make all").decision == "allow"
    paths = Rule(id="ops.env", decision="deny", tools=("Read",), paths=("*.env", ".env"), reason="No.")
    guarded = replace(context, rules=(paths,))
    assert gate.decide(ToolCall(tool="Read", input={"file_path": "a/b/.env"}), guarded).rule == "ops.env"
    assert gate.decide(ToolCall(tool="Read", input={"file_path": "env"}), guarded).decision == "allow"


def test_the_hash_of_a_call_is_that_of_its_tool_and_input() -> None:
    one = input_hash("Bash", {"command": "ls", "timeout": 1})
    assert one == input_hash("Bash", {"timeout": 1, "command": "ls"})
    assert one != input_hash("Bash", {"command": "ls ", "timeout": 1})
    assert one != input_hash("Other", {"command": "ls", "timeout": 1})


def test_ids_of_rules_are_unique_and_no_rule_poses_as_a_structural_one() -> None:
    ids = [rule.id for rule in builtin_policy().rules]
    assert len({*ids, *STRUCTURAL_RULES}) == len(ids) + len(STRUCTURAL_RULES)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet=st.characters(codec="utf-8")) | st.text(alphabet="ab$(){}[]|&;<>'\"`\\ \n#!*?~=-/.", max_size=60)
)
def test_whatever_stands_in_a_command_the_gate_has_an_answer(
    gate: PermissionGate, context: GateContext, command: str
) -> None:
    assert bash(gate, context, command).decision in ("allow", "ask", "deny")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(
        st.sampled_from(["..", ".", "src", "up", "to-other", "chain", "inner", "x", "loop", "~"]), max_size=8
    )
)
def test_no_path_that_is_let_through_leads_out(gate: PermissionGate, context: GateContext, parts: list[str]) -> None:
    path = "/".join(parts) or "x"
    verdict = gate.decide(ToolCall(tool="Read", input={"file_path": path}), context)
    if verdict.decision == "allow":
        home = str(context.home)
        named = Path(path.replace("~", home, 1) if path.startswith("~/") else context.workspace / path)
        try:
            real = named.resolve()
        except RuntimeError:
            # A link to itself: there is nothing to open.
            return
        allowed = [context.workspace, *context.readable, *context.writable]
        assert any(real.is_relative_to(folder.resolve()) for folder in allowed)


@pytest.mark.parametrize("prefix", ["", "ls; ", "ls && ", "(", "{ "])
@pytest.mark.parametrize("suffix", ["", "; ls", " | cat", " &"])
def test_no_surroundings_hide_a_command(gate: PermissionGate, context: GateContext, prefix: str, suffix: str) -> None:
    close = {"(": ")", "{ ": "; }"}.get(prefix, "")
    assert bash(gate, context, f"{prefix}sudo ls{close}{suffix}").decision == "deny"
