"""`<state>/processes.json`: what was started here, so that a later command can adopt it or end it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from orchestrator.cli.local.processes import Identity


@dataclass(frozen=True, slots=True)
class Entry:
    """One process that was started."""

    process: Identity
    mark: str
    """Its whole offspring carries it in the environment."""
    command: tuple[str, ...]


@dataclass(slots=True)
class ProcessRecord:
    """The file and what it holds. Each change is on disk before `put` or `drop` returns."""

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "ProcessRecord":
        """Read the file; one that is missing or damaged counts as empty."""
        try:
            rows = json.loads(path.read_text())
            entries = {
                name: Entry(Identity(**row["process"]), row["mark"], tuple(row["command"]))
                for name, row in rows.items()
            }
        except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
            entries = {}
        return cls(path, entries)

    def alive(self, name: str) -> Entry | None:
        """The entry of that name if its process still runs."""
        entry = self.entries.get(name)
        return entry if entry and entry.process.alive else None

    def put(self, name: str, entry: Entry) -> None:
        self.entries[name] = entry
        self._save()

    def drop(self, name: str) -> None:
        if self.entries.pop(name, None):
            self._save()

    def _save(self) -> None:
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps({name: asdict(entry) for name, entry in self.entries.items()}, indent=2) + "\n")
        draft.replace(self.path)
