"""Names that do not exist: the closest one that does is named, by every door of the library."""

import pytest

import fedbary as fb
from fedbary.checks import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "guess"),
    [
        ("skecth", ["sketch", "cards"], " (did you mean 'sketch'?)"),
        ("SKETCH", ["sketch"], " (did you mean 'sketch'?)"),
        ("Mnist", ["digits", "mnist", "fashion-mnist"], " (did you mean 'mnist'?)"),
        ("interp", ["interpolation", "sketch"], " (did you mean 'interpolation'?)"),
        ("dat", ["datasv-exact", "data-banzhaf"], ""),
        ("<script>", ["sketch", "cards"], ""),
        ("", ["sketch"], ""),
        ("x", [], ""),
        ("n\n\u202eorth", ["n\north"], " (did you mean 'n\\north'?)"),
    ],
)
def test_the_closest_name_if_any_is_close(name, known, guess):
    assert did_you_mean(name, known) == guess


def test_the_library_s_errors_guess():
    table = fb.Table({"age": [float(age) for age in range(80)]}, labels=[0] * 40 + [1] * 40)
    calls = {
        "(did you mean 'sketch'?)": lambda: fb.value({"a": table}, table, protocol="sketsh"),
        "(did you mean 'digits'?)": lambda: fb.datasets.load("digit"),
        "(did you mean 'north'?)": lambda: fb.value({"north": table}, table, seed=0).rows("nroth"),
        "(did you mean 'label'?)": lambda: fb.Table.from_frame(table.to_frame(), "lable"),
    }
    for guess, call in calls.items():
        with pytest.raises(fb.FedbaryError) as caught:
            call()
        assert guess in str(caught.value)
