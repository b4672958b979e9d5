import pytest


@pytest.fixture
def quiet():
    """Optuna without its messages."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    yield
    logging.set_verbosity(before)
