"""Files as programs export them, and the answers that must be read from each; most hold the same four.

The files are written at run time. `refused_files` has those that must be refused.
"""

import gzip
import io
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from extras import needs

ANSWERS = [
    ("Vienna", "Prague", "Rome"),
    ("Rome", "Naples", "Oslo"),
    ("Köln", "Vienna", "Oslo"),
    ("Prague", "Köln", "Naples"),
]


@dataclass
class Read:
    """A file that is read, by `options`, as these answers by name (by number: as texts of the numbers)."""

    name: str
    content: Any  # bytes, text or a function that returns bytes
    answers: list[tuple[str, ...]] = field(default_factory=lambda: ANSWERS)
    options: dict[str, Any] = field(default_factory=dict)
    named: bool = True
    warning: str | None = None


def content_of(content: Any) -> bytes:
    """Return the content of a case as bytes."""
    made = content() if callable(content) else content
    return made if isinstance(made, bytes) else made.encode()


def lines(header: str, rows: list[Any], delimiter: str = ",", end: str = "\n", quote: str = "") -> str:
    """Return a header and rows as delimited text."""
    cells = [delimiter.join(f"{quote}{cell}{quote}" for cell in row) for row in rows]
    start = [delimiter.join(f"{quote}{name}{quote}" for name in header.split(","))] if header else []
    return end.join([*start, *cells]) + end


def extended(*columns: Any) -> list[tuple[Any, ...]]:
    """Return the four answers with further cells."""
    return [(*row, *more) for row, more in zip(ANSWERS, zip(*columns, strict=True), strict=True)]


def trials(first: str, second: str) -> list[tuple[str, ...]]:
    """Return anchor, two choices and a response for each answer; every second time the choices are swapped."""
    return [
        (anchor, near, far, first) if number % 2 == 0 else (anchor, far, near, second)
        for number, (anchor, near, far) in enumerate(ANSWERS)
    ]


def workbook(*sheets: list[Any]) -> bytes:
    """Return an Excel workbook."""
    needs("openpyxl")
    import openpyxl

    book = openpyxl.Workbook()
    for number, rows in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def frame(way: str, **options: Any) -> Any:
    """Return what pandas writes for the four answers."""
    needs("pandas")
    import pandas as pd

    table = pd.DataFrame(ANSWERS, columns=["anchor", "near", "far"])
    if way == "parquet":
        needs("pyarrow")
        return table.to_parquet(**options)
    return getattr(table, f"to_{way}")(**options)


