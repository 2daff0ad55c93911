"""Everything that leaves an owner has a line in a disclosure record, in words, in every protocol and engine."""

import json
from importlib.resources import files
from itertools import count

import pytest

import fedbary as fb
from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.files.owner import answer_file, make_card
from fedbary.engines.packed import answered, packed_message, packed_reply, unpacked_reply
from fedbary.forms import Number, Record
from fedbary.guard.disclosure import ENVELOPE, disclosures, unmet
from fedbary.guard.guarded_client import GuardedClient, reply_bytes, reply_digest
from fedbary.guard.ledger import Entry, Ledger
from fedbary.guard.node import FINISH, Envelope, Question
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.forms import SHARED, WHEN
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.protocols.registry import PROTOCOLS, exchanges_of
from fedbary.valuation.rows import RowRules
from talks import TALKS, table

TRAVELLING = [name for name, (settings, _) in TALKS.items() if not getattr(settings, "allow_reconstruction", False)]
SCHEMA = json.loads(files("fedbary.guard").joinpath("disclosure.schema.json").read_text(encoding="utf-8"))


def policy_of(settings, **more):
    exact = getattr(settings, "epsilon", None) is None
    return OwnerPolicy(**{"protocols": (settings.name,), "share_flag_counts": exact, **more})


def node(folder, name, policy, rows):
    folder.mkdir(parents=True, exist_ok=True)
    frame = rows.replace(ids=None).to_frame() if hasattr(rows, "to_frame") else None
    (folder / "policy.toml").write_text(policy.to_toml())
    frame.to_csv(folder / f"{name}.csv", index=False)
    config = {"data-path": str(folder / f"{name}.csv"), "state-path": str(folder / "state"), "name": name}
    return NodeConfig.of(config | {"policy": str(folder / "policy.toml"), "label": "label"}, 1)


def said_of(packed, ledger):
    """The records of what a reply holds, once everything in it was found in them."""
    found, envelope = unpacked_reply(packed)
    records = [one for one in disclosures(ledger.read()) if one["to"]["run"] == envelope.session]
    mine = [one for one in records if (one["asked"]["kind"], one["asked"]["round"]) == (envelope.kind, envelope.round)]
    own = {"notes", "flagged", "failure", "note"}
    assert set(packed.head) - own <= set(ENVELOPE)
    if "flagged" in packed.head:
        (flags,) = [one for one in records if one["what"] == "flags"]
        assert [field["name"] for field in flags["left"]] == ["flagged"]
    if isinstance(found, Failure):
        assert "code" in {field["name"] for one in mine for field in one["left"]}
        return mine
    names = {*packed.scalars, *packed.arrays, *({"notes"} if "notes" in packed.head else ())}
    if not names:
        return mine
    told = mine[-1]
    assert {field["name"] for field in told["left"]} == names
    assert (told["digest"], told["bytes"]) == (reply_digest(found), reply_bytes(found))
    assert all(field["tells"] and "not known" not in field["tells"] for field in told["left"])
    assert {field["name"]: field["shape"] for field in told["left"] if field["shape"] is not None} == {
        name: list(array.shape) for name, array in packed.arrays.items()
    }
    return mine


@pytest.mark.parametrize("name", TRAVELLING)
def test_over_a_network_every_field_that_leaves_has_a_line(name, tmp_path):
    settings, with_reference = TALKS[name]
    policy = policy_of(settings)
    nodes = {f"c{i}": node(tmp_path / f"c{i}", f"c{i}", policy, table(i)) for i in range(4)}
    server = settings.server(
        list(nodes), table(99, 120) if with_reference else None, settings.space(None), rules=RowRules(), seed=0
    )
    asked, session, steps = Question(settings, RowRules(), {}).to_json(), "0" * 32, {one: count(1) for one in nodes}

    def ask(one, message):
        envelope = Envelope(session, message.kind, message.round, next(steps[one]), settings=asked, nonce="n")
        packed = answered(lambda: packed_message(message, envelope), lambda: nodes[one])
        said = said_of(packed, nodes[one].ledger)
        return unpacked_reply(packed)[0], said

    left = 0
    while tasks := server.tasks():
        replies = {one: ask(one, message) for one, message in tasks.items()}
        left += sum(isinstance(reply, Reply) and bool(said) for reply, said in replies.values())
        server.absorb({one: reply for one, (reply, _) in replies.items()})
    assert left
    if settings.name == "interpolation":
        ask("c0", Message(FINISH, 9))


