"""Times of methods: ratios, exponents and what is extrapolated, on made-up clocks with known answers."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from codes import coded
from fedbary.errors import SettingsError
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.clients import Method, Setting
from fedbary_lab.experiments import find, timed_methods, timing
from fedbary_lab.experiments.timed_methods import seconds_of, timed_method


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by as many seconds as calls say that they take."""
    now = [0.0]
    monkeypatch.setattr(timed_methods, "process_time", lambda: now[0])

    def takes(seconds):
        now[0] += seconds

    return takes


def setting(clients, retrain=None, evaluate=None):
    names = tuple(f"client_{i}" for i in range(clients))
    log = SimpleNamespace(names=names, rounds=[SimpleNamespace(models=np.eye(clients))])
    return Setting(log, evaluate, retrain=retrain)


def method(monkeypatch, name, compute, *, retrains=False):
    monkeypatch.setattr(timed_methods, "METHODS", {name: Method(name, name, "", compute, retrains=retrains)})


def scores(evaluations, seconds, converged=False):
    return ClientScores("x", (), np.zeros(0), np.zeros(0), evaluations, seconds, converged)


def test_a_quick_call_is_made_several_times_and_the_quickest_counts(clock):
    took = iter([0.25, 0.125, 0.5, 9.0])
    assert seconds_of(lambda: clock(next(took)), patience=20.0) == (None, 0.125)
    assert next(took) == 9.0
    calls = []
    seconds_of(lambda: calls.append(clock(0.001)), patience=20.0)
    assert len(calls) == 5


def test_a_method_that_is_done_in_time_has_its_own_time(clock, monkeypatch):
    method(monkeypatch, "mr", lambda _: (clock(7.0), scores(320, 7.0))[1])
    found = timed_method("mr", setting(5), rounds=10, patience=20.0)
    assert found == {"method": "mr", "seconds": 7.0, "evaluations": 320, "estimated": False}


def test_a_method_whose_time_is_up_is_extrapolated_from_its_evaluations(clock, monkeypatch):
    # The machine is busy: 20 seconds have passed, and this process has had 4 of them.
    method(monkeypatch, "exactfed", lambda _: (clock(4.0), scores(8, 20.0))[1], retrains=True)
    found = timed_method("exactfed", setting(5), rounds=10, patience=20.0)
    assert found == {"method": "exactfed", "seconds": 16.0, "evaluations": 32.0, "estimated": True}


def test_a_method_that_is_done_just_when_its_time_is_up_has_its_own_time(clock, monkeypatch):
    method(monkeypatch, "exactfed", lambda _: (clock(4.0), scores(32, 21.0, converged=True))[1], retrains=True)
    assert not timed_method("exactfed", setting(5), rounds=10, patience=20.0)["estimated"]


def test_a_sampled_method_that_has_done_more_than_it_needs_is_not_made_quicker(clock, monkeypatch):
    method(monkeypatch, "datasv", lambda _: (clock(20.0), scores(1000, 20.0))[1], retrains=True)
    found = timed_method("datasv", setting(9), rounds=10, patience=20.0)
    assert (found["evaluations"], found["seconds"]) == (1000.0, 20.0)


@pytest.mark.parametrize("retrains", [True, False])
def test_a_method_that_refuses_is_extrapolated_from_one_coalition(clock, monkeypatch, retrains):
    def refuse(_):
        code = "research.too-many-clients-to-train" if retrains else "research.too-many-clients-to-evaluate"
        raise SettingsError(code, clients=50, most=14)

    name = "exactfed" if retrains else "mr"
    method(monkeypatch, name, refuse, retrains=retrains)
    asked = setting(50, retrain=lambda masks: clock(1.0 * len(masks)), evaluate=lambda _: clock(2.0))
    found = timed_method(name, asked, rounds=10, patience=20.0)
    evaluations = 2.0**50 * (1 if retrains else 10)
    assert found["evaluations"] == evaluations
    assert found["seconds"] == pytest.approx(evaluations * (3.0 if retrains else 2.0))
    assert found["estimated"]


def test_what_is_quick_is_measured_many_at_a_time(clock, monkeypatch):
    def refuse(_):
        raise SettingsError("research.too-many-clients-to-evaluate", clients=50, most=20)

    method(monkeypatch, "mr", refuse)
    asked = setting(50, evaluate=lambda _: clock(0.64))
    assert timed_method("mr", asked, rounds=10, patience=20.0)["seconds"] == pytest.approx(0.01 * 10 * 2.0**50)


