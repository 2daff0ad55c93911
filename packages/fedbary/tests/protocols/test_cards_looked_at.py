"""What one model said of many rows becomes what the same model says at another temperature, without the rows."""

import numpy as np
import pytest

import fedbary as fb
from fedbary.protocols.cards import looked_at
from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.looked_at import LookedAt, worth_keeping
from fedbary.protocols.cards.model import discriminant, scoring_model
from fedbary.protocols.cards.row_scores import seen_rows
from fedbary.space.encode import encode
from fedbary.space.labels import class_positions


@pytest.fixture(scope="module")
def rows():
    """A table with missing cells, its schema, and models of it by their temperature."""
    rng = np.random.default_rng(5)
    values, labels = rng.normal(size=(400, 3)), rng.integers(3, size=400).astype(str)
    values[labels == "1"] += 2.0
    values[rng.random(400) < 0.1, 0] = np.nan
    table = fb.Table({name: values[:, place] for place, name in enumerate("xyz")}, labels)
    schema = fb.fit_schema(table, fb.Space(projection="none"))
    points, codes = encode(table, schema), class_positions(labels, schema.label.classes)
    sums = np.array([points[codes == code].sum(axis=0) for code in range(3)])
    moments = ClassMoments(np.bincount(codes).astype(float), sums, points.T @ points)
    classes = schema.label.classes

    def arrays(temperature):
        model = scoring_model(discriminant(moments), classes, temperature)
        return {f"model.{name}": array for name, array in model.to_arrays().items()}

    return table, schema, arrays


def test_another_temperature_needs_no_second_look(rows):
    table, schema, arrays = rows
    seen = LookedAt.kept(schema, arrays(0.7), seen_rows(table, schema, arrays(0.7))).by(schema, arrays(1.9))
    fresh = seen_rows(table, schema, arrays(1.9))
    logs, expected = (one.judged.rows.log_probabilities.array() for one in (seen, fresh))
    assert np.allclose(logs, expected, atol=1e-12)
    assert np.array_equal(seen.judged.rows.feature_scores, fresh.judged.rows.feature_scores)
    assert np.array_equal(seen.judged.model.scales, fresh.judged.model.scales)


def test_another_model_or_schema_needs_one(rows):
    table, schema, arrays = rows
    looked = LookedAt.kept(schema, arrays(1.0), seen_rows(table, schema, arrays(1.0)))
    other = arrays(1.0)
    other["model.mean"] = other["model.mean"] + 1e-9
    assert looked.by(schema, other) is None
    uneven = arrays(1.0)
    uneven["model.biases"] = uneven["model.biases"] + np.arange(3.0)
    assert looked.by(schema, uneven) is None
    blended = arrays(1.0)
    blended["model.blend"] = np.array([0.5])
    assert looked.by(schema, blended) is None
    assert looked.by(fb.fit_schema(table.take(np.arange(200)), fb.Space(projection="none")), arrays(1.0)) is None


def test_only_many_rows_are_kept_and_only_while_there_is_room(rows, monkeypatch):
    table, schema, arrays = rows
    assert not worth_keeping(len(table), schema)
    assert worth_keeping(100_000, schema)
    looked = LookedAt.kept(schema, arrays(1.0), seen_rows(table, schema, arrays(1.0)))
    monkeypatch.setattr(looked_at, "_MOST_NUMBERS", looked_at.numbers(100_000, schema))
    assert not worth_keeping(100_000, schema)
    del looked
    assert worth_keeping(100_000, schema)
