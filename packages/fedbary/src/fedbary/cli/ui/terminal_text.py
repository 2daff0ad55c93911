"""Data as text for a terminal: shown as it is, never obeyed."""

from __future__ import annotations

# Joiners belong to emoji and to Persian or Indic words; every other invisible character could move the cursor,
# colour the screen or turn the writing direction.
_JOINERS = "\u200c\u200d"


def visible(text: object) -> str:
    r"""The text without characters that a terminal would act on."""
    return "".join(c if c.isprintable() or c in _JOINERS else "�" for c in str(text))


def one_line(text: str) -> str:
    r"""The text as a single visible line."""
    return visible(" ".join(text.split()))


def paragraphs(text: str | None) -> str:
    r"""A docstring with one line per paragraph, which a terminal of any width can wrap.

    Examples
    --------
    >>> paragraphs("One\n    and two.\n\n    Three.")
    'One and two.\n\nThree.'
    """
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n")).strip()
