"""One detached Ray actor per slice, on its host 0: reserves the slice and leads its gang; the first failure wins."""
