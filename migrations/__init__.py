"""Migrations, `NNNN_{pre|post}_words.py`: run before or after the code rollout. A released one is never edited."""
