import io
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bomi.campaign import append, guess, read_experiments, read_sheet, write_guess
from bomi.campaign.delimited import MIXED
from bomi.campaign.draft import enter, remove_row
from bomi.campaign.edits import Changes, Edit, removals, save_edits, see
from bomi.campaign.sheet import Sheet, load_sheet, parse_sheet
from bomi.campaign.snapshot import take_snapshot
from bomi.errors import FileError
from bomi.space import Categorical, Space
from bomi.space.cells import Normal

from .corpus import spreadsheet, workbook

ROWS = [
    ["id", "T (°C)", "medium", "hardness"],
    ["H1", "180", "oil", "131.5"],
    ["H2", "<150", "water", "140"],
    ["H3", "n.d.", "oil", ""],
    ["H4", "200", "air", "138.25"],
]

words = st.sampled_from(["oil", "water", "", "n.d.", "<5", "150-160", "~20", "45 %", "k.A."])
numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: repr(float(f"{x:.6g}")).removesuffix(".0"))
tables = st.lists(st.tuples(numbers, st.one_of(numbers, words), words, numbers), min_size=2, max_size=8)


@settings(max_examples=40, deadline=None)
@given(tables)
def test_text_and_workbooks_agree_on_the_same_table(rows):
    table = [["a", "b", "c", "y"], *map(list, rows)]
    text = "\n".join("\t".join(row) for row in table).encode()
    found = [
        load_sheet(Path("t.tsv"), text, ["a", "b", "c", "y"]),
        load_sheet(Path("t.xlsx"), workbook(table, {}), ["a", "b", "c", "y"]),
        load_sheet(Path("t.ods"), spreadsheet(table), ["a", "b", "c", "y"]),
    ]

    def cells(sheet):
        full = [[*row, *[""] * (4 - len(row))] for row in sheet.rows]
        return [[same(cell) for cell in row] for row in full]

    def same(text):
        try:
            return float(text)
        except ValueError:
            return text

    assert cells(found[0]) == cells(found[1]) == cells(found[2])


settings_typed = st.sampled_from(["80", "95.5", "~90", "90-95", "353 K", "<85", "n.d.", ""])
outcomes_typed = st.sampled_from(["<5", ">95", "≤ 7", "12±2", "41.5 ± 0.5", "55.2(4)", "n/a", "failed", "", "61"])


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(settings_typed, outcomes_typed), min_size=1, max_size=6))
def test_what_is_read_of_limits_and_spreads_stays_when_a_row_is_added_in_text_and_workbooks_alike(cells):
    known = [("60", "11"), ("75", "31.5"), ("100", "48")]
    typed = [[f"E{i}", *pair] for i, pair in enumerate([*known, *cells], 1)]
    table = [["Exp", "T (°C)", "Yield (%)"], *typed]
    text = "".join("\t".join(row) + "\r\n" for row in table).encode()
    read = {}
    for form, content in ((".tsv", text), (".xlsx", workbook(table, {})), (".ods", spreadsheet(table))):
        with tempfile.TemporaryDirectory() as folder:
            lab = Path(folder) / f"lab{form}"
            lab.write_bytes(content)
            campaign = write_guess(lab)[1].campaign
            before = read_experiments(lab, campaign)
            append(lab, campaign, [{"T (°C)": 88.0}])
            after = read_experiments(lab, campaign)
        assert after.rows[:-1] == before.rows
        assert after.rows[-1].asked == {"T (°C)": 88.0}
        assert [row[:3] for row in after.sheet.rows[:-1]] == [row[:3] for row in before.sheet.rows]
        read[form] = before.rows
    assert read[".tsv"] == read[".xlsx"] == read[".ods"]


def campaign_for(folder: Path, form: str = ".xlsx") -> tuple[Path, object]:
    table = folder / f"lab{form}"
    table.write_bytes(workbook(ROWS, {}) if form == ".xlsx" else spreadsheet(ROWS))
    return table, write_guess(table)[1].campaign


def test_rows_are_added_to_a_workbook_and_read_back(tmp_path):
    table, campaign = campaign_for(tmp_path)
    before = parts(table)
    ids = append(table, campaign, [{"T (°C)": 165.5, "medium": "oil"}, {"T (°C)": 190.0, "medium": "air"}])
    assert ids == ["H5", "H6"]
    rows = read_experiments(table, campaign).rows
    assert [row.recorded["T (°C)"] for row in rows[-2:]] == [165.5, 190.0]
    assert [row.asked for row in rows[-2:]] == [row.recorded for row in rows[-2:]]
    assert all(row.pending for row in rows[-2:])
    after = parts(table)
    assert {name for name in before if before[name] != after[name]} == {"xl/worksheets/sheet1.xml"}
    assert openpyxl.load_workbook(table).active["B6"].value == 165.5


