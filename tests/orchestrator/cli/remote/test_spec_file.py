"""YAML specs: values, the lines of their fields, and refusals that say where."""

import pytest

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.spec_file import parse_spec, with_lines
from orchestrator.domain.errors import Fault

SPEC = b"""\
# a comment
name: tiny
program:
  builtin: train
  config:
    steps: -1
slices:
  - v5e:2x4
  - v5e:9x9
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("name", "job.yaml:2: name"),
        ("program", "job.yaml:3: program"),
        ("program.config.steps", "job.yaml:6: program.config.steps"),
        ("program.config.model.D", "job.yaml:5: program.config.model.D"),
        ("slices[1]", "job.yaml:9: slices[1]"),
        ("max_wait", "job.yaml: max_wait"),
        ("", "job.yaml"),
    ],
)
def test_a_fault_is_placed_on_its_line_or_on_that_of_what_it_would_be_part_of(path: str, place: str) -> None:
    assert parse_spec("job.yaml", SPEC).place(path) == place


def test_each_fault_gets_a_line() -> None:
    faults = (Fault("name", "is odd"), Fault("program.config.steps", "must be more than 0"))
    assert with_lines(parse_spec("job.yaml", SPEC), faults) == (
        "job.yaml:2: name: is odd\njob.yaml:6: program.config.steps: must be more than 0"
    )


def _nested_aliases() -> bytes:
    """Nine lines that stand for nine to the power of nine fields."""
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [
        f"{name}: &{name} [{','.join([f'*{above}'] * 9)}]" for above, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is a mapping"),
        (b"- a", "is a mapping"),
        (b"a: 1\na: 2", ":2: a is already given on line 1"),
        (b"a: [1,\nb: 2", "not valid YAML"),
        (b"a: \x01", "not YAML text"),
        (b"\xff\xfe\x00", "not YAML text"),
        (b"[" * 1000, "not valid YAML"),
        (b"when: 2020-13-45", "not valid YAML"),
        (b"a: &a [*a]", "not valid YAML"),
        (_nested_aliases(), "more than 20000 fields"),
        (b"a: !!python/object/apply:os.getpid []", "not valid YAML"),
    ],
)
def test_what_is_no_spec_is_refused_in_words(raw: bytes, says: str) -> None:
    with pytest.raises(CommandFailed, match=r"^job\.yaml") as refused:
        parse_spec("job.yaml", raw)
    assert says in str(refused.value)
    assert refused.value.code is Exit.USAGE
