"""Records how Apache Spark 4.3.0 reads CSV.

Run with pyspark==4.3.0 and Java 17; writes beside this file csv_read.jsonl
(schema, options, the columns that are selected, hex bytes of the file, rows as
CAST(struct(*) AS STRING) or the condition and text of the error) and
csv_infer.jsonl (options, hex bytes, the schema that is found).
"""
import json
import os
import tempfile

from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
here = os.path.dirname(os.path.abspath(__file__))
tmp = tempfile.mkdtemp()

CORRUPT = ", _corrupt_record STRING"
THREE = "a STRING, b STRING, c STRING" + CORRUPT
MIXED = "id INT, k STRING, x DOUBLE" + CORRUPT
reads = []


def read(schema, data, select=None, **options):
    reads.append((schema, options, select, data if isinstance(data, bytes) else data.encode()))


QUOTES = [
    'a,b,c', '"a",b,c', 'a,"b",c', 'a,b,"c"', '"a""b",c,d', '"a\\"b",c,d', 'a"b"c,d,e', '"a"b,c,d', '"a" ,b,c', ' "a",b,c', ' "a" ,b,c', '"a"  "b",c,d',
    '"unclosed,b,c', 'a,"unclosed,c', 'a,b,"unclosed', '"a,b",c,d', '"a\nb",c,d', 'a,"b\r\nc",d', '"",b,c', 'a,"",c', 'a,b,""', '" ",b,c', ' ,b,c', '\t,b,c', 'a\t, b ,c ', ',,', ',', '', '   ',
    '\t', 'a', 'a,', 'a,b', 'a,b,c,', 'a,b,c,d', 'a,b,c,d,e', '"a\\\\",b,c', '"a\\\\b",c,d', '"a\\n",b,c', 'a\\,b,c', 'a\\"b,c,d', '\\"a,b,c', '"\\"",b,c', '"\\\\\\"",b,c', '"""",b,c', '"""a""",b,c', '""a,b,c', '"""a,b,c',
    '"a"",b,c', '"a""",b,c', 'a"",b,c', '"a"\t,b,c', '"a"x"b",c,d', '"a,"b,c",d', "'a','b',c", '#a,b,c', 'a,#b,c', '\x00,b,c', 'a\x00,b,c', '\x01 a,b,c', 'é,ü,\U0001F600', '"é""ü",b,c', 'a;b;c', 'a||b||c', 'null,NULL,\\N',
    '"null",b,c', 'a , b , c', '"a,\n"b,c', '"a"\n"b",c,d', 'a,b,c\r', 'a\rb,c,d', '\ufeffa,b,c', '"\ufeffa",b,c', 'a,"b" c,d', 'a,"b"c",d', 'a,"b"c"', '"a"b"', '"a\\', '"a\\\\', '"', '"a', '""', '"" ', ' ""', '\\', '\\\\,\\', 'x,"a\\bc"',
]
for q in QUOTES:
    read(THREE, q + "\n")
