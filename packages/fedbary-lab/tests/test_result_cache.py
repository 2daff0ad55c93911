"""What an interrupted comparison or boost keeps, and what it must not take for its own."""

import pytest

import fedbary as fb
from fedbary.errors import DataError
from fedbary_lab.result_cache import ResultCache, cached_parts, fingerprints


class Stop(Exception):
    pass


def stopping_at(word):
    def tell(what):
        if what == word:
            raise Stop

    return tell


@pytest.fixture
def parties(digits):
    parts = fb.partitions.by_size(digits, [80, 80, 200, 150], seed=0).clients
    *clients, reference, test = parts.values()
    return dict(zip("ab", clients, strict=True)), reference, test


def test_a_part_is_there_as_a_whole_or_not_at_all(tmp_path):
    cache = ResultCache(tmp_path, lambda: {"seed": 0})

    def half(place):
        (place / "half").touch()
        raise Stop

    with pytest.raises(Stop):
        cache.store("mr", half)
    assert cache.find("mr") is None
    assert cached_parts(tmp_path) == []
    cache.store("mr", lambda place: (place / "score").write_text("1"))
    cache.store("mr", lambda place: (place / "score").write_text("2"))
    assert (cache.find("mr") / "score").read_text() == "1"
    assert cached_parts(tmp_path) == ["mr"]
    assert ResultCache(tmp_path, lambda: {"seed": 1}).find("mr") is None
    ResultCache(tmp_path, lambda: {"seed": 1}).clear()
    assert cached_parts(tmp_path) == ["mr"]
    cache.clear()
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_kept_and_nothing_computed():
    cache = ResultCache(None, lambda: pytest.fail("no key is needed"))
    cache.store("mr", lambda place: pytest.fail("nothing is written"))
    assert cache.find("mr") is None
    cache.clear()


def test_fingerprints_know_order_ids_and_what_is_wrong(parties):
    table = parties[0]["a"]
    turned = table.take(range(len(table) - 1, -1, -1))
    named = table.replace(ids=[f"p{i}" for i in range(len(table))])
    found = fingerprints({"a": table, "b": table, "c": turned, "d": named, "e": DataError("data.no-rows")})
    assert found["a"] == found["b"]
    assert len({found["a"], found["c"], found["d"]}) == 3
    assert found["e"] == '{"code": "data.no-rows"}'


def test_a_comparison_goes_on_to_the_same_scores(parties, tmp_path):
    clients, reference, _ = parties
    options = {"methods": ["cgsv", "mr", "sketch"], "training": fb.FedAvg(rounds=2), "seed": 3}
    with pytest.raises(Stop):
        fb.compare_clients(clients, reference, **options, folder=tmp_path, progress=stopping_at("sketch"))
    assert cached_parts(tmp_path) == ["cgsv", "mr", "training with all clients"]
    events = []
    result = fb.compare_clients(clients, reference, **options, folder=tmp_path, progress=events.append)
    assert "training with all clients" not in events
    whole = fb.compare_clients(clients, reference, **options)
    assert result.to_frame().equals(whole.to_frame())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Stop):
        fb.compare_clients(clients, reference, **options, folder=tmp_path, progress=stopping_at("MR"))
    events.clear()
    fb.compare_clients(clients, reference, **(options | {"seed": 4}), folder=tmp_path, progress=events.append)
    assert "training with all clients" in events


def test_a_comparison_of_rows_goes_on_to_the_same_values(parties, tmp_path):
    clients, reference, _ = parties
    clients["c"] = DataError("data.file-empty", where="c.csv")
    options = {"methods": ["knn-shapley", "logistic"]}
    with pytest.raises(Stop):
        fb.compare_rows(clients, reference, **options, folder=tmp_path, progress=stopping_at("logistic"))
    assert cached_parts(tmp_path) == ["knn-shapley"]
    result = fb.compare_rows(clients, reference, **options, folder=tmp_path)
    whole = fb.compare_rows(clients, reference, **options)
    assert result.to_frame().equals(whole.to_frame())
    assert result.failed == whole.failed


def test_a_boost_goes_on_to_the_same_accuracies(parties, tmp_path):
    options = {"how": ["none", "drop"], "training": fb.FedAvg(rounds=2)}
    with pytest.raises(Stop):
        fb.boost(*parties, **options, folder=tmp_path, progress=stopping_at("training, drop"))
    assert cached_parts(tmp_path) == ["none", "valuation"]
    result, whole = fb.boost(*parties, **options, folder=tmp_path), fb.boost(*parties, **options)
    assert result.to_frame().equals(whole.to_frame())
    assert result.notes == whole.notes
    assert list(tmp_path.iterdir()) == []
