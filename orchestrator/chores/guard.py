"""Requests to addresses that users name, kept out of our own network.

The name is looked up here, and the request goes to the very address that was looked at: a name that answers something
else the next time gains nothing.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import httpx

from orchestrator.domain.addresses import is_public

LOOK_UP_S: Final = 5.0

LookUp = Callable[[str, int], Awaitable[Sequence[str]]]


async def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses of a host. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class PublicOnly(httpx.AsyncBaseTransport):
    """Passes a request on to a public address of its host, and refuses one of a host that has any other."""

    def __init__(self, inner: httpx.AsyncBaseTransport, look_up: LookUp = look_up) -> None:
        self._inner = inner
        self._look_up = look_up

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        try:
            async with asyncio.timeout(LOOK_UP_S):
                addresses = await self._look_up(host, request.url.port or 443)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"{host} cannot be looked up: {error}", request=request) from error
        if not addresses or not all(map(is_public, addresses)):
            said = f"{host} is not an address on the internet; the server allows no others (--allow-private-webhooks)"
            raise httpx.ConnectError(said, request=request)
        # The Host header is set, and the certificate is checked against the name.
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=addresses[0])
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
