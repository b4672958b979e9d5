import datetime
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomi.campaign.delimited import MIXED, encode
from bomi.campaign.marks import decide
from bomi.campaign.sheet import is_formula, load_sheet, parse_sheet, read_sheet
from bomi.errors import FileError

HERE = Path("lab.csv")

controls = [chr(code) for code in range(32) if chr(code) not in "\t\n\r"]
typed = st.text(st.characters(codec="utf-8", exclude_characters=controls), max_size=12)
separators = st.sampled_from([",", ";", "\t"])
line_ends = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def tables(draw):
    width = draw(st.integers(2, 5))
    header = [f"c{j}" for j in range(width)]
    count = st.integers(0, 10**6).map(str)  # a row that begins with a number is an experiment
    return header, draw(st.lists(st.builds(lambda n, rest: [n, *rest], count, texts(width - 1)), max_size=6))


def texts(width):
    return st.lists(typed, min_size=width, max_size=width)


def write(header, rows, separator, line_end, quoted):
    def cell(text):
        needed = quoted or any(mark in text for mark in (separator, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needed else text

    return "".join(separator.join(map(cell, row)) + line_end for row in [header, *rows])


@given(tables(), separators, line_ends, st.sampled_from(["utf-8", "utf-8-sig"]), st.booleans())
def test_any_table_reads_back_and_keeps_every_byte_when_rows_and_columns_are_added(
    table, separator, line_end, encoding, quoted
):
    header, rows = table
    content = write(header, rows, separator, line_end, quoted).encode(encoding)
    sheet = parse_sheet(HERE, content, header)
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    assert list(sheet.header) == header
    assert sheet.rows == kept
    assert sheet.separator == separator

    more = sheet.append([], [{"c0": "1", "c1": "x"}])
    assert without_added(more, header, "") == content

    wider = sheet.append(["asked.c0"], [{"c0": "1", "asked.c0": "2"}])
    read = parse_sheet(HERE, wider, header)
    assert list(read.header) == [*header, "asked.c0"]
    assert read.rows == [*([*row, ""] for row in kept), ["1", *[""] * (len(header) - 1), "2"]]
    assert without_added(wider, header, "asked.c0") == content


def without_added(content, names, column):
    """Take the last row, and the last cell of each record, off the raw lines again: what the person typed."""
    sheet = parse_sheet(HERE, content, names)
    lines = list(sheet.lines)
    del lines[sheet.ends[-2] : sheet.ends[-1]]
    if column:
        for place, end in enumerate(sheet.ends[:-1]):
            body = lines[end - 1].rstrip("\r\n")
            added = sheet.separator + (column if place == 0 else "")
            assert body.endswith(added)
            lines[end - 1] = body.removesuffix(added) + lines[end - 1][len(body) :]
    return "".join(lines).encode(sheet.encoding)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_table_or_a_clear_error(content):
    with suppress(FileError):
        sheet = parse_sheet(HERE, content)
        if sheet.encoding != MIXED:
            assert encode(HERE, "".join(sheet.lines), sheet.encoding) == content


def test_windows_1252_is_read_with_a_note_and_written_back():
    content = "temp °C;note\r\n20;größer\r\n".encode("cp1252")
    sheet = parse_sheet(HERE, content)
    assert sheet.columns == {"temp °C": ["20"], "note": ["größer"]}
    assert sheet.notes == ("not UTF-8: read as Windows-1252",)
    assert sheet.append([], [{"note": "süß"}]) == content + ";süß\r\n".encode("cp1252")
    with pytest.raises(FileError, match="save it as UTF-8"):
        sheet.append([], [{"note": "日本"}])


@pytest.mark.parametrize(
    ("encoding", "name", "text"),
    [
        ("cp1250", "Windows-1250", "późny;1,5"),
        ("cp1250", "Windows-1250", "žádná příměs;1,5"),
        ("cp1251", "Windows-1251", "растворитель;1,5"),
        ("gbk", "GBK", "催化剂;1,5"),
        ("cp932", "Shift-JIS", "触媒;1,5"),
    ],
)
def test_other_encodings_of_spreadsheets_are_told_by_their_letters(encoding, name, text):
    content = f"termin;plon\n{text}\n".encode(encoding)
    sheet = parse_sheet(HERE, content)
    assert sheet.columns == {"termin": [text.split(";")[0]], "plon": ["1,5"]}
    assert sheet.notes == (f"not UTF-8: read as {name}",)
    assert sheet.append([], [{"plon": "2"}]).decode(encoding) == f"termin;plon\n{text}\n;2\n"


@pytest.mark.parametrize("text", ["flow m³/h", "Härte – Öl", "A–B “q”", "¿Qué?", "été élevé…"])
def test_western_letters_and_signs_stay_western(text):
    assert parse_sheet(HERE, f"a;b\n{text};1\n".encode("cp1252")).columns["a"] == [text]


def test_blank_lines_and_trailing_empty_columns_stay_and_rows_go_before_trailing_blank_ones():
    content = b"\n a , b ,,\r\n1,2,,\r\n\r\n3,4\r\n,,,\r\n\r\n"
    sheet = parse_sheet(HERE, content)
    assert sheet.columns == {"a": ["1", "3"], "b": ["2", "4"]}
    assert sheet.numbers == [3, 5]
    assert sheet.append(["asked.a"], [{"a": "5", "asked.a": "6"}]) == (
        b"\n a , b ,,,asked.a\r\n1,2,,,\r\n\r\n3,4,,,\r\n5,,,,6\r\n,,,\r\n\r\n"
    )


def test_a_last_line_without_an_end_gets_one_before_new_rows():
    assert parse_sheet(HERE, b"a,b\n1,2").append([], [{"a": "3"}]) == b"a,b\n1,2\n3,\n"
    assert parse_sheet(HERE, b"a,b").append([], [{"a": "3"}]) == b"a,b\n3,\n"


def test_a_quoted_cell_over_several_lines_is_one_row_called_by_its_first_line():
    sheet = parse_sheet(HERE, b'a,b\n1,"x\ny"\n2,z\n')
    assert sheet.columns == {"a": ["1", "2"], "b": ["x\ny", "z"]}
    assert sheet.numbers == [2, 4]
    assert sheet.append(["c"], []) == b'a,b,c\n1,"x\ny",\n2,z,\n'


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\n1,5\t2;5\n", "\t"),
        ("a, in °C;b\n1,5;2\n", ";"),
        ("a,b; or c\n1,2\n", ","),
        ('"a;b",c\n1,2\n', ","),
        ("sep=;\na,x;b\n1;2\n", ";"),
        ("a\n1\n", ","),
        ("note;a,b\nx;1,2\n", ";"),
    ],
)
def test_separators(text, separator):
    assert parse_sheet(HERE, text.encode()).separator == separator


