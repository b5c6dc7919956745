"""`train`: a sharded Transformer over bytes of text, resumable bit for bit."""

from jobs.train.loop import run

__all__ = ["run"]
