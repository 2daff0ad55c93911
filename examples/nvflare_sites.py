"""Value three hospitals over NVIDIA FLARE, in its simulator, each site with a file of its own.

FLARE runs a server and a process for every site. What a site may answer, and from which rows, is in its owner's own
file, which the simulator writes here; the job that the server sends holds neither code nor paths. The same job runs
on sites with start-up kits. Needs `pip install "fedbary[nvflare]"`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import fedbary as fb
from fedbary.nvflare import Simulator, recipe

DATA = Path(__file__).parent / "hospitals"
COLUMNS = {"label": "diagnosis", "id": "patient"}

if __name__ == "__main__":
    own = {"data-path": str(DATA / "hospital_{site}.parquet"), **COLUMNS}
    with TemporaryDirectory() as folder:
        config = {"reference": str(DATA / "validation.parquet"), "output": f"{folder}/result", **COLUMNS}
        recipe(config, min_clients=3).execute(Simulator(["north", "south", "west"], folder, site_config=own))
        result = fb.Valuation.load(f"{folder}/result")
    print("Train with", result.select())
