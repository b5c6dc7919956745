"""Ports for coordinators, from a range of our own."""

import random
import socket
from typing import Final

COORDINATOR_PORTS: Final = range(23_000, 24_000)
"""Below the kernel's ephemeral range, so that no client socket takes one by chance."""


def free_port(ports: range = COORDINATOR_PORTS) -> int:
    """A port of this host that was free a moment ago. It is released here, for the rank to bind.

    Drawn at random: emulated hosts share one machine, and two gangs that start together must not meet.

    Raises:
        OSError: none is free.
    """
    for port in random.sample(ports, len(ports)):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise OSError(f"no port is free between {ports.start} and {ports.stop - 1}")
