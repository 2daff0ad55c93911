"""Leave flagged rows out before a scikit-learn model is trained, and see what it gains.

One table with every third diagnosis wrong, clean validation rows, and test rows that nobody has seen. `FlagFilter`
drops the flagged rows (`how="relabel"`: gives them the suggested label) and then fits the model that it stands around.
"""

from pathlib import Path

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fedbary as fb

DATA = Path(__file__).parent / "hospitals"


def rows(name):
    """Features and labels of a table of the tutorial."""
    table = pd.read_parquet(DATA / f"{name}.parquet").drop(columns="patient")
    return table.drop(columns="diagnosis"), table["diagnosis"]


X, y = rows("hospital_south")
X_val, y_val = rows("validation")
X_test, y_test = rows("test")

model = make_pipeline(StandardScaler(), LogisticRegression(C=10))
print(f"all {len(X)} rows: accuracy {model.fit(X, y).score(X_test, y_test):.3f}")
for how in ("drop", "relabel"):
    cleaned = fb.FlagFilter(model, how=how).fit(X, y, X_val, y_val)
    print(f"{how}: accuracy {cleaned.score(X_test, y_test):.3f}")
print(f"on {len(X_test)} test rows: one row is {1 / len(X_test):.3f}")
