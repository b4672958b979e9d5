import csv
import io
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bomi.campaign import (
    Campaign,
    Edit,
    read_experiments,
    read_sheet,
    save_edits,
    summarize,
    take_snapshot,
    write_guess,
)
from bomi.campaign.draft import Draft, cell_problems, enter, marks, other_problems, remove_row
from bomi.campaign.edits import Changes, continued, edited, locate, locate_removals, removals, replace_file, see
from bomi.campaign.kept import Kept, kept_path, read_kept, write_kept
from bomi.campaign.sheet import parse_sheet
from bomi.campaign.template import EXAMPLE_CAMPAIGN, EXAMPLE_TABLE, empty_table
from bomi.errors import FileError, TableError

from .conftest import TABLE

PATH = Path("lab.csv")
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
# What nobody types into a file is not ours to keep: a cell that would be run, and blanks around a separator.
CELLS = TEXT.filter(lambda text: not text.lstrip().startswith(("=", "+", "-", "@", "\t", "\r")))


@st.composite
def sheets(draw):
    """A table as csv writes it, with quoted cells, line ends within them, blank lines, and a change of one cell."""
    separator, newline = draw(st.sampled_from(",;\t")), draw(st.sampled_from(["\n", "\r\n"]))
    width = draw(st.integers(2, 4))
    cell = st.one_of(CELLS, st.sampled_from(["", "a,b;c\td", 'say "hi"', "two\nlines", '"', "x"]))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=5))
    rows = [["r", *row[1:]] if not any(c.strip() for c in row) else row for row in rows]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator=newline)
    writer.writerow([f"c{j}" for j in range(width)])
    for row in rows:
        writer.writerow(row)
        if draw(st.booleans()):
            text.write(newline)
    place = draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, width - 1))
    return text.getvalue().encode(), place, draw(CELLS)


@given(sheets())
def test_a_cell_typed_anew_changes_that_cell_alone(given_):
    content, (row, column), text = given_
    before = parse_sheet(PATH, content, ["c0", "c1"])
    assume(row < len(before.rows))
    after = parse_sheet(PATH, before.retyped({(row, column): text}), ["c0", "c1"])
    assume(len(after.rows) == len(before.rows))  # a row of a single word may be taken for a note
    expected = [list(cells) for cells in before.rows]
    expected[row][column] = text
    assert list(after.rows) == [cells for cells in expected if any(map(str.strip, cells))]
    # Byte for byte the same before and after the record, and nothing at all where nothing is typed.
    start, end = before.numbers[row] - 1, before.ends[row + 1]
    lines = before.lines
    new = before.retyped({(row, column): text})
    assert new.startswith("".join(lines[:start]).encode())
    assert new.endswith("".join(lines[end:]).encode())
    assert before.retyped({}) == content


def test_a_short_row_is_filled_up_to_the_cell():
    sheet = parse_sheet(PATH, b"a,b,c\n1\n2,3\n")
    assert sheet.retyped({(0, 2): "x", (1, 1): "y, z"}) == b'a,b,c\n1,,x\n2,"y, z"\n'


def test_what_would_be_run_is_not_written():
    sheet = parse_sheet(PATH, b"a,b\n1,2\n")
    with pytest.raises(FileError, match="as a formula"):
        sheet.retyped({(0, 0): "=1+1"})
    assert sheet.retyped({(0, 0): "-5"}) == b"a,b\n-5,2\n"


def test_windows_text_stays_windows_text_or_is_refused():
    sheet = parse_sheet(PATH, "a,b\n1,Gr\u00f6\u00dfe\n".encode("cp1252"))
    assert sheet.retyped({(0, 0): "2±1"}) == "a,b\n2±1,Größe\n".encode("cp1252")
    with pytest.raises(FileError, match="Windows-1252, which has no '→'"):
        sheet.retyped({(0, 0): "→"})


@pytest.mark.parametrize("ids", [True, False])
def test_an_edit_finds_its_row_again_wherever_it_went(ids):
    head, rows = (
        ("id,x,y\n", ["1,10,a\n", "2,20,b\n", "3,30,c\n"]) if ids else ("x,y\n", ["10,a\n", "20,b\n", "30,c\n"])
    )
    seen = parse_sheet(PATH, (head + "".join(rows)).encode())
    edit = Edit(seen.numbers[2], see(seen, 2), "x", "31")
    moved = parse_sheet(PATH, (head + "9,99,new\n"[0 if ids else 2 :] + rows[2] + rows[0]).encode())
    assert locate(moved, [edit]) == ({(1, moved.header.index("x")): "31"}, [])
    content, conflicts = edited(moved, Changes(edits=(edit,)))
    assert (b"3,31,c\n" if ids else b"31,c\n") in content
    assert conflicts == []


