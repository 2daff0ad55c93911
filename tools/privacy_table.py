"""The table of docs/privacy.md that says, field by field, what can leave an owner: from the protocols' records."""

from pathlib import Path

from fedbary.protocols.forms import WHEN, words
from fedbary.protocols.registry import PROTOCOLS, exchanges_of

PAGE = Path(__file__).parents[1] / "docs" / "privacy.md"
_BEGIN, _END = "<!-- fields: python tools/privacy_table.py -->\n", "<!-- end of fields -->"
_SENT = {"no reference": "without a reference", "masses": "`allow_reconstruction`", "eta_p": "`keep_measures`"}


def table() -> str:
    """One row for each thing that is told, with the fields that tell it."""
    rows: dict[tuple[str, str, str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for protocol in PROTOCOLS:
        for kind, exchange in exchanges_of(protocol).items():
            notes = (("notes", one) for one in exchange.reply.notes)
            for name, one in (*exchange.reply.fields.items(), *notes):
                private = {"epsilon": 1.0} if one.when == "epsilon" else {}
                told = words(one, private | {"min_group": "`min_group`"})
                noise = "–"
                if protocol != "interpolation":
                    sent = WHEN[one.when]({"epsilon": 1.0})
                    noise = "not sent" if not sent else "no noise" if one.public else "noise"
                told += f" ({_SENT[one.when]})" if one.when in _SENT else ""
                told += " (with ε alone)" if one.when == "epsilon" else ""
                kinds, names = rows.setdefault((protocol, told, noise, one.withheld_by), ({}, {}))
                kinds[f"`{kind}`"] = names[f"`{name}`"] = None
    lines = ["| protocol | asked | fields | tells | with ε | withheld by |", "| --- | --- | --- | --- | --- | --- |"]
    for (protocol, told, noise, kept), (kinds, names) in rows.items():
        key = f"`{kept} = false`" if kept else "–"
        lines.append(f"| `{protocol}` | {', '.join(kinds)} | {', '.join(names)} | {told} | {noise} | {key} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table as it should be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    return f"{before}{_BEGIN}{table()}{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
