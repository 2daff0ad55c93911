"""`CardFile`: a card as a file, which its owner makes once and sends to whoever asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.packed import packed_reply
from fedbary.errors import DataError, FedbaryError
from fedbary.guard.envelope import Envelope
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.protocols.messages import Failure
from fedbary.wording import counted


@dataclass(frozen=True, eq=False)
class CardFile:
    """A card, what its owner is called, and the run that it begins where a ledger has it.

    Examples
    --------
    >>> import tempfile
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits").train.take(range(200))
    >>> made = fb.card(digits, name="north")
    >>> fb.CardFile.load(made.save(tempfile.mkdtemp() + "/north.card"))
    Card of north: 200 rows, 1 column, 10 classes of 'label', exact sums
    """

    card: Card
    name: str = ""
    session: str = ""

    @classmethod
    def load(cls, path: str | Path) -> CardFile:
        """Read a card; whatever is wrong with it is said with the file's name."""
        return cls.of(MessageFile.load(path, FileKind.CARD), Path(path).name)

    @classmethod
    def of(cls, file: MessageFile, where: str) -> CardFile:
        """The card in a file that was read."""
        try:
            found, envelope = file.reply()
            if isinstance(found, Failure):
                raise DataError("engines.file-damaged", file=where)
            return cls(card_of(found), envelope.name, envelope.session)
        except FedbaryError as error:
            raise error.at(where) from error

    def save(self, path: str | Path) -> Path:
        """Write it to a file that ends in ``.card``."""
        return self.file().save(path)

    def file(self) -> MessageFile:
        """The card as a file before it is written."""
        envelope = Envelope(self.session, "card", 0, 1, name=self.name)
        return MessageFile.of(FileKind.CARD, packed_reply(card_reply(self.card), envelope))

    def __repr__(self) -> str:
        return card_words(self.card, self.name)


def card_words(card: Card, name: str = "") -> str:
    """A card in one line.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.protocols.cards.exact_card import exact_card
    >>> card_words(exact_card(fb.Table({"age": [30.0, 50.0]}, [1.5, 2.5]), task="regression"))
    "Card: 2 rows, 1 column, the number 'label', exact sums"
    """
    columns = len(card.columns) if card.schema is None else len(card.schema.columns)
    label = f"the number {card.label!r}"
    if card.kind == "classes":
        label = f"{counted(len(card.classes), 'class')} of {card.label!r}"
    made = "exact sums"
    if card.release is not None:
        made = f"noise for epsilon = {card.release.epsilon:g}, delta = {card.release.delta:g}"
    parts = (counted(card.rows, "row"), counted(columns, "column"), label, made)
    return f"Card{f' of {name}' if name else ''}: {', '.join(parts)}"
