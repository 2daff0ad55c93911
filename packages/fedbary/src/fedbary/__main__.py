"""`python -P -m fedbary` is `fedbary`."""

import sys

from fedbary.cli import main

sys.exit(main())
