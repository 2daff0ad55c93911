"""One file has one account, by whatever name it is reached; and copies are told of."""

import hashlib
import json
import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbary.data.places import identity
from fedbary.guard.ledger import Entry
from fedbary.guard.node_config import NodeConfig, account_folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table and one beside it; the state is elsewhere."""
    monkeypatch.setenv("FEDBARY_STATE", str(tmp_path / "state"))
    home = tmp_path / "data"
    (home / "sub").mkdir(parents=True)
    (home / "mine.csv").write_text("a,label\n1,0\n")
    monkeypatch.chdir(home)
    return home


def node(data, **more):
    return NodeConfig.of({"data-path": str(data), **more}, 1)


def asked(data, digest="", **more):
    """The account's folder, once a question was answered there."""
    config = node(data, **more)
    with config.locked():
        config.ledger.open_question(Entry(protocol="sketch", data=digest))
    return config.home


def older_home(state, place, stem):
    return state / f"{stem}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:8]}"


def test_every_spelling_of_a_path_is_one_account(place):
    (place / "link.csv").symlink_to("mine.csv")
    (place.parent / "here").symlink_to(place)
    home = asked("mine.csv")
    spellings = ["sub/../mine.csv", place / "mine.csv", f"{place}/sub/../mine.csv", "./mine.csv", "link.csv",
                 place.parent / "here" / "mine.csv"]  # fmt: skip
    assert {node(one).home for one in spellings} == {home}
    (place / "copy.csv").write_bytes((place / "mine.csv").read_bytes())
    assert node("copy.csv").home != home


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_every_spelling_of_a_database_is_one_account(place, first):
    sqlite3.connect(place / "ward.db").close()
    urls = [
        "sqlite:///ward.db",
        "sqlite+pysqlite:///ward.db",
        "sqlite:///ward.db?mode=ro",
        f"sqlite:///{place}/sub/../ward.db",
    ]
    home = asked(urls[first])
    assert {node(url).home for url in urls} == {home}


@settings(max_examples=40, deadline=None)
@given(
    who=st.sampled_from(["", "ward@", "ward:se@cr/et@"]),
    driver=st.sampled_from(["", "+psycopg", "+asyncpg"]),
    port=st.sampled_from(["", ":5432"]),
    more=st.sampled_from(["", "?sslmode=require", "?connect_timeout=3&application_name=x"]),
)
def test_who_connects_and_how_makes_no_other_database(who, driver, port, more):
    assert identity(f"postgresql{driver}://{who}Host{port}/hospital{more}") == "postgresql://host/hospital"


def test_other_databases_are_others():
    urls = ["postgresql://a/x", "postgresql://b/x", "postgresql://a/y", "postgresql://a:5433/x", "mysql://a/x",
            "postgresql:///x?host=a", "postgresql:///x?host=b", "sqlite:///x"]  # fmt: skip
    assert len({identity(url) for url in urls}) == len(urls)


def test_a_hard_link_is_the_same_file_and_a_file_with_its_old_number_is_not(place):
    home = asked("mine.csv")
    os.link("mine.csv", "other.csv")
    assert asked("other.csv") == home
    (place / "draft").write_text("a,label\n2,0\n")
    Path("draft").replace("mine.csv")  # as an editor saves
    assert node("mine.csv").home == node("other.csv").home == home
    Path("mine.csv").rename("moved.csv")
    assert node("mine.csv").home == home
    noted = json.loads((home / "places").read_text())
    (place / "stranger.csv").write_text("a,label\n3,0\n")
    facts = Path("stranger.csv").stat()
    noted["seen"] = [facts.st_dev, facts.st_ino, facts.st_mtime_ns - 1]
    (home / "places").write_text(json.dumps(noted))
    assert node("stranger.csv").home != home


def test_a_renamed_file_keeps_its_account(place):
    home = asked("mine.csv")
    Path("mine.csv").rename("renamed.csv")
    assert node("renamed.csv").home == home


def test_a_link_that_leads_to_each_month_in_turn_is_one_table(place):
    for month in ("may", "june"):
        (place / f"{month}.csv").write_text(f"a,label\n1,{month}\n")
    link = place / "current.csv"
    link.symlink_to("may.csv")
    home = asked(link)
    link.unlink()
    link.symlink_to("june.csv")
    assert asked(link) == home == node("june.csv").home == node("may.csv").home


@pytest.mark.parametrize("given", ["sub/../mine.csv", "link.csv", "mine.csv"])
def test_accounts_of_older_releases_are_found(place, given):
    (place / "link.csv").symlink_to("mine.csv")
    state = place.parent / "state"
    older = older_home(state, Path(given).absolute(), Path(given).stem)
    older.mkdir(parents=True)
    (older / "ledger.jsonl").write_text("{}")
    assert asked_folder(state, given) == older
    sqlite = older_home(state, f"sqlite+pysqlite:///{(place / 'ward.db?mode=ro').resolve()}", "ward")
    sqlite.mkdir()
    assert asked_folder(state, "sqlite+pysqlite:///ward.db?mode=ro") == sqlite


def asked_folder(state, data):
    return account_folder(state, None, data)


def test_of_several_older_accounts_the_fuller_goes_on(place):
    state = place.parent / "state"
    own, older = (older_home(state, path, "mine") for path in (place / "mine.csv", f"{place}/sub/../mine.csv"))
    for home, lines in ((own, 1), (older, 3)):
        home.mkdir(parents=True)
        (home / "ledger.jsonl").write_text("{}\n" * lines)
    assert asked_folder(state, "mine.csv") == own  # which knows nothing of the other yet
    config = node("sub/../mine.csv")
    with config.locked():
        assert config.home == older
    assert asked_folder(state, "mine.csv") == older


def test_a_name_that_the_owner_gives_has_its_own_account(place):
    named = asked("mine.csv", table="ward")
    assert named.name == "ward"
    assert node("mine.csv").home == named  # without a name it is found by its place
    assert node("mine.csv", table="other").home.name == "other"


def test_the_same_rows_in_another_account_are_told_of(place):
    (place / "copy.csv").write_bytes((place / "mine.csv").read_bytes())
    first = asked("mine.csv", "ab" * 32)
    assert node("mine.csv").copies() == ()
    asked("copy.csv", "ab" * 32)
    (note,) = node("copy.csv").copies()
    assert (note.code, note.facts["path"]) == ("guard.same-rows-elsewhere", str(first / "ledger.jsonl"))
    assert str(first) in str(note)
    asked("copy.csv", "cd" * 32)
    assert node("copy.csv").copies() == ()
