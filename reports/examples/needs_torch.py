"""Imported before PyTorch: ends an example that lacks it in one line, with what to install."""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("torch") is None:
    print(f"{Path(sys.argv[0]).name} needs PyTorch: pip install 'torch>=2.4'", file=sys.stderr)
    sys.exit(2)
