"""The corpus is plain modules beside the tests, so that it also runs by itself and prints its table."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