read(THREE, "\n".join(QUOTES) + "\n")
read(THREE, "\r\n".join(QUOTES) + "\r\n")
for options in [
    {"multiLine": "true"}, {"quote": ""}, {"quote": "'"}, {"escape": '"'}, {"escape": "^"}, {"escape": '"', "multiLine": "true"}, {"comment": "#"}, {"sep": ";"}, {"sep": "\\t"}, {"sep": "||"}, {"delimiter": "|"},
    {"nullValue": "null"}, {"nullValue": "a"}, {"emptyValue": "EMPTY"}, {"nullValue": "-", "emptyValue": "-"}, {"ignoreLeadingWhiteSpace": "true"}, {"ignoreTrailingWhiteSpace": "true"}, {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
    {"unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"}, {"unescapedQuoteHandling": "BACK_TO_DELIMITER"}, {"unescapedQuoteHandling": "STOP_AT_DELIMITER"}, {"unescapedQuoteHandling": "SKIP_VALUE"}, {"unescapedQuoteHandling": "RAISE_ERROR"}, {"charToEscapeQuoteEscaping": "\\"}, {"escape": '"', "charToEscapeQuoteEscaping": "\\"}, {"mode": "DROPMALFORMED"},
    {"header": "true"}, {"header": "true", "enforceSchema": "false"}, {"lineSep": "\n"}, {"lineSep": ";"}, {"maxColumns": "3"}, {"multiLine": "true", "header": "true"}, {"multiLine": "true", "comment": "#"},
]:
    for q in QUOTES:
        if options.get("unescapedQuoteHandling") and '"' not in q or options.get("comment") and "#" not in q or "enforceSchema" in options and len(q) < 5:
            continue
        if len(options) == 1 and ("nullValue" in options or "mode" in options or "header" in options) and '"' in q and "null" not in q:
            continue
        if "header" in options:
            q = q + "\nx,y,z"
        read(THREE, q + "\n", **options)
    # Files of several records show what a record leaves to the next.
    read(THREE, "\n".join(q for q in QUOTES if q.count('"') % 2 == 0) + "\n", **options)

NUMBERS = {
    "BOOLEAN": ["true", "false", "TRUE", "True", "t", "1", "yes", "", " true", "true "],
    "TINYINT": ["1", "-1", "127", "128", "-128", "+5", " 1", "1 ", "1.0", "0x1", "007", "x", "", "-", "1_0", "१"],
    "SMALLINT": ["32767", "32768", "-32768", "1e2", "+1"], "INT": ["2147483647", "2147483648", "-2147483648", "+7", "-0", " 1", "1 ", "1.0", "1L", "१", "NaN", "1,2"],
    "BIGINT": ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "+1", "1.0", "1 "],
    "FLOAT": ["1", "1.5", "NaN", "Inf", "-Inf", "Infinity", "-Infinity", "inf", "nan", "1e50", "-1e50", "1e-50", "1f", "1d", "0x1p3", " 1", "1 ", "+1", ".5", "5.", "1,000", "x", "1e", "--1", "16777217"],
    "DOUBLE": ["1", "1.5", "NaN", "Inf", "-Inf", "Infinity", "-Infinity", "+Inf", "+Infinity", "inf", "1e400", "-1e400", "5e-324", "1f", "1D", "0x1p3", "0x10", " 1", "1 ", "+1", ".5", "5.", "1,000", "x", "9007199254740993", "0.30000000000000004", "१", "-0", "-0.0", "\t1"],
    "DECIMAL(5,2)": ["1", "1.5", "1.234", "1.235", "-1.235", "999.99", "999.995", "1000", "1e2", "1E-10", " 1", "1 ", "+1", "1,000.5", "1,0", "x", "", ".5", "5.", "NaN", "0x1", "१"],
    "DECIMAL(38,10)": ["1234567890123456789012345678", "12345678901234567890123456789", "0.00000000005", "1e27", "1e28"],
    "DATE": ["2024-01-02", "2024-1-2", "2024", "2024-01", "2024-02-30", "2024-01-02T10:00:00", "2024-01-02 10:00:00", "2024-01-02 x", "20240102", "02/01/2024", "19723", "x", " 2024-01-02", "2024-01-02 ", "epoch", "today", "+12345-01-01", "-0001-01-01", "0000-01-01", "2024-01-02Z", "2024-13-01", "2024-01-02GMT"],
    "TIMESTAMP": ["2024-01-02 03:04:05", "2024-01-02T03:04:05Z", "2024-01-02T03:04:05.123456789", "2024-01-02T03:04:05+01:00", "2024-01-02T03:04:05.5 Europe/Berlin", "2024-01-02", "2024-1-2", "2024", "2024-01-02 3:4", "2024-01-02 03:04", "1704067200", "x", " 2024-01-02 03:04:05", "2024-01-02 03:04:05 ", "epoch", "now", "2024-01-02T24:00:00", "2024-02-30 00:00:00", "2024-01-02T03:04:05GMT+01:00", "+12345-01-01 00:00:00", "2024-01-02 03:04:05 PM"],
    "TIMESTAMP_NTZ": ["2024-01-02 03:04:05", "2024-01-02T03:04:05Z", "2024-01-02T03:04:05.123456789", "2024-01-02T03:04:05+01:00", "2024-01-02", "2024-1-2", "2024", "x", "03:04:05", "2024-01-02T03:04"],
    "BINARY": ["abc", "é", "", " "], "STRING": ["", " a "], "CHAR(3)": ["a", "abc", "abcd"], "VARCHAR(3)": ["a", "abcd"],
    "INTERVAL DAY TO SECOND": ["INTERVAL '1 02:03:04.5' DAY TO SECOND", "1 02:03:04", "1 day", "x", ""], "INTERVAL YEAR TO MONTH": ["1-2", "INTERVAL '1-2' YEAR TO MONTH", "14 months", "x"], "INTERVAL DAY": ["5", "x"],
    "VARIANT": ["1", "x", '"{""a"":1}"', "1.50", "true", "2024-01-02", "2024-01-02T03:04:05Z", ""], "TIME": ["03:04:05", "03:04", "x", "03:04:05.123456"],
}
for kind, values in NUMBERS.items():
    for v in values:
        read("k STRING, v " + kind + CORRUPT, "a," + v + "\n")
    read("k STRING, v " + kind, "".join("a," + v + "\n" for v in values))
