"""What `fedbary doctor` says of the laboratory: pyDVL without its dependencies, and where data sets are looked for."""

from importlib import metadata

from fedbary_lab.doctor import findings


def found():
    return {one.what: one for one in findings()}


def test_pydvl_says_how_it_is_installed(monkeypatch):
    real = metadata.version

    def version(name):
        if name == "pyDVL":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    assert found()["pyDVL"].remedy == "pip install --no-deps pyDVL==0.10.0"
    monkeypatch.setattr(metadata, "version", lambda name: "0.9.0" if name == "pyDVL" else real(name))
    assert found()["pyDVL"].state == "problem"


def test_a_folder_of_data_that_is_not_there_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDBARY_DATA", str(tmp_path / "nowhere"))
    assert found()["FEDBARY_DATA"].state == "problem"