def test_a_cell_that_somebody_else_changed_is_a_conflict_and_stays():
    seen = parse_sheet(PATH, b"id,x,y\n1,10,a\n2,20,b\n")
    edits = [Edit(3, see(seen, 1), "x", "21"), Edit(3, see(seen, 1), "y", "c"), Edit(2, see(seen, 0), "x", "11")]
    now = parse_sheet(PATH, b"id,x,y\n2,25,b\n")
    content, conflicts = edited(now, Changes(edits=tuple(edits)))
    assert content == b"id,x,y\n2,25,c\n"
    assert [str(conflict) for conflict in conflicts] == [
        "row 3, column 'x': you typed '21', but the cell now says '25'",
        "row 2, column 'x': you typed '11', but the cell is no longer there",
    ]
    assert locate(parse_sheet(PATH, b"id,x\n1,10\n2,21\n"), edits[:1])[1] == []  # the same was typed


def test_a_row_is_found_again_by_the_column_that_names_the_experiments(tmp_path):
    table = tmp_path / "lab.csv"
    table.write_text("Versuch,x,y\nV1,10,1\nV2,20,2\nV3,30,\n")
    write_guess(table, objective="y")
    draft = Draft(take_snapshot(table)).typed(1, "x", "21")
    table.write_text("Versuch,x,y\nV2,20,2.5\nV1,10,1\nV3,30,\n")  # somebody sorts it, and corrects another cell
    assert draft.save() == []
    assert table.read_text() == "Versuch,x,y\nV2,21,2.5\nV1,10,1\nV3,30,\n"


def test_rows_that_are_alike_are_not_mistaken_for_each_other():
    seen = parse_sheet(PATH, b"x,y\n1,a\n1,a\n")
    edit = Edit(3, see(seen, 1), "y", "b")
    assert edited(seen, Changes(edits=(edit,)))[0] == b"x,y\n1,a\n1,b\n"
    moved = parse_sheet(PATH, b"x,y\n0,z\n9,q\n1,a\n1,a\n")
    assert locate(moved, [edit])[1][0].now is None  # which of the two it was cannot be told


def test_saving_is_whole_keeps_the_version_before_and_merges(lab):
    seen = read_sheet(lab)
    edits = [Edit(3, see(seen, 1), "temperature", "250")]
    lab.write_bytes(TABLE.replace("600", "650").encode())  # somebody was faster, elsewhere
    assert save_edits(lab, Changes(edits=tuple(edits), added=({"temperature": "1e2", "note": "new, and mine"},))) == []
    expected = TABLE.replace("600", "650").replace("2,,900", "2,250,900") + ',1e2,,,,,"new, and mine"\n'
    assert lab.read_text(encoding="utf-8") == expected
    assert (lab.parent / "lab.csv.bak").read_text(encoding="utf-8") == TABLE.replace("600", "650")
    with pytest.raises(FileError, match="you typed '260', but the cell now says '250'"):
        save_edits(lab, Changes(edits=(replace(edits[0], text="260"),)), whole=True)
    assert lab.read_text(encoding="utf-8") == expected


