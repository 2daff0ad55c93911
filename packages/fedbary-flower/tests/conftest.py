"""Flower without calling home; its tests are one group, which starts first."""

import os
import sys
from pathlib import Path

os.environ |= {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
sys.path.insert(0, str(Path(__file__).parent))
