"""docs/reference/train.md: every key of the config with what the dataclasses say of it. Run it to write it."""

from __future__ import annotations

import ast
from pathlib import Path

from orchestrator.domain.programs import train

FILE = Path(__file__).parents[3] / "docs" / "reference" / "train.md"
_SOURCES = ("config", "start", "model", "data", "mesh", "optimizer")
_BEGINS = """# The config of `train`

Every key, its type and default, as `orchestrator/domain/programs/train/` has them: the defaults are the preset `tiny`.
`python -m tests.jobs.train.fields` writes this page.
"""


def page() -> str:
    """The page as it should be."""
    parts = [_BEGINS]
    for source in _SOURCES:
        tree = ast.parse((Path(train.__file__).parent / f"{source}.py").read_text())
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                parts.append(_values(node) if _is_enum(node) else _fields(node))
    return "\n".join(parts)


def _is_enum(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Enum" for base in node.bases)


def _fields(node: ast.ClassDef) -> str:
    lines = [f"## {node.name}", "", _said(node), "", "| key | type | default | |", "|---|---|---|---|"]
    for field, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            default = "" if field.value is None else _default(field.value)
            lines.append(f"| `{ast.unparse(field.target)}` | {_cell(field.annotation)} | {default} | {_text(after)} |")
    return "\n".join(lines) + "\n"


def _values(node: ast.ClassDef) -> str:
    lines = [f"## {node.name}", "", *([_said(node), ""] if ast.get_docstring(node) else [])]
    for field, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(field, ast.Assign) and isinstance(field.value, ast.Constant):
            said = _text(after)
            lines.append(f"- `{field.value.value}`" + (f": {said}" if said else ""))
    return "\n".join(lines) + "\n"


def _said(node: ast.ClassDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split())


def _text(node: ast.stmt | None) -> str:
    """The docstring that follows a field."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split()).replace("|", "\\|")
    return ""


def _cell(node: ast.expr) -> str:
    return f"`{ast.unparse(node)}`".replace("|", "\\|")


def _default(node: ast.expr) -> str:
    if isinstance(node, ast.Call):  # field(default_factory=X)
        return f"`{ast.unparse(node.keywords[0].value)}()`"
    return f"`{ast.unparse(node)}`"


if __name__ == "__main__":
    FILE.write_text(page())
