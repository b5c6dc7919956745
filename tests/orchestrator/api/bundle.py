"""Bundles for tests."""

import hashlib
import io

from orchestrator.domain.bundles import SourceFile, write_archive


def a_bundle(**contents: str) -> tuple[bytes, str]:
    """An archive with these files, `name="content"`, and its digest; one file without any."""
    out = io.BytesIO()
    files = contents or {"main.py": "print(1)"}
    write_archive(((SourceFile(name, False, len(text)), text.encode()) for name, text in files.items()), out)
    return out.getvalue(), hashlib.sha256(out.getvalue()).hexdigest()