def parts(table: Path) -> dict[str, bytes]:
    return parts_of(table.read_bytes())


def parts_of(book: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_formulas_styles_and_other_sheets_stay(tmp_path):
    table, campaign = campaign_for(tmp_path)
    book = openpyxl.load_workbook(table)
    book.active["A5"].font = openpyxl.styles.Font(bold=True)
    book.create_sheet("other")["A1"] = "=1+1"
    book.save(table)
    append(table, campaign, [{"T (°C)": 165.5, "medium": "oil"}])
    now = openpyxl.load_workbook(table)
    assert now["other"]["A1"].value == "=1+1"
    assert now.worksheets[0]["A6"].font.bold
    assert now.worksheets[0]["A6"].value == "H5"


def test_nothing_is_written_over_what_stands_below_the_table(tmp_path):
    table, campaign = campaign_for(tmp_path)
    book = openpyxl.load_workbook(table)
    book.active["A6"] = "mean"
    book.active["D6"] = 136.6
    book.save(table)
    with pytest.raises(FileError, match="row 6 is not empty"):
        append(table, campaign, [{"T (°C)": 165.5, "medium": "oil"}])


def typed_anew(table: Path, *texts: tuple[int, str, str], without: tuple[int, ...] = ()) -> Sheet:
    """Cells of a workbook typed anew, by place of the row and column; the table as it is read back."""
    sheet = read_sheet(table)
    edits = tuple(Edit(sheet.numbers[place], see(sheet, place), name, text) for place, name, text in texts)
    assert save_edits(table, Changes(edits=edits, removed=removals(sheet, without)), whole=True) == []
    return read_sheet(table)


def test_cells_of_a_workbook_are_typed_anew_and_all_else_stays(tmp_path):
    table, _ = campaign_for(tmp_path)
    book = openpyxl.load_workbook(table)
    sheet = book.active
    sheet["B3"].font = openpyxl.styles.Font(bold=True)
    sheet["F2"], sheet["F3"] = "beside", 7
    book.create_sheet("other")["A1"] = f"=SUM({sheet.title}!B2:B5)"
    book.save(table)
    before, first = parts(table), read_sheet(table)
    name, medium = first.header[1], first.header[2]
    now = typed_anew(table, (1, name, "171.5"), (0, name, "160±8"), (2, medium, ""), (3, medium, "öl & <wasser>"))
    assert now.columns[name] == ["160±8", "171.5", *first.columns[name][2:]]
    assert now.columns[medium] == [*first.columns[medium][:2], "", "öl & <wasser>"]
    after = openpyxl.load_workbook(table)
    assert (after.active["B3"].value, after.active["B3"].font.bold, after.active["F3"].value) == (171.5, True, 7)
    assert after["other"]["A1"].value == f"=SUM({sheet.title}!B2:B5)"
    changed = {part for part, content in parts(table).items() if before[part] != content}
    assert changed == {"xl/worksheets/sheet1.xml"}  # openpyxl asks for a computation on opening by itself
    assert b'fullCalcOnLoad="1"' in parts(table)["xl/workbook.xml"]
    # A row that is removed is emptied; what stands below it stays where it is.
    gone = typed_anew(table, without=(1,))
    assert gone.columns[first.header[0]] == [first.columns[first.header[0]][place] for place in (0, 2, 3)]
    assert gone.numbers == [2, 4, 5]
    assert openpyxl.load_workbook(table).active["F3"].value is None


def test_the_sheet_that_the_campaign_names_is_written_to(tmp_path):
    table, campaign = campaign_for(tmp_path)
    book = openpyxl.load_workbook(table)
    book.copy_worksheet(book.active).title = "again"
    book.save(table)
    (tmp_path / "campaign.toml").write_text(replace(campaign, sheet="again").text(), encoding="utf-8")
    enter(take_snapshot(table), 2, {"hardness": "137"})
    now = openpyxl.load_workbook(table)
    assert (now.worksheets[0]["D4"].value, now["again"]["D4"].value) == (None, 137)
    remove_row(take_snapshot(table), 2)
    now = openpyxl.load_workbook(table)
    assert (now.worksheets[0]["A4"].value, now["again"]["A4"].value) == ("H3", None)


def test_a_cell_in_percent_stays_in_percent(tmp_path):
    table = tmp_path / "lab.xlsx"
    book = openpyxl.Workbook()
    for row in [("run", "humidity", "y"), ("H1", 0.45, 3.0), ("H2", 0.5, 4.0)]:
        book.active.append(row)
    for line in (2, 3):
        book.active.cell(line, 2).number_format = "0.0%"
    book.save(table)
    now = typed_anew(table, (0, "humidity", "41.5%"), (1, "humidity", "52"))
    assert now.columns["humidity"] == ["41.5%", "52%"]
    assert openpyxl.load_workbook(table).active["B2"].value == pytest.approx(0.415)


def test_what_only_a_spreadsheet_program_can_change_is_left_to_it(tmp_path):
    table, _ = campaign_for(tmp_path)
    name = read_sheet(table).header[1]

    def refused(place: int, reason: str, *, make) -> None:
        book = openpyxl.load_workbook(table)
        make(book.active)
        book.save(other := tmp_path / "other.xlsx")
        content = other.read_bytes()
        with pytest.raises(FileError, match=reason):
            typed_anew(other, (place, name, "171"))
        assert other.read_bytes() == content

    refused(1, "row 3 has a formula that may use row 3", make=lambda sheet: sheet.__setitem__("E3", "=B3*2"))
    refused(1, "row 5 has a formula that may use row 3", make=lambda sheet: sheet.__setitem__("E5", "=B$3+1"))
    refused(1, "row 5 has a formula that may use row 3", make=lambda sheet: sheet.__setitem__("E5", "=SUM(B2:B5)"))
    refused(1, "B3 is part of the merged cell B3:B4", make=lambda sheet: sheet.merge_cells("B3:B4"))
    with pytest.raises(FileError, match="a spreadsheet would run the cell"):
        typed_anew(table, (1, name, "=1+1"))
    with pytest.raises(FileError, match="cannot hold the character"):
        typed_anew(table, (1, name, "1\x0b2"))
    book = openpyxl.load_workbook(table)
    book.active["E5"] = "=B5*33"  # of another row: the rest can be changed
    book.save(table)
    assert typed_anew(table, (1, name, "171")).columns[name][1] == "171"


def test_rows_are_added_to_an_ods_and_its_cells_are_typed_anew(tmp_path):
    table, campaign = campaign_for(tmp_path, ".ods")
    before = parts(table)
    assert append(table, campaign, [{"T (°C)": 165.5, "medium": "oil"}, {"T (°C)": 190.0, "medium": "air"}]) == [
        "H5",
        "H6",
    ]
    rows = read_experiments(table, campaign).rows
    assert [row.recorded["T (°C)"] for row in rows[-2:]] == [165.5, 190.0]
    assert [row.asked for row in rows[-2:]] == [row.recorded for row in rows[-2:]]
    assert {name for name in before if before[name] != parts(table)[name]} == {"content.xml"}
    now = typed_anew(
        table, (0, "T (°C)", "160±8"), (1, "medium", ""), (2, "hardness", "137.5"), (3, "medium", "a  <b> ")
    )
    assert now.columns["T (°C)"][:2] == ["160±8", "<150"]
    assert now.columns["medium"] == ["oil", "", "oil", "a  <b> ", "oil", "air"]
    assert read_experiments(table, replace(campaign, space=now_space(campaign, "a  <b>"))).rows[2].outcomes == {
        "hardness": 137.5
    }
    gone = typed_anew(table, without=(1, 4))
    assert gone.columns["id"] == ["H1", "H3", "H4", "H6"]
    assert gone.numbers == [2, 4, 5, 7]


def now_space(campaign, value):
    """The space with one more category, of which a cell of the table speaks."""
    medium = campaign.space.parameters["medium"]
    return Space({**campaign.space.parameters, "medium": Categorical([*medium.values, value])})


ODS = """<table:table-row table:style-name="ro1">
<table:table-cell office:value-type="string"><text:p>id</text:p></table:table-cell>
<table:table-cell table:style-name="ce1" office:value-type="string"><text:p>T</text:p></table:table-cell>
<table:table-cell office:value-type="string"><text:p>y</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="3">
<table:table-cell table:number-columns-repeated="3" table:style-name="ce2" office:value-type="float" office:value="7">
<text:p>7</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="float" office:value="8"><text:p>8</text:p></table:table-cell>
<table:table-cell office:value-type="percentage" office:value="0.5">
<office:annotation><text:p>checked</text:p></office:annotation><text:p>50%</text:p></table:table-cell>
<table:table-cell table:number-rows-spanned="2" office:value-type="float" office:value="3">
<text:p>3</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="9">
<text:p>9</text:p></table:table-cell><table:covered-table-cell/>
<table:table-cell FORMULA office:value-type="float" office:value="18"><text:p>18</text:p></table:table-cell>
</table:table-row>"""


def ods(path, formula="", rows=ODS):
    """An .ods whose rows and cells are written in runs."""
    whole = parts_of(spreadsheet([["id"]]))
    content = whole["content.xml"].decode()
    start, end = content.index("<table:table-row"), content.index("</table:table>")
    formula = f'table:formula="of:={formula}"' if formula else ""
    whole["content.xml"] = (content[:start] + rows.replace("FORMULA", formula) + content[end:]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in whole.items():
            archive.writestr(name, part)
    return path


def test_runs_of_an_ods_are_taken_apart_where_a_cell_is_changed(tmp_path):
    table = ods(tmp_path / "lab.ods")
    first = read_sheet(table)
    assert first.columns == {
        "id": ["7", "7", "7", "8", "9"],
        "T": ["7", "7", "7", "50%", "9"],
        "y": ["7"] * 3 + ["3", "3"],
    }
    now = typed_anew(table, (1, "T", "71"), (3, "T", "62.5%"), (4, "id", "nine"))
    assert now.columns == {
        "id": ["7", "7", "7", "8", "nine"],
        "T": ["7", "71", "7", "62.5%", "9"],
        "y": first.columns["y"],
    }
    content = parts(table)["content.xml"].decode()
    assert "checked" in content  # a note at a cell
    assert content.count('office:value="7"') == 4  # three runs of rows, and two of cells in one of them
    assert '<table:table-cell table:style-name="ce2" office:value-type="float" office:value="71">' in content
    # Rows are added after the last one, though the sheet ends there.
    added = load_sheet(table, now.append([], [{"id": "10", "y": "4"}]))
    assert (added.columns["id"][-1], added.columns["T"][-1], added.columns["y"][-1]) == ("10", "", "4")


@pytest.mark.parametrize(
    ("place", "formula", "reason"),
    [
        (4, "[.B6]*2", "row 6 has a formula that may use row 6"),
        (0, "[.B$2]*2", "row 6 has a formula that may use row 2"),
        (0, "SUM([.B2:.B5])", "row 6 has a formula that may use row 2"),
    ],
)
def test_what_a_formula_of_an_ods_may_use_is_left_to_the_spreadsheet_program(tmp_path, place, formula, reason):
    table = ods(tmp_path / "lab.ods", formula)
    before = table.read_bytes()
    with pytest.raises(FileError, match=reason):
        typed_anew(table, (place, "T", "3"))
    assert table.read_bytes() == before


def test_merged_cells_of_an_ods_and_what_stands_below_it_stay(tmp_path):
    table = ods(tmp_path / "lab.ods")
    for place in (3, 4):
        with pytest.raises(FileError, match="has a merged cell there"):
            typed_anew(table, (place, "y", "3"))
    with pytest.raises(FileError, match="cannot hold the character"):
        typed_anew(table, (0, "T", "1\x0b2"))
    sheet = replace(read_sheet(table), numbers=[2, 3, 4, 4, 4])
    with pytest.raises(FileError, match="row 5 is not empty"):
        sheet.append([], [{"id": "10"}])


def test_an_xls_of_a_lab_is_read_and_only_read(tmp_path):
    """A BIFF8 file as old programs write them: a hidden sheet, a title, merged cells, dates, percent, umlauts."""
    table = tmp_path / "lab.xls"
    table.write_bytes((Path(__file__).parent / "files" / "lab.xls").read_bytes())
    sheet = read_sheet(table)
    assert sheet.name == "Versuche"
    assert sheet.notes == ("the header is row 2; above it: 'Härteversuche 2024'",)
    assert sheet.columns == {
        "Versuch": ["V1", "V2", "V3", "V4"],
        "Datum": ["2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07"],
        "Serie": ["A", "A", "B", "B"],
        "Temperatur (°C)": ["850", "860±5", "k.A.", "870"],
        "Feuchte": ["45%", "50%", "47.5%", ""],
        "Medium": ["Öl", "Wasser", "Öl", "Luft"],
        "Härte (HV)": ["512.5", "548", "<500", ""],
    }
    campaign = write_guess(table)[1].campaign
    rows = read_experiments(table, campaign).rows
    assert [row.id for row in rows] == ["V1", "V2", "V3", "V4"]
    assert [row.recorded["Temperatur (°C)"] for row in rows] == [850, Normal(860, 5), None, 870]
    assert [row.recorded["Feuchte"] for row in rows] == [45, 50, 47.5, None]
    assert [row.outcomes.get("Härte (HV)") for row in rows] == [512.5, 548, None, None]
    assert str(rows[2].censored["Härte (HV)"]) == "<500"
    assert rows[3].pending
    with pytest.raises(FileError, match=r"save it as \.xlsx or CSV"):
        append(table, campaign, [{"Serie": "A", "Temperatur (°C)": 860, "Feuchte": 46, "Medium": "Öl"}])


def test_lines_in_another_encoding_are_named_and_the_file_is_only_read():
    content = "run;Öl;T\n".encode() + "1;Größe;5\n".encode("cp1252") + b"2;x;6\n"
    sheet = parse_sheet(Path("lab.csv"), content)
    assert sheet.encoding == MIXED
    assert sheet.columns["Öl"] == ["Größe", "x"]
    assert sheet.notes == ("line 2 is not UTF-8 as the others are: read as Windows-1252",)
    with pytest.raises(FileError, match="different encodings"):
        sheet.append([], [{"T": "7"}])


def test_utf_16_is_written_back_as_it_was():
    content = "run;T\n1;5\n".encode("utf-16")
    sheet = parse_sheet(Path("lab.csv"), content)
    assert sheet.append([], [{"run": "2", "T": "6"}]) == "run;T\n1;5\n2;6\n".encode("utf-16")


def test_a_table_in_the_style_of_a_weld_database_reads_without_a_change_by_hand(tmp_path):
    elements = ["C", "Si", "Mn", "S", "P", "Ni", "Cr", "Mo", "V", "Cu", "O", "Ti", "N", "B", "Nb"]
    settings_ = ["heat input", "interpass T", "PWHT T", "PWHT time", *(f"factor {i}" for i in range(11))]
    lines = [",".join([*(f"{e} (wt%)" for e in elements), *settings_, "yield strength (MPa)"])]
    for i in range(200):
        chemistry = [f"<0.0{1 + j % 3}" if (i + j) % 4 == 0 else f"{0.01 * ((i * 7 + j) % 50):.2f}" for j in range(15)]
        heat = "150-200" if i % 6 == 0 else str(100 + i % 90)
        rest = [f"{0.5 + (i * 3 + j) % 10}" for j in range(14)]
        lines.append(",".join([*chemistry, heat, *rest, f"{400 + i % 77}"]))
    table = tmp_path / "weld.csv"
    table.write_text("\n".join(lines) + "\n")
    found = guess(read_sheet(table))
    assert len(found.campaign.space) == 30
    assert found.campaign.objective == "yield strength (MPa)"
    echoes = {(echo.column, echo.how): echo for echo in read_experiments(table, found.campaign).echoes}
    assert str(echoes["C (wt%)", "limit"]) == "C (wt%): read `<0.01` as 0..0.01 in 50 cells"
    assert str(echoes["heat input", "range"]) == "heat input: read `150-200` as 150..200 in 34 cells"


def test_a_column_in_percent_gets_shares(tmp_path):
    table = tmp_path / "lab.xlsx"
    book = openpyxl.Workbook()
    for row in [("run", "humidity", "y"), ("H1", 0.45, 3.0), ("H2", 0.5, 4.0), ("H3", 0.625, 5.5), ("H4", 0.3, 2.0)]:
        book.active.append(row)
    for line in range(2, 6):
        book.active.cell(line, 2).number_format = "0.0%"
    book.save(table)
    campaign = write_guess(table, objective={"y": "maximize"})[1].campaign
    append(table, campaign, [{"humidity": 41.0}])
    assert openpyxl.load_workbook(table).active["B6"].value == pytest.approx(0.41)
    assert read_experiments(table, campaign).rows[-1].recorded["humidity"] == pytest.approx(41.0)
    book = openpyxl.load_workbook(table)
    book.active["B6"] = None
    book.save(table)
    with pytest.raises(FileError, match=r"'humidity' of lab\.xlsx is shown in percent, but not in its last row, 6"):
        append(table, campaign, [{"humidity": 41.0}])


def test_a_unit_that_a_number_format_shows_is_read_and_kept(tmp_path):
    table = tmp_path / "lab.xlsx"
    book = openpyxl.Workbook()
    for row in [("run", "hold", "y"), ("H1", 30, 3.0), ("H2", 2, 4.0), ("H3", 45, 5.5), ("H4", 90, 2.0)]:
        book.active.append(row)
    for line, shape in zip(range(2, 6), ['0 "min"', '0.0 "h"', "0\\ \\m\\i\\n", '0 "min";-0 "min"'], strict=True):
        book.active.cell(line, 2).number_format = shape
    book.save(table)
    campaign = write_guess(table, objective={"y": "maximize"})[1].campaign
    assert [row.recorded["hold"] for row in read_experiments(table, campaign).rows] == [30, 120, 45, 90]
    with pytest.raises(FileError, match=r"'hold' of lab\.xlsx is shown in h, but not in its last row, 5"):
        append(table, campaign, [{"hold": 60.0}])
    book.active.cell(3, 2, 120).number_format = '0 "min"'
    book.save(table)
    append(table, campaign, [{"hold": 60.0}])
    assert read_experiments(table, campaign).rows[-1].recorded["hold"] == 60
    assert openpyxl.load_workbook(table).active["B6"].number_format == '0 "min";-0 "min"'


def test_a_number_format_that_shows_thousands_or_a_percent_sign_changes_no_number(tmp_path):
    book = openpyxl.Workbook()
    for row in [("a", "b", "y"), (1500, 12, 3.0), (2500, 14, 4.0)]:
        book.active.append(row)
    for line in (2, 3):
        book.active.cell(line, 1).number_format = '0.0,"k"'
        book.active.cell(line, 2).number_format = '0"%"'
    book.save(table := tmp_path / "lab.xlsx")
    assert read_sheet(table).rows == [["1500", "12", "3"], ["2500", "14", "4"]]


def test_what_a_workbook_hides_is_read_and_told(tmp_path):
    plain = spreadsheet([["run", "T", "y"], ["1", "20", "3"], ["2", "30", "4"], ["3", "40", "5"]])
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        content = archive.read("content.xml").decode()
    head, *rows = content.split("<table:table-row>")
    head += '<table:table-column/><table:table-column table:visibility="collapse"/>'
    content = head + "".join(
        ('<table:table-row table:visibility="filter">' if i == 2 else "<table:table-row>") + row
        for i, row in enumerate(rows)
    )
    with zipfile.ZipFile(table := tmp_path / "lab.ods", "w") as archive:
        archive.writestr("content.xml", content)
    sheet = read_sheet(table)
    assert sheet.columns["T"] == ["20", "30", "40"]
    assert sheet.notes == ("hidden in the workbook, but read: row 3", "hidden in the workbook, but read: column 'T'")


def far_cell() -> bytes:
    book = openpyxl.Workbook()
    book.active["A1"] = "T"
    book.active["XFD1048576"] = 1
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


def repacked(content: bytes, part: str, text: bytes) -> bytes:
    """A workbook with another content of one of its parts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, text if name == part else old.read(name))
    return packed.getvalue()


def many_cells() -> bytes:
    row = b"<row>" + b'<c t="n"><v>1</v></c>' * 1000 + b"</row>"
    sheet = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    return repacked(far_cell(), "xl/worksheets/sheet1.xml", sheet + row * 4000 + b"</sheetData></worksheet>")


def repeated_rows() -> bytes:
    content = zipfile.ZipFile(io.BytesIO(spreadsheet([["a", "b"], ["1", "2"]]))).read("content.xml")
    often = content.replace(b"<table:table-row>", b'<table:table-row table:number-rows-repeated="1048576">')
    wide = often.replace(b"<table:table-cell office", b'<table:table-cell table:number-columns-repeated="1000" office')
    return repacked(spreadsheet([["a"]]), "content.xml", wide)


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("far.xlsx", far_cell, r"reaches over A1:XFD1048576; is there a cell far from the table\?"),
        ("many.xlsx", many_cells, "has room for 4,000,000 cells, and up to 3,000,000 are read"),
        ("rows.ods", repeated_rows, "cells, and up to 3,000,000 are read"),
    ],
)
def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path, name, make, said):
    table = tmp_path / name
    table.write_bytes(make())
    assert table.stat().st_size < 300_000
    with pytest.raises(FileError, match=said):
        read_sheet(table)