def test_many_who_save_at_once_lose_nothing(lab):
    seen = read_sheet(lab)
    columns = ["temperature", "time", "passes", "note"]
    threads = [
        threading.Thread(
            target=save_edits,
            args=(lab, Changes(edits=(Edit(5, see(seen, 3), name, f"{i}"),), added=({"note": f"n{i}"},))),
        )
        for i, name in enumerate(columns)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now = read_sheet(lab)
    assert [now.columns[name][3] for name in columns] == ["0", "1", "2", "3"]
    assert sorted(now.columns["note"][4:]) == ["n0", "n1", "n2", "n3"]


@given(sheets())
def test_a_row_that_is_removed_takes_its_own_lines_with_it_and_no_others(given_):
    content, (row, _), _ = given_
    before = parse_sheet(PATH, content, ["c0", "c1"])
    assume(row < len(before.rows))  # what looks like a note below the rows is none
    after, conflicts = edited(before, Changes(removed=removals(before, [row])))
    first, last = before.numbers[row] - 1, before.ends[row + 1]
    assert after == "".join(before.lines[:first] + before.lines[last:]).encode()
    assert conflicts == []


def test_a_row_is_removed_only_as_it_was_seen():
    seen = parse_sheet(PATH, b"id,x\n1,10\n2,20\n3,30\n")
    gone = removals(seen, [0, 2])
    # It moved, and got a blank column: it is the same row.
    moved = parse_sheet(PATH, b"id,x,asked.x\n3,30,\n2,20,\n1,10,\n")
    assert edited(moved, Changes(removed=gone)) == (b"id,x,asked.x\n2,20,\n", [])
    # Somebody wrote into one of them.
    content, conflicts = edited(
        parse_sheet(PATH, b"id,x\n1,10\n2,20\n3,31\n"), Changes(added=({"x": "40"},), removed=gone)
    )
    assert content == b"id,x\n2,20\n3,31\n,40\n"
    assert [str(one) for one in conflicts] == [
        "row 4: you removed it, but it, or a row like it, was changed or removed meanwhile"
    ]


def test_of_two_rows_that_are_alike_two_people_do_not_remove_both():
    seen = parse_sheet(PATH, b"x,y\n1,a\n1,a\n2,b\n")
    one = removals(seen, [1])
    assert edited(seen, Changes(removed=one)) == (b"x,y\n1,a\n2,b\n", [])
    places, conflicts = locate_removals(parse_sheet(PATH, b"x,y\n1,a\n2,b\n"), one)
    assert (places, len(conflicts)) == (set(), 1)
    moved = parse_sheet(PATH, b"x,y\n0,z\n9,q\n1,a\n1,a\n")
    assert edited(moved, Changes(removed=removals(seen, [0, 1])))[0] == b"x,y\n0,z\n9,q\n"


def test_a_file_that_changed_is_not_replaced(tmp_path):
    path = tmp_path / "campaign.toml"
    replace_file(path, b"one", expected=None)
    replace_file(path, b"two", expected=b"one")
    assert (path.read_bytes(), (tmp_path / "campaign.toml.bak").read_bytes()) == (b"two", b"one")
    for expected in (None, b"one"):
        with pytest.raises(FileError, match=r"campaign.toml was changed meanwhile and was left as it is"):
            replace_file(path, b"three", expected=expected)
    assert path.read_bytes() == b"two"


# --- drafts --------------------------------------------------------------------------------------------------------


def test_a_draft_shows_what_the_file_would_be_and_what_is_wrong(lab):
    draft = Draft(take_snapshot(lab))
    assert draft.count == 0
    worse = draft.typed(0, "temperature", "hot").typed(1, "temperature", "310")
    assert worse.count == 2
    assert list(cell_problems(worse.result)) == [(0, "temperature")]
    assert "expected a number" in cell_problems(worse.result)[0, "temperature"]
    assert worse.result.experiments is None
    again = worse.typed(0, "temperature", "300")
    assert (again.count, again.result.problems) == (1, ())
    assert again.result.experiments.rows[1].recorded["temperature"] == 310
    assert lab.read_text(encoding="utf-8") == TABLE
    with pytest.raises(FileError, match="as a formula"):
        again.typed(0, "note", "=now()")
    with pytest.raises(FileError, match="there is no cell"):
        again.typed(77, "note", "x")
    blank = Draft(take_snapshot(lab))
    for column in ("id", "temperature", "time", "passes", "quench", "strength"):
        blank = blank.typed(1, column, "")
    with pytest.raises(FileError, match="without anything in it"):
        blank.typed(1, "note", " ")


def test_a_new_row_is_typed_in_like_any_other(lab):
    draft = Draft(take_snapshot(lab)).with_row()
    assert draft.sheet.columns["temperature"][4] == "?"
    draft = draft.typed(4, "temperature", "200").typed(4, "strength", "150")
    assert draft.count == 1
    assert draft.save() == []
    assert lab.read_text(encoding="utf-8") == TABLE + ",200,?,?,?,150,\n"


def test_a_draft_moves_onto_a_newer_version(lab):
    draft = Draft(take_snapshot(lab)).typed(0, "note", "mine").typed(1, "note", "mine too").with_row()
    lab.write_text(TABLE.replace("first", "theirs").replace("1,300", "1,301"), encoding="utf-8")
    moved, conflicts = draft.rebased(take_snapshot(lab))
    assert [(conflict.edit.text, conflict.now) for conflict in conflicts] == [("mine", "theirs")]
    assert [edit.text for edit in moved.changes.edits] == ["mine too"]
    assert len(moved.changes.added) == 1
    lab.unlink()
    gone, conflicts = draft.rebased(take_snapshot(lab))  # it may come back: the changes wait for it
    assert (gone, conflicts) == (draft, [])


def test_a_draft_without_some_rows(lab):
    lines = TABLE.splitlines(keepends=True)
    draft = Draft(take_snapshot(lab)).with_row().typed(1, "note", "lost").typed(2, "note", "kept")
    less = draft.without([1, 4])
    assert (less.count, less.origins, len(less.sheet.rows)) == (2, [0, 2, 3], 3)
    # Places are those of the rows that are left; lines those of the file.
    less = less.typed(2, "strength", "soon").without([0])
    assert list(cell_problems(less.result)) == [(1, "strength")]
    less = less.typed(1, "strength", "171")
    with pytest.raises(FileError, match="there is no such row"):
        less.without([2])
    assert lab.read_text(encoding="utf-8") == TABLE
    # Somebody adds a row at the top, and writes into one of those that were removed.
    lab.write_text(lines[0] + "0,310,,,,,\n" + "".join(lines[1:]).replace("first", "theirs"), encoding="utf-8")
    moved, conflicts = less.rebased(take_snapshot(lab))
    assert [(one.edit.number, one.now) for one in conflicts] == [(2, None)]
    assert ([removal.number for removal in moved.changes.removed], moved.count) == ([4], 3)
    assert moved.save() == []
    now = read_sheet(lab)
    assert now.columns["id"] == ["0", "1", "3", "4"]
    assert now.columns["strength"][3] == "171"
    assert now.columns["note"][1:3] == ["theirs", "kept"]


def test_a_block_of_cells_is_pasted_as_a_whole_or_not_at_all(lab):
    draft = Draft(take_snapshot(lab)).with_row()
    block = {(0, "note"): "a", (4, "note"): "b", (4, "temperature"): "200"}
    pasted = draft.pasted(block)
    assert (pasted.count, pasted.sheet.columns["note"][0], pasted.sheet.columns["note"][4]) == (2, "a", "b")
    with pytest.raises(FileError, match="as a formula"):
        draft.pasted({**block, (1, "note"): "=now()"})
    with pytest.raises(FileError, match="there is no cell in column 'colour'"):
        draft.pasted({**block, (1, "colour"): "red"})


def test_a_column_that_the_campaign_needs_is_added_and_typed_into(lab):
    draft = Draft(take_snapshot(lab)).with_columns(["pressure", "note"]).typed(1, "pressure", "3").with_row()
    assert draft.changes.columns == ("pressure",)
    assert draft.sheet.columns["pressure"] == ["", "3", "", "", ""]
    # Somebody else adds the same column meanwhile, with something in it.
    header, first, *rest = lab.read_text(encoding="utf-8").splitlines(keepends=True)
    lab.write_text(
        header.replace("\n", ",pressure\n")
        + first.replace("\n", ",7\n")
        + "".join(r.replace("\n", ",\n") for r in rest),
        encoding="utf-8",
    )
    moved, conflicts = draft.rebased(take_snapshot(lab))
    assert (conflicts, moved.changes.columns) == ([], ())
    assert moved.save() == []
    assert read_sheet(lab).columns["pressure"] == ["7", "3", "", "", ""]


def test_a_row_is_removed_unless_it_changed(lab):
    snapshot = take_snapshot(lab)
    remove_row(snapshot, 3)
    assert lab.read_text(encoding="utf-8") == "".join(TABLE.splitlines(keepends=True)[:-1])
    with pytest.raises(FileError, match="row 5: you removed it, but it"):
        remove_row(snapshot, 3)


def test_what_is_not_saved_is_kept_beside_the_table_until_it_is(lab):
    draft = Draft(take_snapshot(lab)).with_columns(["pressure"]).typed(0, "note", "µ “mine”").with_row().without([2])
    kept = Kept(draft.changes, {"gap/2/time": "70±5", "setup": {"text": "x"}})
    assert read_kept(lab) == Kept()
    write_kept(lab, kept)
    assert read_kept(lab) == kept
    assert [path.name for path in lab.parent.glob(".*")] == [f".{lab.name}.draft"]
    again, conflicts = Draft(take_snapshot(lab), read_kept(lab).changes).rebased(take_snapshot(lab))
    assert (again.changes, conflicts) == (draft.changes, [])
    kept_path(lab).write_text("{", encoding="utf-8")
    with pytest.raises(FileError, match="should hold what was typed and not saved, but cannot be read"):
        read_kept(lab)
    write_kept(lab, Kept())
    assert not kept_path(lab).exists()
    with pytest.raises(FileError, match="more than 16 MB is not saved"):
        write_kept(lab, Kept(texts={"setup": "x" * (16 * 2**20)}))


def test_marks_say_what_is_special(lab):
    snapshot = take_snapshot(lab)
    assert marks(snapshot) == {
        (1, "temperature"): "gap", (2, "temperature"): "uncertain", (2, "time"): "gap", (2, "strength"): "failed",
        (3, "temperature"): "uncertain", (3, "passes"): "gap", (3, "quench"): "gap", (3, "strength"): "pending",
    }  # fmt: skip


def test_entering_a_result_is_all_or_nothing(lab):
    snapshot = take_snapshot(lab)
    with pytest.raises(TableError, match="quench: expected one of water, oil, air, but got 'milk'"):
        enter(snapshot, 3, {"strength": "171", "quench": "milk"})
    assert lab.read_text(encoding="utf-8") == TABLE
    enter(snapshot, 3, {"strength": "171", "quench": "oil", "temperature": "?"})
    assert lab.read_text(encoding="utf-8").splitlines()[4] == "4,?,1200,?,oil,171,pending"
    with pytest.raises(FileError, match="you typed '180', but the cell now says '171'"):
        enter(snapshot, 3, {"strength": "180", "note": "again"})
    assert "again" not in lab.read_text(encoding="utf-8")


# --- snapshots -----------------------------------------------------------------------------------------------------


def test_a_snapshot_is_never_an_error(tmp_path, lab):
    assert take_snapshot(lab).experiments is not None
    nothing = take_snapshot(tmp_path / "none.csv", tmp_path / "none.toml")
    assert (nothing.content, nothing.toml, nothing.table_fault, nothing.campaign_fault) == (None, None, "", "")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "broken.toml").write_text("[objective\n")
    broken = take_snapshot(tmp_path / "binary.csv", tmp_path / "broken.toml")
    assert "is no text" in broken.table_fault
    assert "is no valid TOML" in broken.campaign_fault
    assert broken.editable is False
    folder = take_snapshot(tmp_path, tmp_path)
    assert "is a folder" in folder.table_fault
    assert "is a folder" in folder.campaign_fault
    (tmp_path / "header.csv").write_text("temperature,time\n1,2,3\n")
    odd = take_snapshot(tmp_path / "header.csv")
    assert len(other_problems(odd)) == 3
    assert (0, "") in cell_problems(odd)
    assert len({take_snapshot(lab).key, nothing.key, broken.key, odd.key}) == 4


