import sys

import pytest

from bomi import cli


@pytest.fixture
def bomi(monkeypatch, capsys, tmp_path):
    """Runs a command as a shell would: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bomi", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        output = capsys.readouterr()
        return exit.value.code or 0, output.out, output.err

    return run