for zone in ["America/Los_Angeles"]:
    for v in NUMBERS["TIMESTAMP"][:8]:
        read("k STRING, v TIMESTAMP" + CORRUPT, "a," + v + "\n", timeZone=zone)
for v in ["1,5", "1.000,5", "1.5", "1.000", "-1.234.567,891"]:
    read("v DECIMAL(12,3)" + CORRUPT, v + "\n", sep=";", locale="de-DE")
    read("v DOUBLE" + CORRUPT, v + "\n", sep=";", locale="de-DE")
for v in ["N/A", "oo", "-oo", "NaN", "Inf"]:
    read("v DOUBLE, w FLOAT" + CORRUPT, v + "," + v + "\n", nanValue="N/A", positiveInf="oo", negativeInf="-oo")
STAMPS = ["31/12/2024 23:59", "2024-12-31 23:59:00", "2024-12-31", "1/1/2024 0:00", "x", "31/12/2024 24:00"]
for v in STAMPS:
    read("t TIMESTAMP, k STRING" + CORRUPT, v + ",a\n", timestampFormat="dd/MM/yyyy HH:mm")
    read("t TIMESTAMP, k STRING" + CORRUPT, v + ",a\n", timestampFormat="dd/MM/yyyy HH:mm", enableDateTimeParsingFallback="true")
    read("t TIMESTAMP_NTZ, k STRING" + CORRUPT, v + ",a\n", timestampNTZFormat="dd/MM/yyyy HH:mm")
    read("t TIMESTAMP, k STRING" + CORRUPT, v + ",a\n", timestampFormat="dd/MM/yyyy HH:mm", timeZone="Asia/Tokyo")
for v in ["20241231", "2024-12-31", "x", "19723"]:
    read("d DATE, k STRING" + CORRUPT, v + ",a\n", dateFormat="yyyyMMdd")
    read("d DATE, k STRING" + CORRUPT, v + ",a\n", dateFormat="yyyyMMdd", enableDateTimeParsingFallback="true")
read("d DATE, k STRING" + CORRUPT, "31 janvier 2024,a\n", dateFormat="dd MMMM yyyy", locale="fr-FR")

ROWS = "1,a,1.5\n2,b\n3,c,2.5,extra\nx,d,1\n\n,,\n5,\"open,1\n6,f,6.5\n"
for mode in ["PERMISSIVE", "DROPMALFORMED", "FAILFAST", "odd"]:
    read(MIXED, ROWS, mode=mode)
    read("id INT, k STRING, x DOUBLE", ROWS, mode=mode)
    for select in [["id"], ["k"], ["x"], ["x", "id"], ["id", "k"], ["_corrupt_record", "id"], []]:
        read(MIXED if "_corrupt_record" in select else "id INT, k STRING, x DOUBLE", ROWS, select, mode=mode)
    for line in ROWS.split("\n"):
        read("id INT, k STRING, x DOUBLE", line + "\n", mode=mode)
        read("id INT, k STRING, x DOUBLE", line + "\n", ["k"], mode=mode)
read(MIXED, ROWS, ["_corrupt_record"])
read("id INT, bad STRING, k STRING", "1,a\nx,b\n1,b,c\n", columnNameOfCorruptRecord="bad")
read("bad STRING, id INT, k STRING", "1,a\nx,b\n1,b,c\n", columnNameOfCorruptRecord="bad")
read("id INT, k STRING, _corrupt_record INT", "1,a\nx,b\n")
read("id INT NOT NULL, k STRING", "1,a\n,b\n")
read("a ARRAY<INT>, b STRING", "1,a\n")
read("a STRUCT<x: INT>, b STRING", "1,a\n")
read("a MAP<STRING, INT>", "1\n")
read("a INTERVAL", "1\n")
read("a VOID", "1\n")

for header in ["a,b,c", "A,B,C", "x,b,c", "b,a,c", "a,b", "a,b,c,d", "", " a,b,c", '"a",b,c', "a,b,c\n", "#x\na,b,c", "\ufeffa,b,c"]:
    for options in [{}, {"enforceSchema": "false"}, {"enforceSchema": "false", "multiLine": "true"}, {"comment": "#"}]:
        read("a STRING, b STRING, c STRING", header + "\n1,2,3\n4,5,6\n", header="true", **options)
        read("a STRING, b STRING, c STRING", header + "\n1,2,3\n4,5,6\n", ["b"], header="true", **options)
