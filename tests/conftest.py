import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, and no clock: a busy machine fails no test.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def missing(what: str) -> None:
    """Skip the test, or fail it where everything must be there."""
    if os.environ.get("BOMI_REQUIRE_ALL") == "1":
        pytest.fail(f"{what}, and BOMI_REQUIRE_ALL asks for it")
    pytest.skip(what)


@pytest.fixture(scope="session")
def postgresql():
    """The address of a PostgreSQL server of its own, on a socket in a temporary folder."""
    programs = [*Path("/usr/lib/postgresql").glob("*/bin/postgres"), shutil.which("postgres")]
    program = next((Path(found) for found in programs if found), None)
    if program is None:
        missing("PostgreSQL is not installed (Debian's package postgresql)")
    root = os.geteuid() == 0
    owner = "postgres" if root else getpass.getuser()  # the server refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="bomi-postgresql-"))
    try:
        if root:
            try:
                shutil.chown(folder, owner, owner)
            except LookupError:
                missing("PostgreSQL does not run as root, and there is no user postgres")
        as_owner = {"cwd": folder, "user": owner} if root else {"cwd": folder}
        data = folder / "data"
        make = [program.parent / "initdb", "-D", data, "-U", owner, "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(make, check=True, capture_output=True, **as_owner)
        with (folder / "log").open("wb") as log:
            options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=50"]
            server = subprocess.Popen(
                [program, "-D", data, "-k", folder, *options], stdout=log, stderr=subprocess.STDOUT, **as_owner
            )
        try:
            ready = [program.parent / "pg_isready", "-q", "-h", folder, "-d", "postgres"]
            until = time.monotonic() + 60
            while subprocess.run(ready).returncode:
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until, "PostgreSQL does not answer"
                time.sleep(0.1)
            yield f"postgresql://{owner}@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)  # at once, whoever is connected
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
