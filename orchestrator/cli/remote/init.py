"""`init`: a first job file, from nothing or from another scheduler's."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from orchestrator.cli.failures import CommandFailed, Exit


class Foreign(StrEnum):
    """Formats that can be translated."""

    SBATCH = "sbatch"
    SKY = "sky"
    XPK = "xpk"


_TEMPLATE: Final = """\
# What each field means: podwright explain PATH
name: {name}
program:
  command: [python, train.py]   # started once per host of the slice, without a shell
  code: .                       # this folder goes along; .gitignore holds
slices: {slices}                # podwright slices shows what there is
retry:
  failures: 2                   # restarts after failures of its own; lost hosts are not counted
"""


def init(
    source: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="With --from: the file to translate.", show_default=False)
    ] = None,
    format_: Annotated[Foreign | None, typer.Option("--from", help="What FILE is.")] = None,
    slices: Annotated[str | None, typer.Option(help="What it runs on, e.g. v5e:4x4.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write; - for standard output.")] = Path(
        "job.yaml"
    ),
) -> None:
    """Write a first job file, or translate one of Slurm, SkyPilot or XPK and say what was left out."""
    if (source is None) != (format_ is None):
        raise CommandFailed("give both --from and the FILE to translate, or neither", Exit.USAGE)
    if str(output) != "-" and output.exists():
        raise CommandFailed(f"{output} is already there; name another with --output", Exit.USAGE)
    if source is None or format_ is None:
        name = "".join(c if c.isalnum() else "-" for c in Path.cwd().name.lower()).strip("-") or "job"
        _write(output, _TEMPLATE.format(name=name, slices=slices or "v5e:2x4"))
        return
    _translate(source, format_, slices, output)


def _translate(source: Path, format_: Foreign, slices: str | None, output: Path) -> None:
    from orchestrator.cli.foreign import sbatch, sky, xpk
    from orchestrator.cli.foreign.translation import CannotTranslate

    readers = {Foreign.SBATCH: sbatch.read, Foreign.SKY: sky.read, Foreign.XPK: xpk.read}
    try:
        made = readers[format_](source.read_text(encoding="utf-8"), slices)
    except OSError as error:
        raise CommandFailed(f"cannot read {source}: {(error.strerror or str(error)).lower()}", Exit.USAGE) from None
    except UnicodeDecodeError:
        raise CommandFailed(f"{source} is not UTF-8 text", Exit.USAGE) from None
    except ValueError as error:  # CannotTranslate, or a quotation that does not end
        kind = "is no job of" if isinstance(error, CannotTranslate) else "cannot be read as one of"
        raise CommandFailed(f"{source} {kind} {format_}: {error}", Exit.USAGE) from None
    _write(output, made.yaml())
    for note in made.notes:
        place = f"{source}:{note.line}" if note.line else str(source)
        typer.echo(f"{place}: {note.what}: {note.why}", err=True)


def _write(output: Path, text: str) -> None:
    if str(output) == "-":
        typer.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {output}; send it off with: podwright submit {output}", err=True)