def arrays(**named: Any) -> bytes:
    """Return an npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **named)
    return buffer.getvalue()


def array(values: Any) -> bytes:
    """Return an npy file."""
    buffer = io.BytesIO()
    np.save(buffer, np.array(values))
    return buffer.getvalue()


def saved_text(values: Any, **options: Any) -> bytes:
    """Return what numpy.savetxt writes."""
    buffer = io.BytesIO()
    np.savetxt(buffer, np.array(values), **options)
    return buffer.getvalue()


HEAD = "anchor,near,far"
TRIAL = "target,choice1,choice2,response"
PLAIN = lines(HEAD, ANSWERS)
ODD = [("Rome", "Naples", "Oslo"), ("Oslo", "Rome", "Naples")]
OF_ODD = [("Rome", "Naples", "Oslo"), ("Naples", "Rome", "Oslo")] * 2
IDS = [(1001, 1002, 1003), (1003, 1004, 1001)]
OF_IDS = [tuple(map(str, row)) for row in IDS]
NUMBERS = [(0, 1, 2), (2, 1, 0), (3, 0, 2)]
OF_NUMBERS = [tuple(map(str, row)) for row in NUMBERS]
DROP = {"bad_rows": "drop"}
JSPSYCH = "rt,stimulus,response,trial_type,trial_index,time_elapsed,internal_node_id,subject"


def jspsych(rows: list[tuple[Any, ...]], header: str) -> str:
    """Return what ``jsPsych.data.get().csv()`` gives: every cell in quotes."""
    text = ",".join(f'"{name}"' for name in header.split(",")) + "\r\n"
    cells = [",".join('"' + str(cell).replace('"', '""') + '"' for cell in row) for row in rows]
    return text + "\r\n".join(cells) + "\r\n"


def jspsych_rows(stimulus: Any, responses: list[Any], extra: Any) -> list[tuple[Any, ...]]:
    """Return trials of html-button-response between an instruction and a goodbye."""
    tail = [""] * len(extra(ANSWERS[0], 0))
    rows: list[tuple[Any, ...]] = [
        ("812", "<p>Welcome</p>", "0", "html-button-response", 0, 830, "0.0-0.0", "s1", *tail)
    ]
    for number, row in enumerate(ANSWERS):
        head = ("903", stimulus(row[0]), responses[number], "html-button-response", number + 1)
        rows.append((*head, 1000 * number, f"0.0-1.{number}", "s1", *extra(row, number)))
    return [*rows, ("", "<p>Thanks</p>", "null", "html-keyboard-response", 9, 9000, "0.0-2.0", "s1", *tail)]


def shown(row: tuple[str, ...], number: int) -> tuple[str, str]:
    """Return the two choices, swapped every second time."""
    return (row[1], row[2]) if number % 2 == 0 else (row[2], row[1])


READ = {
    # Spreadsheets
    "Excel, CSV UTF-8": Read("a.csv", lines(HEAD, ANSWERS, end="\r\n").encode("utf-8-sig")),
    "Excel, German CSV": Read(
        "a.csv", lines(HEAD, ANSWERS, ";", "\r\n").encode("cp1252"), warning="line 4 is not text in UTF-8"
    ),
    "Excel, German CSV, encoding given": Read(
        "a.csv", lines(HEAD, ANSWERS, ";", "\r\n").encode("cp1252"), options={"encoding": "cp1252"}
    ),
    "latin-1, encoding given": Read("a.csv", PLAIN.encode("latin-1"), options={"encoding": "latin-1"}),
    "Mac Roman, encoding given": Read("a.csv", PLAIN.encode("mac-roman"), options={"encoding": "mac-roman"}),
    "Excel, Unicode Text": Read("a.txt", lines(HEAD, ANSWERS, "\t", "\r\n").encode("utf-16")),
    "UTF-16 without a mark": Read("a.csv", PLAIN.encode("utf-16-le")),
    "UTF-16, big-endian": Read("a.csv", PLAIN.encode("utf-16-be")),
    "Excel, sep=;": Read("a.csv", "sep=;\r\n" + lines(HEAD, ANSWERS, ";", "\r\n")),
    "Excel, sep=|": Read("a.csv", '"sep=|"\n' + lines(HEAD, ANSWERS, "|")),
    "Excel, decimal commas": Read("a.csv", lines(HEAD + ",weight", extended(["0,5", "1", "2,25", "0,125"]), ";")),
    "Excel, trailing empty columns": Read("a.csv", lines(HEAD + ",,", extended([""] * 4, [""] * 4))),
    "Excel, empty lines at the end": Read("a.csv", PLAIN + ",,\n,,\n"),
    "Excel for Mac, CR line ends": Read("a.csv", lines(HEAD, ANSWERS, end="\r")),
    "Excel workbook": Read("a.xlsx", lambda: workbook([HEAD.split(","), *ANSWERS])),
    "Excel workbook of numbers": Read("a.xlsx", lambda: workbook([HEAD.split(","), *IDS]), OF_IDS),
    "Excel workbook with blank rows": Read("a.xlsx", lambda: workbook([[], HEAD.split(","), [], *ANSWERS, [None]])),
    "Excel workbook of trials": Read("a.xlsx", lambda: workbook([TRIAL.split(","), *trials(1, 2)])),
    "Excel workbook, answers in the second sheet": Read("a.xlsx", lambda: workbook([["About"], ["by ann"]], [HEAD.split(","), *ANSWERS])),
    "a title above the header": Read("a.csv", "My study,,\n\n2026,,\n" + PLAIN),
    "Google Sheets": Read("a.csv", lines(HEAD + ",note", extended(['"yes, sure"', "", "", "a"]), end="\r\n")),
    "LibreOffice, tabs": Read("a.tsv", lines(HEAD, ANSWERS, "\t", quote='"')),
    "Numbers, semicolons": Read("a.csv", lines(HEAD, ANSWERS, ";").encode("utf-8-sig")),
    "header in capitals with blanks": Read("a.csv", lines(" Anchor , NEAR,Far", ANSWERS)),
    "two columns of notes": Read("a.csv", lines(HEAD + ",note,note", extended("abcd", "efgh"))),
    # R, Stata, SPSS, MATLAB
    "R, write.csv": Read("a.csv", lines(f",{HEAD}", [(n + 1, *row) for n, row in enumerate(ANSWERS)], quote='"')),
    "R, write.csv2": Read("a.csv", lines(HEAD + ",rt", extended(["1,5"] * 4), ";", quote='"')),
    "R, write.table": Read(
        "a.txt",
        '"anchor" "near" "far"\n' + "".join(f'"{n + 1}" "{a}" "{b}" "{c}"\n' for n, (a, b, c) in enumerate(ANSWERS)),
    ),
    "R, write.table with tabs": Read("a.txt", lines(HEAD, ANSWERS, "\t")),
    "R, NA in another column": Read("a.csv", lines(HEAD + ",rt", extended(["1.5", "NA", "2", "3"]))),
    "R, NA in a row that is dropped": Read("a.csv", PLAIN + "Rome,NA,Oslo\nNA,NA,NA\n", options=DROP),
    "Stata": Read("a.csv", lines(HEAD, ANSWERS, quote='"')),
    "SPSS, German": Read("a.csv", lines("Anchor,Near,Far,Weight", extended(["1,00"] * 4), ";", "\r\n")),
    "MATLAB, writematrix from 1": Read("a.csv", "1,2,3\n3,4,1\n", [("1", "2", "3"), ("3", "4", "1")]),
    "MATLAB, writetable": Read("a.txt", lines("anchor,near,far", ANSWERS)),
    # Python
    "pandas, to_csv": Read("a.csv", lambda: frame("csv")),
    "pandas, to_csv without index": Read("a.csv", lambda: frame("csv", index=False)),
    "pandas, to_csv compressed": Read("a.csv.gz", lambda: gzip.compress(frame("csv").encode())),
    "pandas, to_json lines": Read("a.jsonl", lambda: frame("json", orient="records", lines=True)),
    "pandas, to_json records": Read("a.json", lambda: frame("json", orient="records")),
    "pandas, to_parquet": Read("a.parquet", lambda: frame("parquet")),
    "pandas, ids that became floats": Read(
        "a.csv", "anchor,near,far\n1001.0,1002,1003.0\n1003.0,1004,1001.0\n,1004,1001.0\n", OF_IDS, DROP
    ),
    "numpy, savetxt": Read("a.txt", saved_text(NUMBERS), OF_NUMBERS, named=False),
    "numpy, savetxt of ids": Read("a.txt", saved_text(IDS), OF_IDS),
    "numpy, savetxt with a header": Read(
        "a.csv", saved_text(NUMBERS, fmt="%d", delimiter=",", header=HEAD), OF_NUMBERS, named=False
    ),
    "numpy, save": Read("a.npy", array(NUMBERS), OF_NUMBERS, named=False),
    "json.dump of lists": Read("a.json", json.dumps(ANSWERS)),
    "jsonl, compressed": Read("a.jsonl.gz", gzip.compress("\n".join(map(json.dumps, ANSWERS)).encode())),
    # cblearn: lists of triplets, with booleans, with signs, with counts
    "cblearn, list-order": Read("a.npz", arrays(triplets=NUMBERS), OF_NUMBERS, named=False),
    "cblearn, list-boolean": Read(
        "a.npz", arrays(triplets=[(0, 1, 2), (2, 0, 1)], responses=[True, False]), OF_NUMBERS[:2], named=False
    ),
    "cblearn, list-count": Read("a.npz", arrays(X=[(0, 1, 2), (2, 0, 1)], y=[2, -1]), OF_NUMBERS[:2], named=False),
    "cblearn, triplets and signs as text": Read(
        "a.csv",
        saved_text([(0, 1, 2, 1), (2, 0, 1, -1), (3, 2, 0, -1)], fmt="%d", delimiter=","),
        OF_NUMBERS,
        {"columns": {"anchor": 1, "choice1": 2, "choice2": 3, "response": 4}},
        named=False,
    ),
    # Programs for experiments and surveys
    "trials, response by name": Read("a.csv", lines(TRIAL, [(*row, row[1]) for row in ANSWERS])),
    "trials, response 1 or 2": Read("a.csv", lines("participant," + TRIAL, [("p", *row) for row in trials("1", "2")])),
    "trials, response 0 or 1": Read("a.csv", lines("reference,option1,option2,choice", trials("0", "1"))),
    "trials, left or right": Read("a.csv", lines("target,left,right,response", trials("left", "Right"))),
    "trials, arrow keys": Read("a.csv", lines("sample,left,right,response", trials("ArrowLeft", "ArrowRight"))),
    "trials, response by column": Read("a.csv", lines(TRIAL, trials("choice1", "choice2"))),
    "trials, True or False": Read("a.csv", lines(TRIAL, trials("True", "False"))),
    "trials, a time-out that is dropped": Read("a.csv", lines(TRIAL, [*trials("1", "2"), ("a", "b", "c", "")]), options=DROP),
    "trials in letters": Read("a.csv", lines("a,b,c,response", trials("1", "2"))),
    "PsychoPy": Read(
        "a.csv",
        "target,left,right,trials.thisN,key_resp.keys,key_resp.rt,participant,\r\n"
        + "".join(f"{a},{b},{c},0,{key},0.8,7,\r\n" for a, b, c, key in trials("left", "right")),
        options={"columns": {"response": "key_resp.keys"}},
    ),
    "PsychoPy with other routines": Read(
        "a.csv",
        "target,left,right,key_resp.keys,participant,\n,,,,7,\n"
        + "".join(f"{a},{b},{c},{key},7,\n" for a, b, c, key in trials("left", "right")),
        options={"columns": {"response": "key_resp.keys"}, **DROP},
    ),
    "jsPsych, buttons, choices as data": Read(
        "a.csv",
        jspsych(
            jspsych_rows(lambda name: f"<p>{name}</p>", [0, 1, 0, 1], lambda row, n: (row[0], *shown(row, n))),
            JSPSYCH + ",target,choice1,choice2",
        ),
        options=DROP,
    ),
    "jsPsych, buttons, choices saved": Read(
        "a.csv",
        jspsych(
            jspsych_rows(lambda name: f"<p>{name}</p>", [0, 1, 0, 1], lambda row, n: (json.dumps(shown(row, n)),)),
            JSPSYCH + ",choices",
        ),
        options=DROP,
    ),
    "jsPsych, JSON": Read(
        "a.json",
        json.dumps([
            {"trial_type": "html-keyboard-response", "stimulus": "Welcome", "response": " ", "rt": 900},
            *({"trial_type": "html-button-response", "stimulus": a, "choices": [b, c], "response": key, "rt": 900} for a, b, c, key in trials(0, 1)),
        ]),
        options=DROP,
    ),
    "lab.js": Read("a.csv", lines("sender,sender_type,target,left,right,response", [("t", "canvas.Screen", *r) for r in trials("left", "right")])),
    "OpenSesame": Read("a.csv", lines("subject_nr,target,left,right,response", [(1, *r) for r in trials("left", "right")], quote='"')),
    "Gorilla": Read(
        "a.csv",
        lines("Participant Private ID,Spreadsheet: target,Spreadsheet: a,Spreadsheet: b,Response", [(9, *r[:3], r[1]) for r in ANSWERS]),
        options={"columns": {"anchor": "Spreadsheet: target", "choice1": "Spreadsheet: a", "choice2": "Spreadsheet: b",
                             "response": "Response", "subject": "Participant Private ID"}},
    ),
    "MTurk": Read(
        "a.csv",
        lines("WorkerId,Input.anchor,Input.left,Input.right,Answer.choice", [("A1", *r) for r in trials("left", "right")], quote='"'),
        options={"columns": {"anchor": "Input.anchor", "choice1": "Input.left", "choice2": "Input.right", "response": "Answer.choice"}},
    ),
    "Qualtrics": Read(
        "a.csv",
        "ResponseId,anchor,near,far\nResponse ID,Which city?,Which is nearer?,Which is not?\n"
        + '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"\n'
        + "".join(f"R_{n},{a},{b},{c}\n" for n, (a, b, c) in enumerate(ANSWERS)),
    ),
    "SoSci Survey": Read("a.csv", lines(HEAD, ANSWERS, "\t", "\r\n", '"').encode("utf-16")),
    "LimeSurvey": Read("a.csv", lines("id," + HEAD, [(n, *row) for n, row in enumerate(ANSWERS)], ";", quote='"').encode("utf-8-sig")),
    # Odd one out
    "odd one out by name": Read("a.csv", lines("first,second,third,odd", [(*row, "Oslo") for row in ODD]), OF_ODD),
    "odd one out by position": Read("a.csv", lines("first,second,third,odd", [(*ODD[0], 3), (*ODD[1], 1)]), OF_ODD),
    "odd one out by index": Read("a.csv", lines("a,b,c,odd", [(*ODD[0], 2), (*ODD[1], 0)]), OF_ODD),
    "odd one out by column": Read("a.csv", lines("object1,object2,object3,odd_one_out", [(*ODD[0], "object3"), (*ODD[1], "object1")]), OF_ODD),
    "THINGS, the last is odd": Read("a.txt", "0 1 2\n2 1 3\n", [("0", "1", "2"), ("1", "0", "2"), ("2", "1", "3"), ("1", "2", "3")],
                                    {"columns": {"first": 1, "second": 2, "odd": 3}}, named=False),
    # Databases, shells, editors
    "sqlite3, list mode": Read("a.csv", lines(HEAD, ANSWERS, "|")),
    "PostgreSQL, COPY": Read("a.tsv", lines(HEAD + ",rt", extended(["1.5", "\\N", "2", "3"]), "\t")),
    "awk": Read("a.txt", lines(HEAD, ANSWERS, "  ")),
    "comments": Read("a.csv", "# exported 2026-11-16, by hand\n#\n" + PLAIN + "# end\n"),
    "names with numbers among them": Read("a.csv", "anchor,near,far\n7,Rome,Oslo\n", [("7", "Rome", "Oslo")]),
    "without a header, columns counted": Read("a.csv", lines("", ANSWERS), options={"columns": {"anchor": 1, "near": 2, "far": 3}}),
    "with a header, columns counted": Read("a.csv", lines("x,y,z", ANSWERS), options={"columns": {"anchor": 1, "near": 2, "far": 3}}),
    "other headers": Read("a.csv", lines("Ziel,gewählt,anderes", ANSWERS), options={"columns": {"anchor": "ziel", "near": "gewählt", "far": "anderes"}}),
    # Numbers
    "ids 1001 and on": Read("a.csv", lines(HEAD, IDS), OF_IDS),
    "ids 1001 and on, JSON": Read("a.jsonl", "\n".join(json.dumps(dict(zip(HEAD.split(","), row, strict=True))) for row in IDS), OF_IDS),
    "numbers from 0": Read("a.csv", lines(HEAD, NUMBERS), OF_NUMBERS, named=False),
    "numbers from 0 with a gap": Read("a.csv", "anchor,near,far\n0,1,3\n", [("0", "1", "3")]),
    "numbers with a gap, n_objects": Read("a.csv", "anchor,near,far\n0,1,3\n", [("0", "1", "3")], {"n_objects": 5}, named=False),
    "ids with leading zeros": Read("a.csv", "anchor,near,far\n007,010,011\n", [("007", "010", "011")]),
    "levels of contrast": Read("a.csv", "anchor,near,far\n-0.5,0,0.25\n", [("-0.5", "0", "0.25")]),
}  # fmt: skip
