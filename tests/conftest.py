"""Settings of the whole test session."""

from hypothesis import settings

settings.register_profile("calm", derandomize=True, deadline=None)
settings.load_profile("calm")
