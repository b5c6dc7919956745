"""What every preset amounts to, in full, so that a change of a default shows in review. Run it to write the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestrator.api.configs import whole_config
from orchestrator.domain.programs.presets import TRAIN_PRESETS

FILE = Path(__file__).with_name("presets.json")


def whole() -> dict[str, Any]:
    """Preset -> its whole config; those of real data are given a path."""
    needs_paths = {name for name, keys in TRAIN_PRESETS.items() if keys.get("data", {}).get("source")}
    written = {name: {"data": {"paths": ["tokens.bin"]}} if name in needs_paths else {} for name in TRAIN_PRESETS}
    return {name: json.loads(whole_config("train", {"preset": name} | keys)) for name, keys in written.items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps(whole(), indent=1) + "\n")
