"""The wheel as the image builds it, and a virtual environment that holds it."""

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[2]
DEPLOY: Final = REPOSITORY / "deploy"


def build_wheel(folder: Path) -> Path:
    """Build it from exactly what the Dockerfile copies, so that a file that is missing there is missing here."""
    source = folder / "source"
    source.mkdir(parents=True)
    stage = (DEPLOY / "Dockerfile").read_text().split("AS wheel")[1].split("\nFROM")[0]
    for line in re.findall(r"^COPY (.+)$", stage, re.MULTILINE):
        *names, _ = line.split()
        for name in names:
            found = REPOSITORY / name
            if found.is_dir():
                shutil.copytree(found, source / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(found, source / name)
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*command, "--out-dir", folder / "dist", source], check=True, cwd=folder)
    return next((folder / "dist").glob("*.whl"))


def environment_with(wheel: Path, prefix: Path) -> Path:
    """An environment in which podwright is the wheel, and all else what the tests run with; its Python."""
    venv.create(prefix, symlinks=True)
    python = prefix / "bin" / "python"
    installed = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    site = Path(installed.strip())
    shutil.unpack_archive(wheel, site, "zip")
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python