def test_ones_own_method_is_never_extrapolated_and_its_errors_are_seen(clock, monkeypatch):
    method(monkeypatch, "mine", lambda _: (clock(30.0), scores(5, 30.0))[1])
    assert not timed_method("mine", setting(5), rounds=10, patience=20.0)["estimated"]

    def fail(_):
        raise SettingsError("research.own-method-failed", name="mine", why="")

    method(monkeypatch, "mine", fail)
    with pytest.raises(SettingsError, check=coded("research.own-method-failed")):
        timed_method("mine", setting(5), rounds=10, patience=20.0)


def records():
    """S = 100 takes 0.2 s a client, the sketch 3 s and little more, exactFed doubles with every client."""
    rows = []
    for clients in (5, 10, 50, 100):
        seconds = {timing.BASE: 0.2 * clients, timing.WIDE: 0.8 * clients, "sketch": 3.0, "exactfed": 2.0**clients}
        for seed in (0, 1):
            rows += [
                {"model": "logistic", "clients": clients, "case": "", "seed": seed, "method": name, "seconds": time,
                 "evaluations": 32, "estimated": clients > 14 and name == "exactfed"}
                for name, time in seconds.items()
            ]  # fmt: skip
    for place, case in enumerate(timing.CASES):
        for seed in (0, 1):
            base = {"model": "logistic", "clients": 5, "case": case, "seed": seed, "estimated": False}
            rows.append(base | {"method": timing.BASE, "seconds": 1.0})
            rows.append(base | {"method": "gtg", "seconds": 1.0 + place, "evaluations": 10 * (1 + place)})
    return pd.DataFrame(rows).assign(dataset="fashion-mnist")


def test_ratios_stand_beside_the_papers():
    final = timing.table(records())
    row = final[(final["method"] == "exactfed") & (final["clients"] == 10)].iloc[0]
    assert (row["ratio"], row["paper_ratio"], row["seeds"]) == (512.0, 100.0, 2)
    text = timing.markdown(final)
    assert "| fashion-mnist, logistic | 5 | 1.0 s | 1 | 4 | 3 | – | 32 |" in text
    assert "| *the paper* | 5 | 1 min | 1 | 2 | – | – | 31 | 0.55 | 5 | 25 |" in text
    assert "~ 1e+14" in text


def test_facts_say_how_times_grow_and_vary():
    found = timing.facts(timing.table(records()))
    assert found["exponent_s100_logistic"] == pytest.approx(1.0)
    assert found["exponent_sketch_logistic"] == pytest.approx(0.0)
    assert "exponent_exactfed_logistic" not in found
    assert found["paper_exponent_s100"] == pytest.approx(1.06, abs=0.02)
    assert (found["ratio_s500_logistic_50"], found["seconds_sketch_logistic_5"]) == (4.0, 3.0)
    assert found["paper_ratio_exactfed_10"] == 100.0
    assert found["cases_seconds_most_by_least_s100"] == 1.0
    assert found["cases_seconds_most_by_least_gtg"] == 5.0
    assert found["cases_evaluations_most_by_least_gtg"] == 5.0
    assert found["cases_seconds_variation_s100"] == 0.0
    assert found["cases_noisy_by_clean_gtg"] == pytest.approx(4.5 / 2.0)


def test_a_table_that_was_stored_says_the_same(tmp_path):
    final = timing.table(records())
    final.to_csv(tmp_path / "table.csv", index=False)
    again = pd.read_csv(tmp_path / "table.csv")
    assert timing.facts(again) == pytest.approx(timing.facts(final))
    assert timing.markdown(again) == timing.markdown(final)


def test_errors_alone_are_a_table():
    failed = records().head(1).assign(error="no torch").drop(columns=["method", "seconds", "estimated"])
    final = timing.table(failed)
    assert timing.facts(final) == {}
    assert "no torch" in timing.markdown(final)
    assert timing.pictures(final)[0].table.empty


def test_every_number_of_clients_has_all_methods_once():
    cells = find("timing").cells(smoke=False)
    assert {cell.clients for cell in cells if cell.whole and cell.model == "logistic"} == {5, 10, 50, 100}
    assert {cell.clients for cell in cells if cell.model == "cnn"} == {5, 10}
    assert {cell.case for cell in cells if cell.case} == set(timing.CASES)
    assert len(set(cells)) == len(cells)