def test_expected_names_decide_between_separators():
    text = b"x;a,b\n1;2,3\n"
    assert parse_sheet(HERE, text, ["b"]).separator == ","
    assert parse_sheet(HERE, text, ["x"]).separator == ";"


@pytest.mark.parametrize(
    ("text", "decimal", "asked"),
    [
        ("a;b\n1,5;2\n", ",", False),
        ("a;b\n1.5;2\n", ".", False),
        ("a;b\n1;2\n", ",", False),
        ("a\tb\n1\t2\n", ".", False),
        ("a\tb\n1,5±0,1\t2\n", ",", False),
        ("a;b\n1,5;2.5\n", ",", False),
        ("a;b\n1,5;2..3\n", ",", False),
        ("a,b\n1,2\n", ".", False),
        ("a;b\n1,250;2\n", ",", True),
        ("a;b\n1.250;2\n", ",", True),
        ('a,b\n"1,250",2\n', ".", True),
        ('a,b\n"1,250",2.5\n', ".", False),
        ('a,b\n"1,250.5",2\n', ".", False),
        ("a;b\n0,250;2\n", ",", False),
        ("a;b\n1,250;0,5\n", ",", False),
        ("a;d\n1,5;12.03.2024\n", ",", False),
        ("a,b\n1.250,2\n", ".", False),
        ("a;b\n800;2\n1,000;3\n", ".", False),
        ("a;b\n2;2\n1,250;3\n", ",", False),
        ("a;b\n800;0,5\n1,000;1,5\n", ",", True),
        ("a;b\n20;2\n1,000;3\n", ",", True),
    ],
)
def test_decimal_marks(text, decimal, asked):
    sheet = parse_sheet(HERE, text.encode())
    decision = decide(sheet.columns, separator=sheet.separator)
    assert decision.marks["a"].decimal == decimal
    assert bool(decision.questions) == asked


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\r\n ,;\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,b\x00\n", "is no text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "is no text"),
        (b"PK\x03\x04rest", "workbook"),
        (b"\xff\xfea", "UTF-16"),
        (b'a,b\n1,"2\n3,4\n', "row 2: a quote is opened and never closed"),
        (b'a,b\n1,"2"3\n', "row 2: text follows a closing quote"),
        (b"sep=;\n", "no header"),
        (b"a,b\n1," + b"x" * 200_000, "row 2: a cell has more than"),
    ],
)
def test_what_is_no_table_is_told(content, said):
    with pytest.raises(FileError, match=said):
        parse_sheet(HERE, content)