def test_the_example_and_the_empty_table_fit_their_campaigns(tmp_path, campaign):
    (tmp_path / "campaign.toml").write_text(EXAMPLE_CAMPAIGN, encoding="utf-8")
    (tmp_path / "example.csv").write_text(EXAMPLE_TABLE, encoding="utf-8")
    example = read_experiments(tmp_path / "example.csv", Campaign.read(tmp_path / "campaign.toml"))
    assert (summarize(example).rows, summarize(example).failed) == (10, 1)
    (tmp_path / "empty.csv").write_text(empty_table(campaign), encoding="utf-8")
    assert read_experiments(tmp_path / "empty.csv", campaign).rows == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("id,x\na,1\nb,2\nc,3\n", "id,x\nc,3\na,9\nd,2\n", [2, 0, 1]),  # by id, and what followed a
        ("x\n1\n2\n3\n", "x\n1\n3\n", [0, 2]),  # one removed
        ("x\n1\n2\n3\n", "x\n1\n7\n3\n", [0, 1, 2]),  # one typed anew
        ("x\n1\n2\n3\n", "x\n7\n2\n3\n4\n", [0, 1, 2, None]),
        ("x\n1\n3\n", "x\n1\n2\n3\n", [0, None, 1]),  # one in between
        ("x\n5\n5\n6\n", "x\n5\n6\n", [0, 2]),  # of two that are alike, either
        ("x\n1\n2\n", "x,y\n1,\n2,\n", [0, 1]),  # a blank column more
    ],
)
def test_a_row_is_known_again_in_a_later_version(before, after, expected):
    older, newer = (parse_sheet(PATH, text.encode(), ["x"]) for text in (before, after))
    assert continued(older, newer) == expected
