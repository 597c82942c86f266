"""Text made to size: prose of so many words, or so many tokens."""

import itertools
import time
from collections.abc import Iterator

_PROSE = """
the river bends twice before it meets the old stone bridge and every traveller who crosses it in the early light stops
to look at the water because the colours change with the season and the wind
"""
_WORDS = _PROSE.split()
_WORDS_PER_SENTENCE = 12
_SENTENCES_PER_PARAGRAPH = 4
_PARAGRAPHS_PER_SECTION = 3


def prose(word_count: int) -> str:
    """Return Markdown with ``word_count`` words of running text under numbered headings (headings not counted)."""
    words = list(itertools.islice(itertools.cycle(_WORDS), word_count))
    sentences = [" ".join(sentence).capitalize() + "." for sentence in itertools.batched(words, _WORDS_PER_SENTENCE)]
    paragraphs = [" ".join(group) for group in itertools.batched(sentences, _SENTENCES_PER_PARAGRAPH)]
    sections = itertools.batched(paragraphs, _PARAGRAPHS_PER_SECTION)
    return "\n\n".join(
        f"## Part {number}\n\n" + "\n\n".join(section) for number, section in enumerate(sections, start=1)
    )


def tokens(count: int, *, timestamps: bool) -> Iterator[str]:
    """Yield ``count`` short tokens. With timestamps each is `` t=<nanoseconds>`` of the monotonic clock when pulled.

    The monotonic clock is shared by all processes of one Linux machine, so a reader elsewhere on it can subtract.
    """
    words = itertools.cycle(_WORDS)
    for _ in range(count):
        yield f" t={time.monotonic_ns()}" if timestamps else f"{next(words)} "
