"""Records the CSV, text and compressed files that Apache Spark 4.3.0 writes.

Run with pyspark==4.3.0 and Java 17; writes csv_write.jsonl (select, options,
schema, text of the file or the condition of the error) and compressed.jsonl
(codec, ending, hex bytes of a text file of three lines) beside this file.
"""
import glob, json, os, tempfile
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
here = os.path.dirname(os.path.abspath(__file__))
tmp = tempfile.mkdtemp()

texts = ["plain", "", None, "a,b", 'a"b', '"', "a\nb", "a\rb", "a\r\nb", " lead", "trail ", "  ", "a\\b", "a\\", '\\"', "#c", "a;b", "é", "a\tb", "'q'", "x|y", "null", '"quoted"', "a\u0000b", "\\", "\u2028", "a  b", '\\,', ',"\\']
options = [{}, {"sep": ";"}, {"sep": "\\t"}, {"sep": "||"}, {"quote": "'"}, {"quote": ""}, {"escape": '"'}, {"escape": "^"}, {"quoteAll": "true"}, {"escapeQuotes": "false"}, {"nullValue": "NULL"}, {"emptyValue": ""}, {"emptyValue": "E"},
    {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}, {"header": "true"}, {"lineSep": "\r\n"}, {"charToEscapeQuoteEscaping": "^"}, {"comment": "#"}, {"header": "true", "quoteAll": "true"}, {"nullValue": "plain"}]
values = ["1Y AS a, 2S AS b, 3 AS c, 4L AS d, true AS e, NULL AS f", "1.0D AS a, 1e20D AS b, 1.5F AS c, CAST('NaN' AS DOUBLE) AS d, CAST('-Infinity' AS FLOAT) AS e, 1.50 AS f, CAST(1e-10 AS DECIMAL(20,12)) AS g, CAST(0 AS DECIMAL(10,8)) AS h",
    "DATE '2024-02-29' AS a, TIMESTAMP '2024-02-29 10:11:12.123456' AS b, TIMESTAMP_NTZ '2024-02-29 10:11:12.5' AS c, TIMESTAMP '2024-02-29 10:11:12' AS d, DATE '+12345-02-28' AS e", "X'616263' AS a", "INTERVAL '1' DAY AS a, INTERVAL '1-2' YEAR TO MONTH AS b, INTERVAL '1 02:03:04.5' DAY TO SECOND AS c", "make_interval(1,2,3) AS a",
    "array(1, NULL, 3) AS a", "map('a', 1) AS a", "struct(1 AS x, NULL AS y) AS a", "'' AS `a,b`, 'x' AS `q\"`, NULL AS ` s `"]

def written(df, options):
    path = os.path.join(tmp, str(len(os.listdir(tmp))))
    df.coalesce(1).write.options(**options).csv(path)
    return open(glob.glob(path + "/part-*")[0], "rb").read().decode("utf-8")

with open(os.path.join(here, "csv_write.jsonl"), "w") as f:
    def ask(name, df, o):
        line = {"select": name, "options": o, "schema": df.schema.json()}
        try:
            line["text"] = written(df, o)
        except Exception as e:
            line["error"] = (e.getCondition() if hasattr(e, "getCondition") else None) or type(e).__name__
        f.write(json.dumps(line, ensure_ascii=True) + "\n")
        f.flush()
    rows = spark.createDataFrame([(i, t, "z") for i, t in enumerate(texts)], "i INT, s STRING, z STRING")
    for o in options:
        ask("texts", rows, o)
    ask("single", spark.createDataFrame([(t,) for t in texts], "s STRING"), {})
    ask("empty", spark.createDataFrame([], "s STRING, t INT"), {"header": "true"})
    for v in values:
        for o in [{}, {"header": "true"}, {"timestampFormat": "yyyy/MM/dd HH:mm", "dateFormat": "dd.MM.yyyy", "timestampNTZFormat": "yyyy HH"}, {"quoteAll": "true", "nullValue": "-"}]:
            ask(v, spark.sql("SELECT " + v), o)
with open(os.path.join(here, "compressed.jsonl"), "w") as f:
    for codec in ["gzip", "deflate", "zstd", "snappy", "bzip2", "lz4", "none", "uncompressed", "lzo"]:
        path = os.path.join(tmp, codec)
        line = {"codec": codec}
        try:
            spark.createDataFrame([("one",), ("zwei" * 20,), (None,)], "value STRING").coalesce(1).write.option("compression", codec).text(path)
            name = glob.glob(path + "/part-*")[0]
            line.update({"ending": name[name.index(".txt"):], "file": open(name, "rb").read().hex()})
        except Exception as e:
            line["error"] = (e.getCondition() if hasattr(e, "getCondition") else None) or type(e).__name__
        f.write(json.dumps(line) + "\n")
