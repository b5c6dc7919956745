"""Shapes that are sold, and messages about those that are not."""

import pytest

from orchestrator.domain.topology import GENERATIONS, SliceRequest, SliceShape


@pytest.mark.parametrize(
    ("text", "shape", "chips", "hosts"),
    [
        ("v5e:2x4", "v5e:2x4", 8, 2),
        ("v5litepod-8", "v5e:2x4", 8, 2),
        ("v5litepod-16", "v5e:4x4", 16, 4),
        ("v5e:1x1", "v5e:1x1", 1, 1),
        ("v4-8", "v4:2x2x1", 4, 1),
        ("v5p:4x4x8", "v5p:4x4x8", 128, 32),
        ("v5p-128", "v5p:4x4x4", 64, 16),
        ("v6e-256", "v6e:16x16", 256, 64),
        ("v3-32", "v3:4x4", 16, 4),
    ],
)
def test_a_shape_knows_its_chips_and_hosts(text, shape, chips, hosts):
    parsed = SliceShape.parse(text)
    assert (str(parsed), parsed.chips, parsed.hosts) == (shape, chips, hosts)
    assert parsed.chips_per_host * parsed.hosts == parsed.chips


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("v5e:3x3", "no topology '3x3'; sold: 1x1"),
        ("v9:2x2", "unknown TPU generation 'v9'; known: v2"),
        ("v5litepod-7", "names no v5e slice; sold: v5litepod-1"),
        ("a lot", "write GENERATION:TOPOLOGY"),
        ("v5p:8x4x4", "ascending order"),
        ("v5p:4x4x0", "multiples of 4"),
        ("", "is not a slice"),
        ("v5e:", "no topology ''"),
    ],
)
def test_what_nobody_sells_is_refused_with_what_is(text, says):
    with pytest.raises(ValueError, match=says):
        SliceShape.parse(text)


@pytest.mark.parametrize("text", ["0*v5e:2x4", "-1*v5e:2x4", "x*v5e:2x4", "1.5*v5e:2x4", "*v5e:2x4", "99999*v5e:2x4"])
def test_a_count_is_a_positive_whole_number(text):
    with pytest.raises(ValueError, match="not a number of slices"):
        SliceRequest.parse(text)


def test_a_request_multiplies_its_shape():
    request = SliceRequest.parse("2*v5e:4x4")
    assert (request.chips, request.hosts, str(request)) == (32, 8, "2*v5e:4x4")


@pytest.mark.parametrize("generation", GENERATIONS.values(), ids=lambda g: g.name)
def test_every_sold_topology_parses_to_itself(generation):
    for topology in generation.topologies:
        shape = SliceShape.parse(f"{generation.name}:{topology}")
        assert shape.topology == topology
        assert len(shape.dims) == generation.dims
