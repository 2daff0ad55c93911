"""How results show themselves: on a screen, in notebooks and in wikis; the verdict first."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_results import client, made

import fedbary as fb
from fedbary.notes import Note
from fedbary.valuation.clients import ClientScores
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.result import Valuation
from fedbary.valuation.verdict import Advice
from fedbary.views.advice import groups, remarks

NO_ANSWER = Outcome(Status.SILENT, (Note("protocols.no-answer"),))
UNKNOWN_CLASSES = Note("schema.unknown-classes", {"count": 2, "classes": ("y", "z")})


@pytest.fixture(scope="module")
def crowd() -> Valuation:
    """Two hundred clients: every tenth is bad, every tenth a little, every tenth silent."""
    rng = np.random.default_rng(0)
    clients = []
    for place in range(200):
        share = {1: 0.6, 2: 0.2}.get(place % 10, 0.02) + 0.02 * rng.random()
        bad = (share, max(share - 0.05, 0.0), share + 0.05)
        record = client(f"clinic_{place}", UNKNOWN_CLASSES, bad=bad, missing=0.01)
        clients.append(record | ({"outcome": NO_ANSWER} if place % 10 == 3 else {}))
    return made(*clients, reference_rows=300)


def test_the_verdict_is_printed_first_and_problems_before_the_rest():
    result = made(
        client("good", bad=(0.01, 0.0, 0.03)),
        client("bad", bad=(0.5, 0.4, 0.6)),
        client("dirty", bad=(0.2, 0.15, 0.25)),
        reference_rows=300,
    )
    headline, *lines = str(result).splitlines()
    assert headline == "Include 1 of 3 clients, look at 1 first, leave out 1."
    assert [line.split(":")[0] for line in lines[:3]] == ["Leave out bad", "Look at dirty first", "Include good"]
    names = [line.split()[0] for line in lines[6:9]]
    assert names == ["bad", "dirty", "good"]
    assert repr(result) == "Valuation(3 clients, protocol 'sketch')"


def test_where_nothing_is_estimated_the_table_has_distances_and_shares():
    header = made(client("a"), client("b")).to_markdown().splitlines()[2]
    assert header == "| client | rank | rows | distance | share | verdict | why |"


def test_two_hundred_clients_fit_a_screen(crowd):
    lines = str(crowd).splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert all(f"clinic_{place}" in str(crowd) for place in (1, 2))


def test_what_repeats_is_said_once(crowd):
    (said,) = remarks(crowd)
    assert "same for 180 clients" in said
    (silent,) = (group for group in groups(crowd) if group.advice is Advice.NOT_VALUED)
    assert len(silent.clients) == 20


def test_who_repeats_itself_is_one_client():
    (said,) = remarks(made(client("c", *[UNKNOWN_CLASSES] * 50, bad=(0.0, 0.0, 0.02))))
    assert said.startswith("c: ")


def test_every_client_is_in_one_group(crowd):
    named = [name for group in groups(crowd) for name in group.clients]
    assert sorted(named) == sorted(crowd.clients["client"])


def test_no_client_of_many_is_to_be_looked_at_without_a_reason():
    shares = [0.1 + 0.004 * place for place in range(40)]
    result = made(*(client(f"c{place}", bad=(share, 0.06, 0.3)) for place, share in enumerate(shares)))
    looked_at = groups(result)
    assert all(group.why for group in looked_at)
    assert str(looked_at[-1]).endswith("more) first: for each, about 10 to 18 % of its labels are wrong")


def test_whoever_compares_clients_with_each_other_says_so():
    compared = made(client("a", closeness=0.9), client("b", closeness=0.9))
    assert "compared with each other" in str(compared)
    assert "compared with each other" not in str(made(client("a", bad=(0.0, 0.0, 0.02)), client("b")))
    assert "compared with each other" not in str(made(client("a"), client("b"), reference_missing=0.0))


def test_a_finding_is_not_repeated_as_a_remark():
    finding = Note("schema.column-beyond", {"column": "income", "share": 1.0, "times": None})
    result = made(client("c", finding, UNKNOWN_CLASSES, bad=(0.0, 0.0, 0.02)))
    (remark,) = remarks(result)
    assert remark.startswith("c: has classes unknown")


def test_a_remark_about_an_included_client_is_not_lost():
    copies = Note("schema.many-copies", {"share": 0.5})
    (remark,) = remarks(made(client("c", copies, bad=(0.0, 0.0, 0.02))))
    assert "copies" in remark


def test_why_a_client_failed_is_said_in_full_to_the_reader_of_the_result_alone():
    why = Note("schema.too-few-rows", {"where": "ward.csv", "rows": 3, "least": 5})
    result = made({"client": "x", "outcome": Outcome(Status.FAILED, (why,))}, client(bad=(0.0, 0.0, 0.02)))
    assert "ward.csv" in str(result)
    assert "ward.csv" not in result.to_markdown() + result._repr_html_()


DIFFERS = Note("judging.reference-differs", {"shift": 0.8, "columns": ("glucose",), "clients": 2})


def shifted(place: int) -> dict:
    note = Note("judging.shift", {"shift": 0.5 + place / 10, "columns": ("glucose",)})
    return client(f"clinic_{place}", note, bad=(0.0, 0.0, 0.02), shift=0.5 + place / 10, blur=1.0 + place / 10)


def test_that_the_reference_differs_is_said_first_and_once():
    result = replace(made(shifted(0), shifted(1), reference_rows=300), notes=(DIFFERS,))
    for text in (str(result), result.to_markdown(), result._repr_html_()):
        assert text.count("look at the reference") == 1
    assert str(result).splitlines()[1].startswith("Nearly all clients, 2 of them, differ from the reference")


def test_shift_and_blur_have_columns_where_clients_are_not_alike():
    header = next(line for line in str(made(shifted(0), shifted(4))).splitlines() if "verdict" in line).split()
    assert header[-3:] == ["blur", "shift", "verdict"]
    row = next(line for line in str(made(shifted(0), shifted(4))).splitlines() if line.startswith("clinic_4"))
    assert row.split()[-4:] == ["×1.4", "0.9", "σ", "include"]
    alike = made(client("a", bad=(0.0, 0.0, 0.02), shift=0.1, blur=1.1))
    assert "shift" not in str(alike)


def test_a_table_that_is_too_wide_spares_what_reasons_say():
    wide = [record | {"missing": 0.2, "rows": 12_000} for record in map(shifted, range(6))]
    lines = str(made(*wide, reference_missing=0.2)).splitlines()
    header = next(line for line in lines if "verdict" in line).split()
    assert header == ["client", "rank", "rows", "quality", "labels", "features", "blur", "shift", "verdict"]
    assert max(map(len, lines)) <= 80
    assert "missing" in str(made(client(bad=(0.0, 0.0, 0.02), missing=0.2), reference_missing=0.2))


def test_many_site_effects_are_one_remark():
    assert len(remarks(made(*map(shifted, range(8))))) == 8
    (said,) = remarks(made(*map(shifted, range(9))))
    assert said.startswith("9 clients differ from the others by 0.5 to 1.3 σ")


def test_a_column_that_says_nothing_is_left_out():
    complete = made(client(bad=(0.0, 0.0, 0.02)))
    assert "missing" not in str(complete)
    assert "missing" in str(made(client(bad=(0.0, 0.0, 0.02), missing=0.02)))
    assert "quality" not in str(made(client("a"), client("b")))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a|b", "*x*", "`x`", "[x](y)", "line\nbreak", "\u202ex"])
def test_notebooks_and_wikis_show_names_as_text(name):
    scores = ClientScores("mr", (name,), np.array([0.3]), np.zeros(1))
    result = made(client(name, bad=(0.0, 0.0, 0.02)))
    for shown in (scores._repr_html_(), result._repr_html_()):
        assert "<script" not in shown
        assert "<bdi>" in shown
    for shown in (scores.to_markdown(), result.to_markdown()):
        _summary, empty, header, _, *rows = shown.splitlines()
        assert (len(rows), empty) == (1, "")
        unescaped = rows[0].replace("\\|", "")
        assert unescaped.count("|") == header.count("|")
        assert "<script" not in shown.replace("\\<", "")
    assert "\u202e" not in str(result)


def test_many_clients_are_cut_in_notebooks_but_not_in_markdown(crowd):
    names = tuple(f"c{place}" for place in range(80))
    scores = fb.ClientScores("mr", names, np.linspace(1, 0, 80), np.zeros(80))
    assert "30 more clients" in scores._repr_html_()
    assert len(scores.to_markdown().splitlines()) == 84
    assert "150 more clients" in crowd._repr_html_()
    assert len(crowd.to_markdown().splitlines()) == 204


def test_markdown_makes_no_link_and_keeps_the_direction_of_the_line():
    scores = ClientScores("mr", ("https://evil.example", "WWW.evil.example", "\u202ea\x00b"), np.ones(3), np.zeros(3))
    text = scores.to_markdown()
    assert [line.split(" | ")[0] for line in text.splitlines()[4:]] == [
        "| https\\://evil.example",
        "| WWW\\.evil.example",
        "| a b",
    ]
