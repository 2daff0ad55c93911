"""Value clients whose labels are numbers: how large a tumour is, measured at two hospitals.

A label need not be a class. Here it is the column `worst area`, and in the south the areas of every fourth patient were
exchanged with each other. Rows are ranked by how well label and features fit together. An area that was exchanged with
a similar one cannot be found.
"""

from pathlib import Path

import fedbary as fb

DATA = Path(__file__).parent / "hospitals"

names = ["hospital_north", "hospital_south"]
clients = {name: fb.read(DATA / f"{name}.parquet", label="worst area", id="patient") for name in names}
clients["hospital_south"], exchanged = fb.corruptions.flip_labels(clients["hospital_south"], 0.25, seed=0)
reference = fb.read(DATA / "validation.parquet", label="worst area", id="patient")
result = fb.value(clients, reference, seed=0)
print(result.clients[["client", "rows", "distance", "quality", "share", "flagged"]].round(3).to_string(index=False))

order = result.rows("hospital_south")["value"].argsort()
found = exchanged[order[: exchanged.sum()]].sum()
print(f"{exchanged.sum()} areas were exchanged: {found} of them are among as many rows of the lowest value")