read("a STRING", "", header="true")
read("a STRING", "", header="true", multiLine="true")
read("a STRING", "a", header="true")
read("a STRING", "\n\n\na\n1\n", header="true")
read("a STRING", "\n  \n1\n")
read("a STRING", "\n  \n1\n", multiLine="true")
read("a STRING, b STRING", "# c\n# d\na,b\n1,2\n# e\n", header="true", comment="#")

for encoding in ["UTF-8", "ISO-8859-1", "UTF-16", "UTF-16LE", "UTF-16BE", "windows-1252", "nope", "UTF-32", "US-ASCII", "GBK"]:
    try:
        data = "é,b\nc,d\n".encode("latin-1" if encoding == "nope" else encoding)
    except UnicodeEncodeError:
        data = b"e,b\nc,d\n"
    read("a STRING, b STRING", data, encoding=encoding)
    read("a STRING, b STRING", data, encoding=encoding, multiLine="true")
    read("a STRING, b STRING", data, encoding=encoding, lineSep="\n")
read("a STRING, b STRING", b"\xff,b\n\xe4\xb8,c\nok,\xc3\xa9\n")
read("a STRING, b STRING", b"\xff,b\n\xe4\xb8,c\nok,\xc3\xa9\n", multiLine="true")
for end in ["\n", "\r", "\r\n"]:
    for multi in ["true", "false"]:
        read("a STRING, b STRING", end.join(["a,b", '"c",d', "", "e,f", ' "g" ,h']) + end, multiLine=multi)
        read("a STRING, b STRING", end.join(["a,b", '"c' + end + 'x",d', "e,f"]), multiLine=multi)
read("a STRING, b STRING", "a,b;c,d;e,f", lineSep=";")
read("a STRING, b STRING", "a,b;c,d\n;e,f", lineSep=";", multiLine="true")
read("a STRING, b STRING", "a,b", lineSep="")
read("a STRING, b STRING", "a,b", lineSep="||")
read("a STRING, b STRING", "a,b", lineSep="abc")
for name, value in [("sep", ""), ("sep", "\\"), ("sep", "\\x"), ("quote", "ab"), ("escape", "ab"), ("comment", "ab"), ("mode", "x"), ("maxColumns", "x"), ("maxColumns", "1"), ("maxCharsPerColumn", "3"), ("maxCharsPerColumn", "-1"), ("maxCharsPerColumn", "x"),
                    ("header", "x"), ("multiLine", "x"), ("unescapedQuoteHandling", "x"), ("samplingRatio", "2"), ("columnNameOfCorruptRecord", ""), ("charToEscapeQuoteEscaping", "ab"), ("locale", "xx"), ("dateFormat", "QQQQQ"), ("timestampFormat", "'"), ("sep", ",,"), ("sep", "\\t|"), ("sep", "\\u0001"), ("sep", "\\u0000"),
                    ("inferSchema", "x"), ("nullValue", ""), ("escape", ""), ("comment", ""), ("sep", '"'), ("extension", "x"), ("singleVariantColumn", "v")]:
    read("a STRING, b STRING", "abcd,b\n\"x\\\"y\",d\n", **{name: value})
read("a STRING, b STRING", "x" * 2000 + ",b\n")
read("a STRING", ",".join(["x"] * 30) + "\n", maxColumns="20")

infers = []


def infer(data, **options):
    infers.append((options, data if isinstance(data, bytes) else data.encode()))


VALUES = ["1", "-1", "+1", "2147483648", "9223372036854775808", "123456789012345678901234567890123456789", "1.5", "1e5", "1f", "NaN", "Inf", "-Infinity", "true", "TRUE", "x", "", "null", " 1", "1 ", "2024-01-02", "2024-1-2", "2024", "2024-01-02 03:04:05",
          "2024-01-02T03:04:05Z", "2024-01-02T03:04:05", "2024-01-02T03:04", "10:00", "0x10", "1,5", ".5", "5.", "007", "1_0", "0.1234567890123456789012", "12345678901234567890.5"]
for v in VALUES:
    infer("k;" + v + "\n", sep=";", inferSchema="true")
    infer("k;1\nk;" + v + "\n", sep=";", inferSchema="true")
for a, b in [("1", "x"), ("true", "1"), ("2024-01-02", "2024-01-02 03:04:05"), ("2024-01-02", "1"), ("1.5", "9223372036854775808"), ("9223372036854775808", "1.5"), ("true", ""), ("", ""), ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05"), ("12345678901234567890", "0.5"),
             ("2024-01-02", "x"), ("1", "NaN"), ("9223372036854775808", "12345678901234567890123"), ("2024-01-02 03:04:05", "1"), ("null", "1"), ("true", "x"), ("1e5", "1")]:
    infer(a + "\n" + b + "\n", inferSchema="true")
    infer(a + "\n" + b + "\n", inferSchema="true", preferDate="false")
    infer(a + "\n" + b + "\n", inferSchema="true", nullValue="null")
    infer(a + "\n" + b + "\n", inferSchema="true", prefersDecimal="true")
