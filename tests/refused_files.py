"""Files that must be refused, as people have them, and the part of the message that names the remedy."""

import gzip
import io
import zipfile
from dataclasses import dataclass, field
from typing import Any

from exported_files import (
    ANSWERS,
    HEAD,
    JSPSYCH,
    NUMBERS,
    ODD,
    PLAIN,
    TRIAL,
    array,
    arrays,
    extended,
    lines,
    trials,
    workbook,
)


@dataclass
class Refused:
    """A file that is refused with a message that names the remedy."""

    name: str
    content: Any
    message: str
    options: dict[str, Any] = field(default_factory=dict)
    by_read: bool = True  # not only by `check` and `fit`
    by_command: bool = True


ZIP = io.BytesIO()
with zipfile.ZipFile(ZIP, "w") as _file:
    _file.writestr("xl/workbook.xml", "x")

REFUSED = {
    "workbook named .csv": Refused("a.csv", ZIP.getvalue(), "if it is a workbook, rename it to end in .xlsx"),
    "old workbook named .csv": Refused("a.csv", b"\xd0\xcf\x11\xe0" + bytes(100), "save it as .xlsx or .csv"),
    "old workbook": Refused("a.xls", b"\xd0\xcf\x11\xe0", "save or export the table as .csv"),
    "OpenDocument": Refused("a.ods", ZIP.getvalue(), "save or export the table as .csv"),
    "SPSS's own file": Refused("a.sav", b"$FL2", "save or export the table as .csv"),
    "no suffix": Refused("answers", PLAIN, "its name must end in .csv"),
    "compressed, without .gz": Refused("a.csv", gzip.compress(b"x"), "append .gz to its name"),
    "parquet named .csv": Refused("a.csv", b"PAR1xx", "rename it to end in .parquet"),
    "PDF named .csv": Refused("a.csv", b"%PDF-1.7", "a PDF document, not text"),
    "damaged gzip": Refused("a.csv.gz", gzip.compress(PLAIN.encode() * 50)[:60], "damaged and cannot be unpacked"),
    "damaged workbook": Refused("a.xlsx", lambda: workbook([["anchor"]])[:-30], "cannot be read as an Excel workbook"),
    "damaged npz": Refused("a.npz", arrays(triplets=NUMBERS)[:-40], "cannot be read as arrays"),
    "damaged npy": Refused("a.npy", array(NUMBERS)[:-5], "cannot be read as an array of numbers"),
    "damaged parquet": Refused("a.parquet", b"PAR1" + bytes(40) + b"PAR1", "cannot be read as a parquet file"),
    "wrong encoding given": Refused("a.csv", PLAIN.encode("cp1252"), "line 4 is not text in UTF-8", {"encoding": "utf-8"}),
    "unknown encoding given": Refused("a.csv", PLAIN, "there is no encoding 'klingon'; common ones are utf-8", {"encoding": "klingon"}),
    "no text at all": Refused("a.csv", bytes(range(128, 256)) * 3, "line 1 is not text in UTF-8"),
    "empty": Refused("a.csv", "", "is empty"),
    "a header alone": Refused("a.csv", HEAD + "\n", "is empty: it has no rows"),
    "comments alone": Refused("a.csv", "# a\n# b\n", "is empty"),
    "empty workbook": Refused("a.xlsx", lambda: workbook([]), "is empty"),
    "no header": Refused("a.csv", lines("", ANSWERS), "--columns anchor=1,near=2,far=3"),
    "no header, with a person": Refused("a.csv", lines("", [("p1", *row) for row in ANSWERS]), "--columns subject=1,anchor=2,near=3,far=4"),
    "no header, signs": Refused("a.csv", "0,1,2,1\n2,1,0,-1\n", "--columns anchor=1,choice1=2,choice2=3,response=4"),
    "no header, five numbers": Refused("a.csv", "1,2,3,4,5\n", "looks like data"),
    "no header, and objects A, B and C": Refused("a.csv", "A,B,C\nB,A,C\n", "your first line, 'A', 'B', 'C', looks like data"),
    "no header, and a subject before A, B and C": Refused("a.csv", "p1,A,B,C\np1,B,A,C\n", "--columns subject=1,anchor=2,near=3,far=4"),
    "unknown headers": Refused("a.csv", lines("x,y,z", [("a", "b", "c")]), "Say which is which: --columns anchor=…,near=…,far=…"),
    "jsPsych without the choices": Refused("a.csv", lines(JSPSYCH, [(900, "<p>Rome</p>", 0, "html-button-response", 1, 2, "0.0", "s1")]), "save_trial_parameters: {choices: true}"),
    "an HTML page": Refused("a.csv", "<html><body>log in</body></html>\n", "cannot tell what the columns '<html><body>log in</body></html>' mean"),
    "two columns of one name": Refused("a.csv", lines(HEAD + ",near", extended(["x"] * 4)), "two columns are called 'near'"),
    "a column that is not there": Refused("a.csv", PLAIN, "there is no column 'target' for anchor; there are 'anchor', 'near', 'far'", {"columns": {"anchor": "target"}}),
    "a meaning that is not there": Refused("a.csv", PLAIN, "there is no meaning 'anker' for a column; the meanings are anchor, near, far", {"columns": {"anker": "anchor"}}),
    "columns that are not enough": Refused("a.csv", lines("x,y,z", [("a", "b", "c")]), "with anchor=x, the columns 'x', 'y', 'z' are still none of these", {"columns": {"anchor": "x"}}),
    "names, and a number of objects": Refused("a.csv", PLAIN, "names its objects; n_objects=5 is for objects numbered from 0", {"n_objects": 5}, by_command=False),
    "an object beyond n_objects": Refused("a.csv", "anchor,near,far\n0,1,7\n", "line 2 names object 7, but there are only 5 objects", {"n_objects": 5}, by_command=False),
    "columns of arrays": Refused("a.npz", arrays(rows=NUMBERS), "arrays, which have no columns to name", {"columns": {"anchor": "x"}}),
    "responses of 1 only": Refused("a.csv", lines(TRIAL, [(*row, "1") for row in ANSWERS]), "response_position=response (the chosen one's position, from 1), response_index=response"),
    "responses by keys": Refused("a.csv", lines(TRIAL, trials("f", "j")), "which holds 'f', 'j': replace these by the chosen one; or the chosen one's column"),
    "few objects and positions": Refused("a.csv", "first,second,third,odd\n1,2,3,3\n1,2,4,3\n", "odd_value=odd (the chosen one), odd_position=odd"),
    "objects called 1 and 2": Refused("a.csv", lines(TRIAL, [("5", "1", "2", "1"), ("6", "2", "1", "2"), ("7", "2", "1", "1")]), "response_value=response (the chosen one), response_position=response"),
    "a response missing": Refused("a.csv", lines(TRIAL, [*trials("1", "2"), ("Rome", "Oslo", "Köln", "")]), "line 6 has no response"),
    "a response that is none": Refused("a.csv", lines(TRIAL, [*trials("1", "2"), ("Rome", "Oslo", "Köln", "3")]), "line 6 has response 3, which is none of 1, 2"),
    "an odd one that is none": Refused("a.csv", lines("first,second,third,odd", [(*ODD[0], "Oslo"), (*ODD[1], "Bern")]), "line 3 has odd object Bern, which is none of Oslo, Rome, Naples"),
    "NA for an object": Refused("a.csv", PLAIN + "Rome,NA,Oslo\n", "line 6 has NA, a missing value, where an object is expected"),
    "an empty cell": Refused("a.csv", PLAIN + "Rome,,Oslo\n", "line 6 has an empty cell"),
    "a short line": Refused("a.csv", PLAIN + "Rome,Oslo\n", "line 6 has 2 cells where 3 are wanted"),
    "an object with itself": Refused("a.csv", PLAIN + "Rome,Rome,Oslo\n", "line 6 compares 'Rome' with itself"),
    "a weight that is no number": Refused("a.csv", lines(HEAD + ",weight", extended(["1", "2", "much", "1"])), "line 4 has weight 'much'"),
    "a weight that may be thousands": Refused("a.csv", lines(HEAD + ",weight", extended(["1", "2", "1,000", "1"]), ";"), "line 4 has weight '1,000'"),
    "a weight that is missing": Refused("a.csv", lines(HEAD + ",weight", extended(["1", "2", "NA", "1"])), "line 4 has weight 'NA'"),
    "weights of 0": Refused("a.csv", lines(HEAD + ",weight", extended(["0"] * 4)), "nothing to learn from", by_read=False),
    "JSON that is not": Refused("a.json", '{"anchor": "a"}\n{"anchor": "b"}\n', "rename it to end in .jsonl"),
    "JSON that is no list": Refused("a.json", '{"anchor": "a"}', "must hold a list of answers"),
}  # fmt: skip