@pytest.mark.parametrize("name", TRAVELLING)
def test_in_this_process_behind_a_policy_words_are_those_of_the_variant(name, tmp_path):
    """No field leaves in a run in which its record says that it is not sent."""
    settings, with_reference = TALKS[name]
    own = {f"c{i}": Ledger(tmp_path / f"c{i}" / "ledger.jsonl") for i in range(4)}
    policy = policy_of(settings, trust_server="guarded" not in name and getattr(settings, "policy", "") == "trusted")
    halves = {
        one: GuardedClient.for_table(table(at), settings, policy=policy, ledger=ledger, run="r", seed=1)
        for at, (one, ledger) in enumerate(own.items())
    }
    server = settings.server(
        list(own), table(99, 120) if with_reference else None, settings.space(None), rules=RowRules(), seed=0
    )
    facts = {"epsilon": getattr(settings, "epsilon", None), "reference_rows": 120 if with_reference else None}
    while tasks := server.tasks():
        replies = {one: halves[one].respond(message) for one, message in tasks.items()}
        for one, message in tasks.items():
            assert isinstance(replies[one], Reply), replies[one]
            said_of(packed_reply(replies[one], Envelope("r", message.kind, message.round)), own[one])
            record = exchanges_of(settings.name)[message.kind].reply
            for field in (*replies[one].scalars, *replies[one].arrays):
                assert WHEN[record.fields[field].when](facts), field
            for note in replies[one].notes:
                assert any(note.code in kind.codes and WHEN[kind.when](facts) for kind in record.notes)
        server.absorb(replies)
    for ledger in own.values():
        for one in disclosures(ledger.read()):
            expected = "epsilon" if facts["epsilon"] else "trusted" if policy.trust_server else "guarded"
            assert (one["threshold"]["trust"], one["threshold"]["rows"]) == (expected, 60)
            assert (one["suppressed"] is not None) == (expected == "guarded")
            assert any(line.startswith("protocols = ") for line in one["allowed_by"])


@pytest.mark.parametrize("name", ["sketch", "cards"])
def test_what_an_owner_withholds_is_in_no_record(name, tmp_path):
    settings = PROTOCOLS[name]()
    ledger = Ledger(tmp_path / "ledger.jsonl")
    policy = policy_of(settings, share_numbers=False)
    half = GuardedClient.for_table(table(0), settings, policy=policy, ledger=ledger, run="r", seed=1)
    server = settings.server(["c0"], table(99, 120), settings.space(None), rules=RowRules(), seed=0)
    while tasks := server.tasks():
        server.absorb({one: half.respond(message) for one, message in tasks.items()})
    left = [field for one in disclosures(ledger.read()) for field in one["left"]]
    assert left
    assert not any(field["withheld_by"] == SHARED for field in left)


def test_files_have_their_lines_and_a_card_that_leaves_again_another_one(tmp_path):
    settings = fb.Cards(policy="guarded")
    owner = node(tmp_path, "north", policy_of(settings), table(0))
    card = make_card(owner, settings)
    assert isinstance(card, MessageFile)
    said_of(card.packed, owner.ledger)
    make_card(owner, settings)
    again = list(disclosures(owner.ledger.read()))
    assert [one["what"] for one in again] == ["answer", "answer without a question"]
    assert again[0]["digest"] == again[1]["digest"]
    server = settings.server(["north", *"abc"], None, settings.space(None), rules=RowRules(), seed=0)
    halves = {one: settings.client(table(at + 1), rules=RowRules(), seed=0) for at, one in enumerate("abc")}
    asked = server.tasks()
    server.absorb({"north": unpacked_reply(card.packed)[0], **{one: halves[one].answer(asked[one]) for one in halves}})
    model = server.tasks()["north"]
    envelope = Envelope(str(card.packed.head["session"]), model.kind, model.round, 2)
    file = answer_file(MessageFile.of(FileKind.MODEL, packed_message(model, envelope)), owner)
    assert said_of(file.packed, owner.ledger)[-1]["left"]


