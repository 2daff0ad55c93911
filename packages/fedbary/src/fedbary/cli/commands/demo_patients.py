"""Made-up patients for `fedbary demo`: what a clinic writes down at admission, and why the patient came."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LABORATORY = ("glucose", "creatinine", "haemoglobin", "crp", "leukocytes")
# Typical patients. Units: kg/m², mmHg, 1/min, °C, %, mmol/l, µmol/l, g/l, mg/l, 10⁹/l.
_COLUMNS = ("age", "bmi", "systolic", "heart_rate", "temperature", "oxygen", *LABORATORY)
_TYPICAL = {
    "diabetes": (57, 31.0, 138, 82, 36.7, 96.5, 16.0, 88, 140, 6, 8.0),
    "heart failure": (75, 27.5, 118, 94, 36.6, 91.5, 6.6, 120, 126, 14, 8.0),
    "kidney disease": (66, 26.0, 156, 79, 36.6, 96.0, 6.2, 400, 100, 12, 7.4),
    "pneumonia": (61, 25.5, 120, 99, 38.7, 90.5, 6.5, 90, 131, 120, 14.5),
}
_SPREAD = (14, 5.0, 18, 14, 0.5, 2.3, 0.26, 0.29, 14, 0.65, 0.26)
# Laboratory values that span an order of magnitude: the spread is that of their logarithm.
_SKEWED = ("glucose", "creatinine", "crp", "leukocytes")
_DECIMALS = {"bmi": 1, "temperature": 1, "glucose": 1, "crp": 1, "leukocytes": 1}
_SMALLEST, _LARGEST = {"age": 18, "bmi": 15}, {"age": 101, "oxygen": 100}
_SMOKERS = 0.25
# So many have a second illness, which shows up to this much beside the first: some patients are hard to tell.
_SECOND_ILLNESS, _MOST_OF_THE_SECOND = 0.8, 0.6
_NOT_MEASURED = 0.01  # of the laboratory's values, in every clinic


def patients(rows: int, letter: str, rng: np.random.Generator) -> pd.DataFrame:
    """Patients of one clinic, with ids that begin with its letter."""
    import numpy as np
    import pandas as pd

    illnesses = np.array(list(_TYPICAL))
    first, second = rng.integers(len(illnesses), size=(2, rows))
    mixed = np.where(rng.random(rows) < _SECOND_ILLNESS, rng.uniform(0.0, _MOST_OF_THE_SECOND, rows), 0.0)[:, None]
    profiles = np.array(list(_TYPICAL.values()))
    typical = (1.0 - mixed) * profiles[first] + mixed * profiles[second]
    deviation = rng.standard_normal(typical.shape) * _SPREAD
    skewed = np.isin(_COLUMNS, _SKEWED)
    measured = np.where(skewed, typical * np.exp(np.where(skewed, deviation, 0.0)), typical + deviation)
    frame = pd.DataFrame(
        {
            name: np.clip(np.round(values, _DECIMALS.get(name, 0)), _SMALLEST.get(name), _LARGEST.get(name))
            for name, values in zip(_COLUMNS, measured.T, strict=True)
        }
    )
    for name in LABORATORY:
        frame.loc[rng.random(rows) < _NOT_MEASURED, name] = np.nan
    frame.insert(0, "patient", [f"{letter}{number:03d}" for number in range(1, rows + 1)])
    frame.insert(2, "sex", rng.choice(["female", "male"], size=rows))
    frame.insert(3, "smoker", rng.random(rows) < _SMOKERS)
    return frame.assign(diagnosis=illnesses[first])
