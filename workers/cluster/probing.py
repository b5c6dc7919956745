"""Whether this cluster can write checkpoints: tried now and then, on a thread of its own, so that the control plane
holds jobs back before they take slices. The identity is this process's, which is that of the hosts wherever they share
one; where they do not, an attempt's own claim finds it."""

import logging
import threading
import uuid
from collections.abc import Callable
from typing import Final

from workers.storage import StorageError, open_storage

EVERY_S: Final = 60.0
AGAIN_S: Final = 10.0
"""While it cannot: somebody may be mending it."""
PATIENCE_S: Final = 20.0

log = logging.getLogger(__name__)


class Probing:
    """Tries the root that it was last told, and tells `send(root, fault)`."""

    def __init__(self, send: Callable[[str, str | None], bool]) -> None:
        self._send = send
        self._root = ""
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, root: str) -> None:
        """Try this root from now on; at once if it is another one."""
        if root and root != self._root:
            self._root = root
            self._news.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="probing", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._news.clear()
            root = self._root
            fault = probe(root)
            if fault is not None:
                log.warning("checkpoints cannot be written: %s", fault)
            told = self._send(root, fault)
            self._news.wait(EVERY_S if fault is None and told else AGAIN_S)


def probe(root: str, patience_s: float = PATIENCE_S) -> str | None:
    """Write, read and delete an object below `root`: why that cannot be done, in a sentence, or None."""
    path, content = f".probes/{uuid.uuid4().hex}", uuid.uuid4().hex.encode()
    try:
        storage = open_storage(root, patience_s=patience_s)
        storage.write(path, content)
        if storage.read(path) != content:
            return f"{root}: what is written there cannot be read back"
        storage.delete(path)
    except (StorageError, ValueError) as error:
        return str(error)
    except Exception as error:  # a defect of ours or of a client must not end the thread
        log.exception("the probe of %s failed", root)
        return f"{root}: {type(error).__name__}: {error}"
    return None
