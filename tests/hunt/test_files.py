"""The hunt for files that break it, for a short while; `make hunt` goes on for longer."""

from tests.hunt import documents, files
from tests.hunt.hunting import hunt


def test_every_mutated_file_is_read_or_refused():
    found = hunt(files.attempt, files.smallest, seconds=5)
    assert found.wrong == [], "\n\n" + "\n\n".join(found.wrong)
    assert found.count > 20


def test_a_fault_is_found_and_told_by_its_smallest_case(monkeypatch):
    def broken(*_, **__):
        raise KeyError("broken on purpose")

    monkeypatch.setattr(files, "guess", broken)
    (wrong,) = hunt(files.attempt, files.smallest, seconds=20, most=1).wrong
    assert "KeyError" in wrong


def test_every_document_and_command_is_read_or_refused():
    found = hunt(documents.attempt, documents.smallest, seconds=5)
    assert found.wrong == [], "\n\n" + "\n\n".join(found.wrong)
    assert found.kinds
