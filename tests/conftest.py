from hypothesis import settings

# The same examples in every run, and no clock: a busy machine fails no test.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
