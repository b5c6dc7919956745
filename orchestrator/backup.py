"""Back up a control plane's database while it runs.

python -m orchestrator.backup --state-dir DIR FILE
"""

import argparse
import os
import sys
from pathlib import Path

from orchestrator.settings import database_url
from orchestrator.store.backup import BackupFailed, back_up


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m orchestrator.backup", description="Back up a database that is in use."
    )
    parser.add_argument("--state-dir", required=True, type=Path, help="folder of everything that the server keeps")
    parser.add_argument("--database-url", help="default: PODWRIGHT_DATABASE_URL, else SQLite in the state folder")
    parser.add_argument("file", type=Path, help="to write; must not be there yet")
    given = parser.parse_args()
    try:
        made = back_up(database_url(given.database_url, given.state_dir.absolute(), os.environ), given.file.absolute())
    except BackupFailed as failure:
        print(failure, file=sys.stderr)  # noqa: T201  # a command's answer
        return 1
    print(f"{made}: {made.stat().st_size} bytes")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
