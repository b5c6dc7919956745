"""Webhooks do not reach into the control plane's own network, whatever a name says when it is asked again."""

from collections.abc import Sequence

import httpx
import pytest

from orchestrator.chores.guard import PublicOnly, look_up
from orchestrator.domain.addresses import is_public

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "2002:808:808::1", "64:ff9b::808:808"])
def test_addresses_of_everybody_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "no address",
    ],
)
def test_addresses_of_our_own_network_are_not(address: str) -> None:
    assert not is_public(address)


async def ask(url: str, *addresses: str) -> list[httpx.Request]:
    """The requests that got through when the name has these addresses."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(204)

    async def known(host: str, port: int) -> Sequence[str]:
        return addresses

    async with httpx.AsyncClient(transport=PublicOnly(httpx.MockTransport(answer), known)) as http:
        await http.post(url, content=b"{}")
    return seen


async def test_a_request_goes_to_the_address_that_was_looked_at_under_the_name_that_was_given() -> None:
    [request] = await ask("https://hooks.example.org/x?y=1", "93.184.215.14")
    assert str(request.url) == "https://93.184.215.14/x?y=1"
    assert request.headers["host"] == "hooks.example.org"
    assert request.extensions["sni_hostname"] == "hooks.example.org"


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], []])
async def test_a_name_with_an_address_of_ours_is_refused(addresses: list[str]) -> None:
    with pytest.raises(httpx.ConnectError, match="is not an address on the internet"):
        await ask("http://hooks.example.org/", *addresses)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "0"])
async def test_every_spelling_of_this_machine_is_refused(host: str) -> None:
    transport = PublicOnly(httpx.MockTransport(lambda _: httpx.Response(204)), look_up)
    async with httpx.AsyncClient(transport=transport) as http:
        with pytest.raises(httpx.ConnectError, match=r"is not an address on the internet|cannot be looked up"):
            await http.post(f"http://{host}:80/")
