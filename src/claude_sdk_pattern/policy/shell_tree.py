"""Parses a shell script into a tree, whatever it is made of and in bounded time.

The parser is tree-sitter's grammar of bash, which editors use. Two of its traits are kept from the server here:

- Its scanner looks letters up in a table of 256 and brings the process down with those beyond. To a shell they all are
  ordinary letters, none of which can be in a name, so the parser is given as many dots in their place.
- Some scripts take it minutes, such as pipes without end. Its time is bounded, and so is the size of a tree: what a
  person could not look through either is not looked into.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import tree_sitter
import tree_sitter_bash
from tree_sitter import Language, Parser

_PARSER = Parser(Language(tree_sitter_bash.language()))

# Of the processor, so that a busy machine reads what an idle one does. Real scripts take one or two thousandths.
MAX_CPU_SECONDS = 0.04

# A node takes some 20 microseconds, rules included. A script of a hundred lines has a thousand or two.
MAX_NODES = 2_500

_STAND_IN = b"."
_NOT_ASCII = bytes(range(128, 256))
_TO_STAND_INS = bytes.maketrans(_NOT_ASCII, _STAND_IN * len(_NOT_ASCII))


class UnreadableError(Exception):
    """A script was not parsed. The message says why; its subject is the script."""


@dataclass(slots=True, eq=False)
class Budget:
    """What may still be spent on a script and those within it."""

    cpu_seconds: float = MAX_CPU_SECONDS
    nodes: int = MAX_NODES


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree. Places are in bytes of ``source``, which is the whole script."""

    type: str
    is_named: bool
    start_byte: int
    end_byte: int
    source: bytes
    parent: "Node | None"
    children: "list[Node]" = field(default_factory=list["Node"])

    @property
    def named_children(self) -> "list[Node]":
        """The children that are not just signs."""
        return [child for child in self.children if child.is_named]

    @property
    def text(self) -> str:
        """What was written there."""
        return self.source[self.start_byte : self.end_byte].decode(errors="replace")

    def every(self) -> "Iterator[Node]":
        """Yield the node and all below it, in order. By hand: deep nesting must not end in a recursion error."""
        waiting: list[Node] = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting.extend(reversed(found.children))

    def parents(self) -> "Iterator[Node]":
        """Yield what it is in, the innermost first."""
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent


def parse(text: str, budget: Budget) -> tuple[Node, bool]:
    """Return the tree of a script, and whether all of it could be followed.

    Raises:
        UnreadableError: it has no tree that can be relied on, or costs more than is left.
    """
    if "\0" in text:
        # Shells disagree about it, and no command can be given one.
        raise UnreadableError("it holds a NUL")
    try:
        source = text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableError("it holds halves of characters") from error
    readable = source.translate(_TO_STAND_INS)
    root = _parsed(readable, budget).root_node
    budget.nodes -= root.descendant_count
    if budget.nodes < 0:
        raise UnreadableError("it is too long or too deeply nested")
    tree = _copy(root, source)
    if readable != source and any(_STAND_IN in readable[node.start_byte : node.end_byte] for node in _ends(tree)):
        # Where such a text ends is found by comparing letters, and the parser has not seen these.
        raise UnreadableError("the end of a text within it is marked by letters that cannot be compared")
    return tree, not root.has_error


def _parsed(source: bytes, budget: Budget) -> tree_sitter.Tree:
    begun = time.thread_time()

    def is_spent(offset: int, has_error: bool) -> bool:
        return time.thread_time() - begun > budget.cpu_seconds

    # As a function, because the parser reports progress on nothing else.
    def read(offset: int, point: tree_sitter.Point) -> bytes:
        return source[offset:]

    try:
        return _PARSER.parse(read, progress_callback=is_spent)
    except ValueError as error:
        # Otherwise it would go on with this script when given the next.
        _PARSER.reset()
        raise UnreadableError("it is too intricate") from error
    finally:
        budget.cpu_seconds -= time.thread_time() - begun


def _copy(root: tree_sitter.Node, source: bytes) -> Node:
    """Return a tree whose nodes know their parents: the parser's own look for them from the root, each time."""
    copy = Node(root.type, root.is_named, root.start_byte, root.end_byte, source, None)
    waiting = [(root, copy)]
    while waiting:
        original, parent = waiting.pop()
        for child in original.children:
            node = Node(child.type, child.is_named, child.start_byte, child.end_byte, source, parent)
            parent.children.append(node)
            if child.child_count:
                waiting.append((child, node))
    return copy


def _ends(tree: Node) -> Iterator[Node]:
    return (node for node in tree.every() if node.type == "heredoc_start")
