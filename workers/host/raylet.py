"""Ray does not reliably end actors whose raylet was killed (they ran on for minutes), so they watch it themselves."""

import os
import threading
import time
from collections.abc import Callable
from typing import Final

LOOK_EVERY_S: Final = 0.2


def exit_with_raylet(before_exit: Callable[[], None]) -> None:
    """From now on, when this process's parent is gone, call `before_exit` and end the process at once."""
    raylet = os.getppid()

    def watch() -> None:
        while os.getppid() == raylet:
            time.sleep(LOOK_EVERY_S)
        try:
            before_exit()
        finally:
            os._exit(1)  # Ray's own exit would try to reach the raylet

    threading.Thread(target=watch, name="raylet-watch", daemon=True).start()
