"""Records how Apache Spark 4.3.0 reads lines of CSV that somebody threw quotes, escapes and separators into.

Run against a Spark 4.3.0 on this machine, which SPARK_REMOTE names; writes beside this file csv_nasty.jsonl, with a
file of many lines for each set of options, in the form of csv_read.jsonl. Separators of several characters are in
csv_read.jsonl: beside quotes that do not match, Spark mixes up the order of what it has read.
"""
import json
import os
import random
import tempfile

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
here = os.path.dirname(os.path.abspath(__file__))
SCHEMA = "a STRING, b STRING, c STRING, d STRING, _corrupt_record STRING"
OPTIONS = [
    {}, {"escape": '"'}, {"quote": "'"}, {"charToEscapeQuoteEscaping": '"'},
    {"charToEscapeQuoteEscaping": "\\", "escape": '"'}, {"escape": "a"}, {"escape": ",", "sep": ";"}, {"escape": ""},
    {"quote": ""}, {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}, {"multiLine": "true"},
    {"sep": " ", "ignoreLeadingWhiteSpace": "true"}, {"sep": "\t"}, {"lineSep": "a"}, {"comment": "a"},
    {"nullValue": "a"}, {"emptyValue": "E"}, {"mode": "DROPMALFORMED"},
    {"unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"}, {"unescapedQuoteHandling": "BACK_TO_DELIMITER"},
    {"unescapedQuoteHandling": "SKIP_VALUE"}, {"unescapedQuoteHandling": "STOP_AT_DELIMITER", "escape": '"'},
]


def lines(seed, count):
    r = random.Random(seed)
    made = ("".join(r.choice("aab,,\"\"\"\\\\ 'x") for _ in range(r.randint(1, 14))) for _ in range(count))
    return [line for line in made if line.strip()]


with open(here + "/csv_nasty.jsonl", "w") as out:
    for seed, options in enumerate(OPTIONS):
        data = "\n".join(lines(seed, 400)) + "\n"
        folder = tempfile.mkdtemp()
        os.chmod(folder, 0o755)
        with open(folder + "/lines.csv", "w") as f:
            f.write(data)
        df = spark.read.schema(SCHEMA).options(**options).csv(folder)
        rows = [row[0] for row in df.selectExpr("CAST(struct(*) AS STRING)").collect()]
        out.write(json.dumps({"schema": SCHEMA, "options": options, "type": df.schema.json(), "rows": rows,
                              "file": data.encode().hex()}) + "\n")
