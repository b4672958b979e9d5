"""Tables in a folder that colleagues share: nothing gets less readable, nothing goes through what somebody planted."""

import errno
import os
import resource
import signal
import stat
import sys

import pytest

import bomi
from bomi.campaign import append, locks, read_experiments, storage
from bomi.errors import FileError

from .conftest import TABLE

SETTING = {"temperature": 312.5, "time": 900, "passes": 3, "quench": "oil"}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners, modes and links of POSIX")
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other users")


def reachable(folder):
    """Let other users come to a folder below that of temporary files."""
    for one in (folder, *folder.parents):
        if one.stat().st_uid == os.geteuid() and not one.stat().st_mode & stat.S_IXOTH:
            one.chmod(0o755)


def left(folder):
    """What of ours still lies beside the table."""
    return sorted(name for name in os.listdir(folder) if name not in ("lab.csv", "lab.csv.bak", "campaign.toml"))


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604, 0o600])
def test_the_mode_stays_and_the_version_before_has_it_too(lab, campaign, mode):
    lab.chmod(mode)
    append(lab, campaign, [SETTING])
    assert stat.S_IMODE(lab.stat().st_mode) == mode
    assert stat.S_IMODE((lab.parent / "lab.csv.bak").stat().st_mode) == mode
    assert left(lab.parent) == []


def test_extended_attributes_stay(lab, campaign):
    try:
        os.setxattr(lab, "user.reviewed", b"anna")
    except OSError:
        pytest.skip("this file system has no attributes")
    append(lab, campaign, [SETTING])
    assert os.getxattr(lab, "user.reviewed") == b"anna"


@root
def test_owner_and_group_stay(lab, campaign):
    os.chown(lab, 4321, 1234)
    append(lab, campaign, [SETTING])
    assert (lab.stat().st_uid, lab.stat().st_gid) == (4321, 1234)


@root
def test_a_colleague_who_may_write_but_not_give_files_away_writes_in_place(lab, campaign):
    os.chown(lab, 4321, 1234)
    lab.chmod(0o666)
    lab.parent.chmod(0o777)
    reachable(lab.parent.parent)
    inode = lab.stat().st_ino
    assert as_user(5678, lambda: append(lab, campaign, [SETTING])) == 0
    assert (lab.stat().st_uid, lab.stat().st_gid, lab.stat().st_ino) == (4321, 1234, inode)
    assert len(read_experiments(lab, campaign).rows) == 5
    assert (lab.parent / "lab.csv.bak").read_text() == TABLE


