"""Records what the CSV functions of Apache Spark 4.3.0 answer.

Run with pyspark==4.3.0 and Java 17 in this folder; writes csv_functions.jsonl: an
expression, its name, type and nullability, its value as text or the condition of
the error.
"""
import json
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
E1 = ["from_csv('%s', 'a INT, b DOUBLE')" % t for t in ["1, 0.8", "1,0.8", "x,1", "1", "1,2,3", "", " ", ",", "\n", "1\n2,3"]]
E1 += ["from_csv(NULL, 'a INT')", "from_csv('1,2', 'a INT, _corrupt_record STRING')", "from_csv('x', 'a INT, _corrupt_record STRING')", "from_csv('x', 'a INT', map('mode', 'FAILFAST'))", "from_csv('1', 'a INT', map('mode', 'FAILFAST'))", "from_csv('1', 'a INT', map('mode', 'DROPMALFORMED'))",
  "from_csv('26/08/2015', 'time Timestamp', map('timestampFormat', 'dd/MM/yyyy'))", "from_csv('1;2', 'a INT, b INT', map('sep', ';'))", "from_csv('\"a,b\",c', 'a STRING, b STRING')", "from_csv('a,b', 'a STRING, a INT')", "from_csv('1', 'INT')", "from_csv('1', 'a ARRAY<INT>')", "from_csv('1', 'a STRUCT<x: INT>')", "from_csv(1, 'a INT')", "from_csv('1')", "from_csv('1', 1)", "from_csv('1', 'a INT', 'x')", "from_csv('1', 'a INT', map('a', 1))",
  "from_csv('1', schema_of_csv('1'))", "from_csv('1,abc', schema_of_csv('1,abc'))", "from_csv('1,2', 'a INT, b INT', map('header', 'true'))", "from_csv('true,2020-01-01', 'a BOOLEAN, b DATE')", "from_csv('#x', 'a STRING', map('comment', '#'))", "from_csv('x', 'a INT', map('columnNameOfCorruptRecord', 'bad'))", "from_csv('x', 'a INT, bad STRING', map('columnNameOfCorruptRecord', 'bad'))", "from_csv('x', 'a INT, bad INT', map('columnNameOfCorruptRecord', 'bad'))", "from_csv('-', 'a STRING', map('nullValue', '-'))", "from_csv('1', 'a INT NOT NULL')", "from_csv('x', 'a INT NOT NULL')", "from_csv('1', 'a VARIANT')", "from_csv('1', 'a VOID')"]
E2 = ["schema_of_csv('%s')" % t for t in ["1,abc", "1", "", "1.5,2020-01-01,true", "1|abc", " 1", "a,a", "2020-01-01 00:00:00,9999999999"]] + ["schema_of_csv('1|abc', map('delimiter', '|'))", "schema_of_csv(NULL)", "schema_of_csv(1)", "schema_of_csv(concat('1', ',2'))", "schema_of_csv(CAST(NULL AS STRING))", "schema_of_csv('a,b', map('header', 'true'))", "schema_of_csv('1', map('preferDate', 'false'))", "schema_of_csv('2020-01-01', map('preferDate', 'false'))"]
E3 = ["to_csv(%s)" % t for t in ["named_struct('a', 1, 'b', 2)", "named_struct('a', 1.5, 'b', 'x,y', 'c', 'q\"q', 'd', NULL)", "struct(DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05.5', TIMESTAMP_NTZ '2020-01-02 03:04:05')", "struct(NULL)", "struct('')", "struct(' x ')", "struct('', 'a')", "struct(NULL, NULL)", "CAST(NULL AS STRUCT<a: INT>)", "struct(true, 1Y, 1e20D, CAST('NaN' AS DOUBLE), X'4142')", "struct('a\\nb')", "struct('#a')", "struct(array(1, 2))", "struct(map('a', 1))", "struct(struct(1, 2))", "1", "struct(INTERVAL '1' DAY)", "struct(1, array('a', NULL), struct('x' AS y))", "array(1)", "named_struct('time', to_timestamp('2015-08-26', 'yyyy-MM-dd')), map('timestampFormat', 'dd/MM/yyyy')", "struct(1, 2), map('sep', ';')", "struct('x'), map('quoteAll', 'true')", "struct(NULL, 1), map('nullValue', 'N')", "struct('', 1), map('emptyValue', 'E')", "struct(' x '), map('ignoreLeadingWhiteSpace', 'false')", "struct(1), map('a', 1)", "struct(1), 'x'", "struct(1, 2), map('header', 'true')", "struct(1), map('sep', '')", "struct(array(1, 2), array('a'), X'4142', map('k', X'4142'))"]]
with open("csv_functions.jsonl", "w") as f:
    for e in E1 + E2 + E3:
        out = {"expr": e}
        try:
            df = spark.sql("SELECT " + e)
            out["name"] = df.columns[0]; out["type"] = df.schema[0].dataType.simpleString(); out["nullable"] = df.schema[0].nullable
            r = df.selectExpr("CAST(`%s` AS STRING)" % df.columns[0].replace("`", "``")).collect()[0][0]
            out["value"] = r
        except Exception as x:
            out["error"] = (x.getCondition() if hasattr(x, "getCondition") else None) or type(x).__name__
            out["message"] = str(x).split("\n")[0][:250]
        f.write(json.dumps(out, ensure_ascii=False) + "\n")
