"""Pictures of comparisons and experiments: what they draw is what their frames hold."""

import numpy as np
import pandas as pd
import pytest

from fedbary_lab import plots


def test_a_line_called_like_a_template_keeps_its_name():
    table = pd.DataFrame({"x": ["1", "2"], "y": [0.1, 0.2], "by": "%{x}"})
    (line,) = plots.curves(table, x="x", y="y", by="by").plot().data
    assert "%{x}" not in line.hovertemplate


@pytest.mark.parametrize("kind", [plots.scatter, plots.bars])
def test_a_group_is_named_once_although_it_is_in_two_panels_or_in_the_second_only(kind):
    table = pd.DataFrame({"x": [0.0, 0.0, 1.0], "y": [1.0, np.nan, 3.0], "by": ["a", "a", "b"], "p": [3, 10, 10]})
    picture = kind(table, x="x", y="y", by="by", panel="p", labels={"y": "height"})
    traces = picture.plot().data
    assert [(trace.legendgroup, trace.showlegend, list(trace.y)) for trace in traces] == [
        (traces[0].name, True, [1.0]),
        (traces[0].name, False, [None]),
        (traces[2].name, True, [3.0]),
    ]
    assert picture.plot().layout.yaxis.title.text == "height"
    assert picture.frame().equals(table)