@pytest.mark.parametrize("text", ["=1+1", "+a", "-a", "@x", "-5..-1", "\t=1", "=", "--1", "-1±2"])
def test_formulas_are_never_written(text):
    assert is_formula(text)
    with pytest.raises(FileError, match="formula"):
        parse_sheet(HERE, b"a,b\n").append([], [{"a": text}])


@pytest.mark.parametrize("text", ["-1", "-", "+", "+1.5", "-1,5", "−1", "a=b", "", "1-2", "-1e-3"])
def test_numbers_and_words_are_no_formulas(text):
    assert not is_formula(text)


def test_what_must_be_quoted_is():
    sheet = parse_sheet(HERE, b"a;b\n1;2\n")
    assert sheet.append([], [{"a": "x;y", "b": 'say "hi"'}]) == b'a;b\n1;2\n"x;y";"say ""hi"""\n'


def test_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "a", "b"], ["x", 1.5, None], [], [2, "300±15", 3]):
        book.active.append(row)
    path = tmp_path / "lab.xlsx"
    book.save(path)
    sheet = read_sheet(path)
    assert sheet.columns == {"id": ["x", "2"], "a": ["1.5", "300±15"], "b": ["", "3"]}
    assert sheet.numbers == [2, 4]
    book.active["B2"] = datetime.time(3, 30)
    book.active["B2"].number_format = "h:mm"
    book.save(path)
    assert read_sheet(path).columns["a"][0] == "03:30"  # as it is shown
    assert load_sheet(path, sheet.retyped({(0, 0): "y"})).columns["id"] == ["y", "2"]
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(FileError, match="cannot be read as a workbook"):
        read_sheet(path)


def test_ditto_marks_are_read_as_what_stands_above_and_stay_as_they_are_typed():
    content = b'run,solvent,T,y\n1,THF,20,4\n2,"""",30,5\n3,ditto,ditto,6\n4,DMF,20,7\n'
    sheet = parse_sheet(Path("lab.csv"), content)
    assert sheet.columns["solvent"] == ["THF", "THF", "THF", "DMF"]
    assert sheet.columns["T"] == ["20", "30", "30", "20"]
    assert sheet.notes == ("ditto marks in 2 rows read as what stands above them",)
    assert sheet.append((), [{"run": "5"}]) == content + b"5,,,\n"


def test_a_suggestion_with_few_values_is_no_note(tmp_path):
    """Round numbers where others have decimals, and blanks where nobody knows yet."""
    table = tmp_path / "lab.csv"
    rows = [f"0.{i}13,{i}.5,{i}" for i in range(1, 8)]
    table.write_text("\n".join(["t,h,y", *rows, "1,,"]) + "\n", encoding="utf-8")
    assert read_sheet(table).columns["t"][-1] == "1"


def test_a_row_of_units_may_hold_the_unit_of_one_column():
    sheet = parse_sheet(Path("lab.csv"), b"run,T [C],t,y\n,,min,\n1,20,30,4\n2,30,60,5\n")
    assert sheet.units == {"t": "min"}
    assert sheet.numbers == [3, 4]
    assert parse_sheet(Path("lab.csv"), b"run,T [C],t,y\nmin,,,\n1,20,30,4\n2,30,60,5\n").units == {}


def test_three_accented_letters_in_a_czech_word_are_not_cyrillic():
    content = "vzorek;stáří;pevnost\n1;vápno;nezměřeno\n2;cement;5\n".encode("cp1250")
    assert parse_sheet(Path("lab.csv"), content).header == ("vzorek", "stáří", "pevnost")
    content = "опыт;время;выход\n1;час;40\n2;два;50\n".encode("cp1251")
    assert parse_sheet(Path("lab.csv"), content).header == ("опыт", "время", "выход")
