"""How many threads compute."""

import os
from pathlib import Path

import pytest
import torch

from bomi import threads


@pytest.fixture
def four_threads():
    """As if four were set."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("rows", "running", "expected"), [(1000, 1, 1), (1001, 1, 4), (1001, 3, 2), (1001, 90, 1)])
def test_a_large_table_has_no_more_threads_than_idle_cores(rows, running, expected, four_threads, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(4), raising=False)
    monkeypatch.setattr(Path, "read_text", lambda path: f"9.9 9.9 9.9 {running}/345 12345\n")
    with threads.single_threaded(rows):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 4


def test_where_the_system_does_not_tell_there_are_as_many_as_set(four_threads, monkeypatch):
    def missing(path):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    with threads.single_threaded(1001):
        assert torch.get_num_threads() == 4