def as_user(user, action):
    """Run something as another user; its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        action()
        os._exit(0)
    except BaseException:
        os._exit(1)


def test_a_hard_link_stays_one_file(lab, campaign):
    other = lab.parent / "other.csv"
    os.link(lab, other)
    append(lab, campaign, [SETTING])
    assert os.path.samefile(lab, other)
    assert other.read_bytes() == lab.read_bytes() != TABLE.encode()


def test_a_file_set_read_only_is_left_as_it_is(lab, campaign):
    lab.chmod(0o444)
    with pytest.raises(FileError, match="is set read-only and was left as it is"):
        append(lab, campaign, [SETTING])
    assert lab.read_text() == TABLE
    assert left(lab.parent) == []
    assert not (lab.parent / "lab.csv.bak").exists()


@pytest.mark.parametrize("name", ["lab.csv.bak", ".lab.csv.new", ".lab.csv.lock"])
def test_nothing_is_written_through_a_planted_link(lab, campaign, name):
    target = lab.parent / "precious"
    target.write_text("precious")
    (lab.parent / name).symlink_to(target)
    if name.endswith(".lock"):
        with pytest.raises(FileError, match=r"the lock .*\.lab\.csv\.lock cannot be had: it is a link"):
            append(lab, campaign, [SETTING])
    else:
        append(lab, campaign, [SETTING])
    assert target.read_text() == "precious"


@pytest.mark.parametrize("name", ["lab.csv.bak", ".lab.csv.lock", "lab.csv"])
def test_a_pipe_hangs_nothing(lab, campaign, name):
    (lab.parent / name).unlink(missing_ok=True)
    os.mkfifo(lab.parent / name)
    with pytest.raises(FileError, match="ordinary file"):
        append(lab, campaign, [SETTING])


@root
def test_a_lock_that_another_user_left_is_named_with_its_owner_and_age(lab, campaign):
    lock = lab.parent / ".lab.csv.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    lock.chmod(0o600)
    lab.chmod(0o666)
    lab.parent.chmod(0o777)
    reachable(lab.parent.parent)
    told = lab.parent / "told"

    def tried():
        try:
            append(lab, campaign, [SETTING])
        except FileError as error:
            told.write_text(str(error))

    assert as_user(5678, tried) == 0
    assert "lab.csv.lock, the lock of lab.csv, of root, " in told.read_text()
    assert "days old, is in the way; if nobody writes there, remove it" in told.read_text()


def test_who_waits_for_many_others_in_turn_is_patient_with_each(lab, campaign, monkeypatch):
    lock, others = lab.parent / ".lab.csv.lock", iter(range(20))
    ours = locks._try_lock

    def another_was_faster(descriptor):
        if next(others, None) is None:
            return ours(descriptor)
        lock.unlink()  # it has finished, and the next one has begun
        lock.touch()
        return False

    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    monkeypatch.setattr(locks, "_try_lock", another_was_faster)
    append(lab, campaign, [SETTING])
    assert len(lab.read_text().splitlines()) == len(TABLE.strip().splitlines()) + 1
    assert not left(lab.parent)


def test_a_full_disk_leaves_the_table_and_nothing_else(lab, campaign, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bomi.campaign.storage.os.fsync", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        append(lab, campaign, [SETTING])
    assert lab.read_text() == TABLE
    assert left(lab.parent) == []


def test_a_file_that_may_not_grow_is_as_it_was(lab):
    """In place too: the room is had before anything is written over."""
    os.link(lab, lab.parent / "other.csv")
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        try:
            storage.replace_bytes(lab, b"x" * 1000)
        except FileError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lab.read_text() == TABLE


def test_what_a_killed_process_left_is_swept_away_by_the_next(lab, campaign):
    (lab.parent / ".lab.csv.0123abcd.new").write_text("half a ta")
    (lab.parent / ".lab.csv.notes.new").write_text("not ours")
    append(lab, campaign, [SETTING])
    assert left(lab.parent) == [".lab.csv.notes.new"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lab (Anna's conflicted copy 2024-05-01).csv", "a copy of it that a synchronized folder made"),
        ("lab.sync-conflict-20240501-101112-ABCDEFG.csv", "a copy of it that a synchronized folder made"),
        (".~lock.lab.csv#", "it is open in another program"),
        ("~$lab.csv", "it is open in another program"),
    ],
)
def test_what_a_colleague_s_program_left_beside_is_named(lab, name, said):
    assert storage.company(lab) == []
    (lab.parent / name).touch()
    (told,) = storage.company(lab)
    assert name in told
    assert said in told


@pytest.mark.parametrize(("kind", "named"), [("cifs", True), ("nfs4", True), ("ext4", False)])
def test_a_network_drive_is_named(lab, monkeypatch, tmp_path_factory, kind, named):
    mounts = tmp_path_factory.mktemp("proc") / "mounts"
    drive = str(lab.parent.resolve()).replace(" ", "\\040")
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\n//server/lab {drive} {kind} rw 0 0\nother /elsewhere nfs rw 0 0\n")
    monkeypatch.setattr(storage, "_MOUNTS", mounts)
    told = [said for said in storage.company(lab) if "network drive" in said]
    assert (
        told
        == [
            f"it is on a network drive ({kind}), where two machines may not see each other's locks; "
            "let one of them write at a time"
        ]
        * named
    )
    monkeypatch.setattr(storage, "_MOUNTS", mounts.with_name("none"))
    assert storage.company(lab) == []


def test_what_a_killed_process_left_is_gone_after_the_next_save(tmp_path):
    optimizer = bomi.Optimizer({"x": (0, 1)}, method="random", seed=0)
    left, young = (tmp_path / f".campaign.json.{part * 8}.new" for part in "ab")
    left.write_text("half of it")
    young.write_text("somebody else is writing it")
    os.utime(left, (0, 0))
    optimizer.save(tmp_path / "campaign.json")
    assert sorted(os.listdir(tmp_path)) == [young.name, "campaign.json"]
