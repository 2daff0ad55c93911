"""Value three hospitals against a validation set, and see whether verdict, flags and suspects are right.

The tables are those of the tutorial: nothing is wrong in the north, every third diagnosis in the south, and in the west
the radius of 20 patients is a diameter. `truth.csv` says whose. Flags are tested: few of them are false. Suspects are
the next rows up to the estimated number of bad ones, without any guarantee.
"""

from pathlib import Path

import pandas as pd

import fedbary as fb

DATA = Path(__file__).parent / "hospitals"
MARKS = ("flag", "suspect")

clients = fb.read_clients(str(DATA / "hospital_*.parquet"), label="diagnosis", id="patient")
reference = fb.read(DATA / "validation.parquet", label="diagnosis", id="patient")
result = fb.value(clients, reference, seed=0)
for opinion in result.verdict():
    print(f"{opinion.client}: {opinion.advice}. {opinion.why}")

truth = pd.read_csv(DATA / "truth.csv")
for name in clients:
    rows = result.rows(name)
    spoilt = rows["row"].isin(truth["patient"])
    found = [f"{(rows[mark] & spoilt).sum()} {mark}s right, {(rows[mark] & ~spoilt).sum()} wrong" for mark in MARKS]
    print(f"{name}: {spoilt.sum()} rows spoilt; {'; '.join(found)}")