for header in ["a,b", "a,a", "a,A", ",b", "a,", "a,b,", "_c0,", " a ,b", '"a""x",b', "a,b,c", "a", "", "null,b", "a,_c1", "1,2"]:
    for data in ["1,2\n", "1\n", "1,2,3\n", ""]:
        infer(header + "\n" + data, header="true")
        infer(header + "\n" + data, header="true", inferSchema="true")
    infer(header + "\n1,2\n", header="true", nullValue="null", inferSchema="true")
    infer(header + "\n1,2\n")
    infer(header + "\n1,2\n", header="true", multiLine="true")
for data in ["", "\n", "\n\n1,2\n", "1,2\n1,2,3\n", "1,2,3\n1,2\n", "#x\n1,2\n", '"a\nb",1\n', "1\t2\n"]:
    infer(data)
    infer(data, inferSchema="true")
    infer(data, inferSchema="true", multiLine="true", comment="#")
for data in ["31/12/2024 23:59,20241231\n", "2024-12-31 23:59:00,2024-12-31\n"]:
    infer(data, inferSchema="true", timestampFormat="dd/MM/yyyy HH:mm", dateFormat="yyyyMMdd")
    infer(data, inferSchema="true", timestampFormat="dd/MM/yyyy HH:mm", dateFormat="yyyyMMdd", preferDate="false")
infer("a,b\n1,x\n", header="true", columnNameOfCorruptRecord="b")
infer("1,5;x\n", sep=";", inferSchema="true", locale="de-DE")
infer("1,5;x\n", sep=";", inferSchema="true", locale="de-DE", prefersDecimal="true")


def refusal(out, e):
    out["error"] = (e.getCondition() if hasattr(e, "getCondition") else None) or type(e).__name__
    out["message"] = str(e).split("\n")[0][:300].replace(tmp, "$TMP")


def rows_of(schema, options, select, files):
    """The schema, and the rows of each file, of which one job reads all."""
    df = spark.read.schema(schema).options(**options).csv(files)
    kind = df.schema.json()
    if select == []:
        return kind, {files[0]: [str(df.count())]}
    names = ", ".join("`%s`" % c for c in (select or df.columns))
    found = {f: [] for f in files}
    for r in df.selectExpr("_metadata.file_path", "CAST(struct(%s) AS STRING)" % names).collect():
        found[r[0].removeprefix("file:")].append(r[1])
    return kind, found


def record(out, case, files):
    try:
        out["type"], found = rows_of(*case, files)
        return [dict(out, rows=found[f]) for f in files]
    except Exception as e:
        if len(files) == 1:
            refusal(out, e)
            return [out]
    # Some file is refused: each by itself.
    return [one for f in files for one in record(dict(out), case, [f])]


groups = {}
for schema, options, select, data in reads:
    key = json.dumps([schema, options, select]) if select != [] else json.dumps([schema, options, select, data.hex()])
    groups.setdefault(key, (schema, options, select, []))[3].append(data)
with open(os.path.join(here, "csv_read.jsonl"), "w") as f:
    for n, (schema, options, select, inputs) in enumerate(groups.values()):
        os.mkdir(os.path.join(tmp, str(n)))
        files = [os.path.join(tmp, str(n), "%03d.csv" % i) for i in range(len(inputs))]
        for name, data in zip(files, inputs):
            with open(name, "wb") as file:
                file.write(data)
        out = {"schema": schema, "options": options}
        if select is not None:
            out["select"] = select
        for one, data in zip(record(out, (schema, options, select), files), inputs):
            f.write(json.dumps(dict(one, file=data.hex()), ensure_ascii=False) + "\n")
        f.flush()

with open(os.path.join(here, "csv_infer.jsonl"), "w") as f:
    for i, (options, data) in enumerate(infers):
        path = os.path.join(tmp, f"i{i}.csv")
        with open(path, "wb") as file:
            file.write(data)
        out = {"options": options, "file": data.hex()}
        try:
            out["schema"] = spark.read.options(**options).csv(path).schema.json()
        except Exception as e:
            refusal(out, e)
        f.write(json.dumps(out, ensure_ascii=False) + "\n")
        f.flush()
print(len(reads), len(groups), len(infers))
