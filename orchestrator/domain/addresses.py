"""Which addresses belong to everybody: a webhook must not reach into the network that the control plane stands in."""

import ipaddress
from typing import Final

_EMBEDS_IPV4: Final = ipaddress.ip_network("64:ff9b::/96")
"""NAT64: the last 32 bits are an IPv4 address."""


def is_public(address: str) -> bool:
    """Whether `address` (IPv4 or IPv6, as text) is on the internet at large: not loopback, link-local with the cloud's
    metadata servers, private, reserved or multicast, nor one of these inside an IPv6 address. Text that is no address
    is not public.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = _inside(found)
    # Of one that stands for an IPv4 address that one counts: Python calls some of their ranges reserved.
    return all(one.is_global and not one.is_multicast for one in inner or (found,))


def _inside(found: ipaddress.IPv4Address | ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    """IPv4 addresses that packets to this IPv6 address may end up at."""
    if isinstance(found, ipaddress.IPv4Address):
        return ()
    inner = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
    if found in _EMBEDS_IPV4:
        inner.append(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
    return tuple(one for one in inner if one is not None)
