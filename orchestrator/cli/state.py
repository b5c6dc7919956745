"""Where the local state directory is: named, or the nearest `.podwright` upwards from here."""

from pathlib import Path
from typing import Final

ENVIRONMENT_VARIABLE: Final = "PODWRIGHT_STATE"
_NAME: Final = ".podwright"


def state_dir(named: Path | None, here: Path) -> Path:
    """`named` if given; else the nearest `.podwright` in `here` or above; else `here/.podwright`, existing or not."""
    if named is not None:
        return named.absolute()
    for folder in (here, *here.parents):
        if (folder / _NAME).is_dir():
            return folder / _NAME
    return here / _NAME