def test_refusals_and_failures_have_their_lines(tmp_path):
    settings = fb.Sketch(min_group=3)
    owner = node(tmp_path, "north", OwnerPolicy(), table(0))
    message = Message("sketch", 0)
    envelope = Envelope("0" * 32, "sketch", 0, 1, settings=Question(settings, RowRules(), {}).to_json())
    packed = answered(lambda: packed_message(message, envelope), lambda: owner)
    (record,) = said_of(packed, owner.ledger)
    assert (record["what"], record["allowed_by"]) == ("refusal", [])


def test_records_fit_the_published_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    for place, name in enumerate(("sketch coarsen", "cards dp", "interpolation")):
        settings, _ = TALKS[name]
        ledger = Ledger(tmp_path / str(place) / "ledger.jsonl")
        half = GuardedClient.for_table(table(0), settings, policy=policy_of(settings), ledger=ledger, run="r", seed=1)
        server = settings.server(["c0"], table(99, 120), settings.space(None), rules=RowRules(), seed=0)
        half.respond(server.tasks()["c0"])
        half.respond(Message("gossip", 7))
        ledger.record(Entry(kind="sketch", protocol="sketch", scalars=("rows", "gone")))  # as an older version wrote it
        records = list(disclosures(ledger.read()))
        assert len(records) == 3
        for one in records:
            jsonschema.validate(json.loads(json.dumps(one)), SCHEMA)
    assert records[-1]["left"][-1]["tells"] == "not known to this version"


def test_a_threshold_is_held_against_every_release_and_the_policy(tmp_path):
    settings, policy = fb.Sketch(), OwnerPolicy()
    ledger = Ledger(tmp_path / "ledger.jsonl")
    half = GuardedClient.for_table(table(0), settings, policy=policy, ledger=ledger, run="r", seed=1)
    half.respond(settings.server(["c0"], table(99, 120), settings.space(None), rules=RowRules(), seed=0).tasks()["c0"])
    records = list(disclosures(ledger.read()))
    assert unmet(records, 5, policy) == []
    assert unmet(records, 10, policy) == [
        "The policy has min_group = 5.",
        "Line 2, answer to 'sketch': groups of 5 rows and more.",
    ]
    assert unmet(records, 61, None)[0] == "Line 2, answer to 'sketch': its row count is below 61."
    ledger.record(Entry(kind="sketch", protocol="sketch"))
    assert "not known" in unmet(list(disclosures(ledger.read())), 5, None)[0]


def test_every_field_of_every_reply_tells_something():
    for name in PROTOCOLS:
        for kind, exchange in exchanges_of(name).items():
            told = (*exchange.reply.fields.items(), *((kind, note) for note in exchange.reply.notes))
            assert all(one.tells and one.when in WHEN for _, one in told), (name, kind)
            assert all(one.withheld_by in ("", SHARED) for _, one in told)


def test_a_checkpoint_has_plain_arrays_alone():
    record = Record({"rows": Number()})
    assert record.from_state(record.to_state(rows=3)) == {"rows": 3}
    assert record.from_state({}) == {"rows": None}


def test_what_is_written_down_of_an_answer_changes_no_answer(tmp_path, monkeypatch):
    settings = fb.Sketch()
    message = settings.server(["c0"], table(99, 120), settings.space(None), rules=RowRules(), seed=0).tasks()["c0"]
    answers = []
    for name in ("as usual", "failing"):
        ledger = Ledger(tmp_path / name / "ledger.jsonl")
        half = GuardedClient.for_table(table(0), settings, policy=OwnerPolicy(), ledger=ledger, run="r", seed=1)
        answers.append(half.respond(message))
        monkeypatch.setattr(GuardedClient, "_terms", lambda *_: 1 / 0)
    assert reply_digest(answers[0]) == reply_digest(answers[1])
