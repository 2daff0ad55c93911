"""How right the paper's rule is, which flags every row whose calibrated gradient is positive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbary_lab.comparison.measures import auroc
from fedbary_lab.experiments.cells import Record

if TYPE_CHECKING:
    import pandas as pd

SIGN_METRICS = ("spoilt", "flagged", "found", "recall", "alarms", "precision", "success", "auroc")


def signed(mask: NDArray[np.bool_], rows: pd.DataFrame) -> Record:
    """Counts and shares of the rows with a positive gradient, beside the rows that were really spoilt.

    ``found`` is how many spoilt rows are flagged and ``recall`` which part of them, the paper's detection ratio;
    ``alarms`` is which part of the other rows is flagged, and so the recall of a rule that sees nothing. ``success`` is
    1 where exactly the spoilt rows are flagged, as the paper reports, and 0 elsewhere.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"value": [-2.0, -1.0, 1.0, 2.0], "flag": [True, True, False, False]})
    >>> found = signed(np.array([True, False, False, False]), rows)
    >>> found["flagged"], found["recall"], found["precision"], found["success"]
    (2, 1.0, 0.5, 0.0)
    """
    flag = rows["flag"].to_numpy(dtype=bool)
    record: Record = {
        "spoilt": int(mask.sum()),
        "flagged": int(flag.sum()),
        "found": int((flag & mask).sum()),
        "recall": float(flag[mask].mean()),
        "alarms": float(flag[~mask].mean()),
        "success": float((flag == mask).all()),
        "auroc": auroc(rows["value"].to_numpy(dtype=float), mask),
    }
    return record | ({"precision": float(mask[flag].mean())} if flag.any() else {})
