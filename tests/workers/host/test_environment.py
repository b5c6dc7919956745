"""What a rank finds in its environment, and what it does not."""

from pathlib import Path

from orchestrator.protocol import ProgramOrder
from workers.host.environment import argv, rank_environment
from workers.host.messages import HostOrder, RankOrder
from workers.rank.context import RankContext

HOST = HostOrder("slice-a", 1, 4, True, "/srv")


def an_order(env_vars: dict[str, str] | None = None, builtin: str | None = None) -> RankOrder:
    program = ProgramOrder(builtin, "{}" if builtin else None, () if builtin else ("python", "train.py"))
    return RankOrder("j", "a", 3, 1, 2, "127.0.0.1:23000", program, env_vars or {}, "/ckpt", 50)


def environment(base: dict[str, str], order: RankOrder) -> dict[str, str]:
    return rank_environment(base, HOST, order, folder=Path("/srv/a"), compile_cache=Path("/srv/cache"))


def test_the_rank_can_read_who_it_is() -> None:
    context = RankContext.from_environment(environment({}, an_order(builtin="train")))
    assert (context.job_id, context.attempt_id, context.attempt, context.rank, context.rank_count) == (
        "j",
        "a",
        3,
        1,
        2,
    )
    assert (context.slice, context.host, context.coordinator) == ("slice-a", "1", "127.0.0.1:23000")
    assert (context.spool, context.config) == (Path("/srv/a/spool.jsonl"), Path("/srv/a/config.json"))
    assert context.checkpoint_every_steps == 50


def test_what_ray_or_the_agent_have_set_is_not_inherited() -> None:
    found = environment({"RAY_JOB_ID": "1", "TPU_VISIBLE_CHIPS": "", "HOME": "/home/x", "PATH": "/bin"}, an_order())
    assert found["HOME"] == "/home/x"
    assert found["PATH"].endswith(":/bin")
    assert not [name for name in found if name.startswith(("RAY_", "TPU_"))]


def test_the_user_wins_over_defaults_but_not_over_the_contract() -> None:
    mine = {"XLA_FLAGS": "--mine", "JAX_COMPILATION_CACHE_DIR": "/mine", "PODWRIGHT_RANK": "7", "PODWRIGHT_NEW": "x"}
    found = environment({}, an_order(mine))
    assert (found["XLA_FLAGS"], found["JAX_COMPILATION_CACHE_DIR"]) == ("--mine", "/mine")
    assert found["PODWRIGHT_RANK"] == "1"
    assert "PODWRIGHT_NEW" not in found


def test_emulated_hosts_offer_cpu_devices_for_chips() -> None:
    assert "--xla_force_host_platform_device_count=4" in environment({}, an_order())["XLA_FLAGS"]


def test_a_command_is_run_as_given_and_a_builtin_by_the_rank_package() -> None:
    assert argv(an_order()) == ["python", "train.py"]
    assert argv(an_order(builtin="train"))[1:] == ["-m", "workers.rank", "train"]
