"""`fedbary preview`: exactly what would be sent, and nothing is."""

import json

import pytest
from cli_fixtures import people

import fedbary as fb
from fedbary.engines.files.message_file import MessageFile, save_question
from fedbary.guard.node import Envelope
from fedbary.guard.policy import OwnerPolicy
from fedbary.valuation.rows import RowRules

pytest_plugins = ["cli_fixtures"]

MINE = ("sites/north.csv", "--label", "ill", "--id", "id")


@pytest.fixture
def message(sites):
    """What a coordinator saved for its clients."""
    asked = fb.Sketch()
    reference = fb.read("reference.csv", label="ill", id="id")
    server = asked.server(["north"], reference, asked.space(None), rules=RowRules(), seed=0)
    return save_question(server.tasks()["north"], Envelope("a" * 32, "sketch", step=1), "question.fb")


def test_it_shows_every_number_of_the_answer_to_a_saved_message(fedbary, message):
    """Without noise an answer can be compared: it is what the client says, to the last digit."""
    table = fb.read("sites/north.csv", label="ill", id="id")
    used = OwnerPolicy().applied(fb.Sketch())
    reply = used.client(table, rules=RowRules(), seed=0).answer(MessageFile.load(message).message()[0])
    code, out, err = fedbary("preview", *MINE, "--message", message)
    assert (code, err) == (0, "")
    shown = {line.split()[0]: line.split()[-1] for line in out.splitlines() if len(line.split()) == 3}
    assert {name: shown[name] for name in reply.scalars} == {name: repr(value) for name, value in reply.scalars.items()}
    assert "Nothing was sent" in out
    assert "policy = coarsen" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_json_holds_exactly_the_reply(fedbary, message):
    table = fb.read("sites/north.csv", label="ill", id="id")
    reply = (
        OwnerPolicy()
        .applied(fb.Sketch())
        .client(table, rules=RowRules(), seed=0)
        .answer(MessageFile.load(message).message()[0])
    )
    content = json.loads(fedbary("preview", *MINE, "--message", message, "--json")[1])
    assert content["settings"]["policy"] == "coarsen"
    assert content["answers"][0]["scalars"] == dict(reply.scalars)


def test_with_a_reference_the_real_server_asks(fedbary, sites):
    code, out, _ = fedbary("preview", *MINE, "--reference", "reference.csv", "--protocol", "sketch", "--epsilon", 1)
    assert code == 0
    assert "The server asks 'sketch', round 0: you send" in out
    assert "1-differentially private" in " ".join(out.split())
    assert "drawn anew" in out
    assert "your policy allows no other" in " ".join(out.split())


def test_it_says_how_the_table_was_read(fedbary, sites):
    code, out, _ = fedbary("preview", "sites/north.csv", "--label", "ill")
    assert (code, "'id' is left out" in out) == (0, True)
    assert len(json.loads(fedbary("preview", "sites/north.csv", "--label", "ill", "--json")[1])["guesses"]) == 1


def test_without_a_reference_every_reply_is_shown(fedbary, sites):
    several = ("preview", *MINE, "--with", "sites/south.csv")
    code, out, _ = fedbary(*several, "--protocol", "interpolation", "--json")
    assert code == 0
    assert [answer["asked"] for answer in json.loads(out)["answers"]][:3] == ["describe", "start", "step"]
    for name, seed in (("east", 4), ("west", 5)):
        people(45, seed=seed).to_csv(sites / f"{name}.csv", index=False)
        several += ("--with", f"sites/{name}.csv")
    code, out, _ = fedbary(*several, "--json")
    card, *others = json.loads(out)["answers"]
    assert (code, card["asked"], [other["asked"] for other in others]) == (0, "card", ["model", "evidence", "flags"])
    assert set(card["arrays"]) >= {"centre", "counts", "sums"}
    told = {"features", "labels", "likelihood", "scatter", "seen"}
    told |= {f"label.{name}" for name in ("counts", "gain", "judged", "looks", "numbers")}
    assert [set(other["arrays"]) for other in others] == [{"weights"}, told, set()]
    assert "for every class the count and the sum of its different rows" in " ".join(fedbary(*several)[1].split())


def test_interpolation_sends_points(fedbary, sites):
    code, out, _ = fedbary("preview", *MINE, "--protocol", "interpolation", "--reference", "reference.csv", "--json")
    first = json.loads(out)["answers"][0]
    assert code == 0
    assert first["scalars"]["rows"] == 40
    assert all(len(array["values"]) == array["shape"][0] for array in first["arrays"].values())


def test_without_a_policy_file_it_says_what_one_would_have_to_allow(fedbary, sites):
    several = ("preview", *MINE, "--with", "sites/south.csv", "--protocol", "interpolation")
    assert 'one that allows it has protocols = ["interpolation"].' in " ".join(fedbary(*several)[1].split())
    assert "your node refuses it" not in fedbary("preview", *MINE, "--reference", "reference.csv")[1]


def test_the_server_asks_for_the_most_that_the_policy_allows(fedbary, sites, tmp_path):
    (tmp_path / "mine.toml").write_text("epsilon_budget = 2.0\nmax_epsilon = 0.5\n", encoding="utf-8")
    asked = ("preview", *MINE, "--reference", "reference.csv", "--json")
    assert json.loads(fedbary(*asked, "--policy", tmp_path / "mine.toml")[1])["settings"]["epsilon"] == 0.5
    assert json.loads(fedbary(*asked, "--protocol", "interpolation")[1])["settings"]["rounds"] == 4


def test_the_policy_refuses_before_the_file_is_read(fedbary, refused, sites, tmp_path):
    (tmp_path / "policy.toml").write_text("min_group = 9\n")
    options = ("--reference", "reference.csv", "--policy", "policy.toml", "--min-group", 5)
    assert refused("preview", "none.csv", *options).code == "guard.min-group"
    _, out, _ = fedbary("preview", *MINE, "--reference", "reference.csv", "--policy", "policy.toml", "--json")
    assert json.loads(out)["settings"]["min_group"] == 9


def test_a_refusal_shows_what_leaves_and_what_is_for_the_owner(fedbary, spoil):
    path = spoil("odd", lambda frame: frame.assign(age="Xq7canary"))
    code, out, _ = fedbary("preview", path, "--label", "ill", "--id", "id", "--reference", "reference.csv")
    sent, own = (next(line for line in out.splitlines() if line.startswith(start)) for start in ("sent:", "for you"))
    assert code == 2
    assert sent == "sent: the table does not fit the question; the owner's own log says why"
    assert "odd.csv" in own
    assert "Xq7canary" not in sent


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--protocol", "sketch"], "cli.preview-needs-reference"),
        (["--message", "none.fb"], "engines.no-file"),
        (["--message", "reference.csv"], "engines.file-not-ours"),
        (["--message", "a.fb", "--reference", "reference.csv"], "cli.message-alone"),
        (["--protocol", "telepathy"], "settings.no-protocol"),
        (["--protocol", "interpolation", "--epsilon", "1"], "cli.option-of-another-protocol"),
    ],
)
def test_wrong_input_has_its_code(refused, sites, options, code):
    assert refused("preview", *MINE, *options).code == code


def test_nothing_is_written(fedbary, sites, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    fedbary("preview", *MINE, "--reference", "reference.csv")
    assert sorted(tmp_path.rglob("*")) == before
