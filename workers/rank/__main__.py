"""`python -m workers.rank NAME`: this process is a rank and runs the built-in program NAME."""

from __future__ import annotations

import os
import sys

from workers.rank.program import run_builtin

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m workers.rank NAME")
    try:
        run_builtin(sys.argv[1], os.environ)
    except ValueError as error:
        sys.exit(f"workers.rank: {error}")
