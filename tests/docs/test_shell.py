"""A page's command gets the words that a shell would give it, says the same and ends as it does there."""

import pytest
import shell


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("fedbary rows out --client a", True),
        ("fedbary value 'sites/*.csv' --label \"a; b\"  # all; of > them", True),
        ("fedbary value sites/*.csv --reference $DATABASE", True),
        ("fedbary rows out | head", False),
        ("fedbary rows out > rows.txt", False),
        ("fedbary watch out &", False),
        ("fedbary rows out; ls", False),
        ("fedbary rows 'out", False),
        ("NO_COLOR=1 fedbary rows out", False),
        ("cd out", True),
        ("for name in a b; do", False),
        ("(cd out && fedbary rows .)", False),
    ],
)
def test_commands_without_a_shell_s_work_are_known(line, plain):
    assert shell.is_plain(line) is plain


def test_words_are_those_of_bash(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHERE", "a b")
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).touch()
    seen = []
    monkeypatch.setattr("fedbary.cli.main", lambda words: seen.append(words) or 0)
    assert shell.run("fedbary value *.csv \\\n  '*.csv' \"$WHERE\" --label='x y'\n# nothing\nfedbary doctor\n") == (
        0,
        "",
    )
    assert seen == [["value", "one.csv", "two.csv", "*.csv", "a b", "--label=x y"], ["doctor"]]


def test_in_this_process_and_in_one_of_its_own_the_same_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for script in ("fedbary datasets\n", "fedbary rows nowhere\nfedbary datasets\n"):
        assert shell.run(script) == shell.run(f"true; {script}")
    assert shell.run("fedbary rows nowhere\nfedbary datasets\n")[0] == 2


def test_a_change_of_folder_lasts_as_long_as_its_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shell.run("mkdir -p a/b\ncd a\ncp -r b ../c\ncd b\nmkdir d\n") == (0, "")
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {"a", "a/b", "a/b/d", "c"}
    assert shell.run("cd nowhere\nmkdir e\n")[0] != 0
    assert not (tmp_path / "e").exists()
