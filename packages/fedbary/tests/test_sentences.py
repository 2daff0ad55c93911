"""Every code has a sentence, every sentence a use, and both speak of the same facts."""

import ast
from collections import defaultdict
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import fedbary
from fedbary.filling import COMMAND, fields, filled
from fedbary.notes import Note
from fedbary.sentences import AREAS, area, sentence

# The core's sources, and those of the other packages of this repository: they raise codes of the core's areas, too.
SOURCES = [Path(fedbary.__file__).parent, *Path(__file__).parents[2].glob("*/src/fedbary_*")]
INSTALLED = [source for source in SOURCES if find_spec(source.name)]
OF_OTHERS = [point.name for point in entry_points(group="fedbary.sentences")]
CODES = {f"{name}.{what}": said for name in (*AREAS, *OF_OTHERS) for what, said in area(name).items()}
# Calls whose first argument is a code and whose keywords, or whose second argument's keys, are its facts.
MAKERS = {
    "FedbaryError", "DataError", "DatasetUnavailable", "SchemaError", "SettingsError", "TransportError",
    "ProtocolError", "PrivacyError", "Note",
}  # fmt: skip
ADDED_LATER = {"where", "option"}


def uses() -> list[tuple[str, str, set[str] | None]]:
    """Where a code is used with a literal, and with which facts; None where these are computed."""
    found = []
    for file in _files(INSTALLED):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            maker = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0]
            if maker in MAKERS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.append((f"{file}:{node.lineno}", first.value, _facts(node)))
    return found


def _files(sources: list[Path]) -> list[Path]:
    return [file for source in sources for file in source.rglob("*.py")]


def _facts(call: ast.Call) -> set[str] | None:
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    names = {str(keyword.arg) for keyword in call.keywords}
    for extra in call.args[1:]:
        if not isinstance(extra, ast.Dict) or not all(isinstance(key, ast.Constant) for key in extra.keys):
            return None
        names |= {str(key.value) for key in extra.keys if isinstance(key, ast.Constant)}
    return names


def test_every_code_that_is_raised_has_a_sentence():
    unknown = [f"{place} {code!r}" for place, code, _ in uses() if sentence(code) is None]
    assert unknown == []


def test_facts_are_those_of_the_sentence():
    wrong = []
    for place, code, facts in uses():
        said = sentence(code)
        if said is None or facts is None:
            continue
        known = fields(said.text) | fields(said.command) - {"option"}
        required = fields(filled_without_optional(said.text))
        if not required <= facts or not facts - ADDED_LATER <= known:
            wrong.append(f"{place} {code}: has {sorted(facts)}, the sentence {sorted(known)}")
    assert wrong == []


def filled_without_optional(text: str) -> str:
    import re

    return re.sub(r"\[\[.*?\]\]", "", text)


def test_every_sentence_is_used():
    text = defaultdict(str)
    for file in _files(SOURCES):
        text["sentences" if "sentences" in (file.stem, file.parent.name) else "code"] += file.read_text(
            encoding="utf-8"
        )
    code = text["code"]
    unused = [name for name in CODES if f'"{name}"' not in code and f'"{name.partition(".")[2]}"' not in code]
    assert unused == []


def test_a_sentence_names_its_public_facts_and_can_be_said():
    wrong = []
    for code, said in CODES.items():
        try:
            named = said.public <= fields(said.text) | fields(said.command)
            # Nothing is known: optional parts go, the rest is an ellipsis.
            spoken = str(Note(code)) and filled(said.command or said.text, {}, COMMAND)
        except ValueError as error:  # of a template
            wrong.append(f"{code}: {error}")
        else:
            wrong += [code] if not named or not spoken else []
    assert wrong == []
