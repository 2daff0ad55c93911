"""Where a table lies: a file, a folder, or a database that has a URL."""

from pathlib import Path

from fedbary.data.places import file_name, file_of, is_url, place_name, resolved


def test_a_place_is_a_file_or_a_database():
    places = ["postgresql://ward@host/hospital", "data/ward.csv", Path("a://b"), "c:\\ward.csv"]
    assert [is_url(place) for place in places] == [True, False, False, False]
    files = [file_of(place) for place in ("sqlite+pysqlite:///ward.db?mode=ro", "postgresql://host/hospital", "x.csv")]
    assert files == [Path("ward.db"), None, Path("x.csv")]
    assert resolved("sqlite:///ward.db") == f"sqlite:///{Path('ward.db').resolve()}"


def test_a_client_is_called_after_its_place():
    places = ["postgresql://ward@host/hospital", "data/north.csv.gz", "sites/oslo/"]
    assert [place_name(place) for place in places] == ["hospital", "north", "oslo"]
    assert [file_name(place) for place in ("data/north.csv.gz", "sqlite:///ward.db")] == ["north.csv.gz", "ward.db"]
