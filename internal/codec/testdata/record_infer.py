"""Records the schemas that Apache Spark 4.3.0 finds for JSON files.

Run with pyspark==4.3.0 and Java 17; writes json_infer.jsonl beside this file:
options, lines, the schema or the condition of the error.
"""
import json, os, tempfile
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
here = os.path.dirname(os.path.abspath(__file__))
tmp = tempfile.mkdtemp()
cases = [
    ['{"b":1,"a":"x"}', '{"c":1.5,"a":null}'], ['{"a":1}', '{"a":1.5}'], ['{"a":1}', '{"a":"x"}'], ['{"a":true}', '{"a":1}'], ['{"a":true}', '{"a":null}'],
    ['{"a":9223372036854775807}', '{"a":9223372036854775808}'], ['{"a":1}', '{"a":123456789012345678901234567890}'], ['{"a":1.5}', '{"a":123456789012345678901234567890}'],
    ['{"a":123456789012345678901234567890123456789}'], ['{"a":null}'], ['{"a":""}'], ['{"a":"","b":1}', '{"a":1}'], ['{"a":[]}'], ['{"a":[]}', '{"a":[1]}'], ['{"a":[1,"x"]}'], ['{"a":[1,2.5,null]}'],
    ['{"a":{}}'], ['{"a":{},"b":1}'], ['{"a":{"x":1}}', '{"a":{"y":"s"}}'], ['{"a":{"x":1}}', '{"a":5}'], ['{"a":[1]}', '{"a":5}'], ['{"a":[{"x":1},{"y":2}]}'], ['{"a":[[1],[2.5]]}'], ['{"a":[{"x":1},5]}'],
    ['[{"a":1},{"b":2}]'], ['[]'], ['5'], ['5', '{"a":1}'], ['not json', '{"a":1}'], ['{"a":1', '{"b":1}'], ['', '  ', '{"a":1}'], ['null', '{"a":1}'], ['"x"'], ['{"a":"2024-01-01T00:00:00"}'], ['{"":1,"a":2}'],
    ['{"a":1e2}'], ['{"a":NaN}'], ['{"a":"1.5"}'], ['{"a":-0}'], ['{"B":1,"a":2,"A":3,"b":4,"é":5}'], ['{"a":1} x'], ['[1,2]', '{"a":1}'], ['[{"a":1},5]'], ['{"_corrupt_record":1}', 'x'], [],
]
options = [{}, {"primitivesAsString": "true"}, {"prefersDecimal": "true"}, {"dropFieldIfAllNull": "true"}, {"inferTimestamp": "true"}, {"mode": "DROPMALFORMED"}, {"mode": "FAILFAST"}, {"multiLine": "true"}]
with open(os.path.join(here, "json_infer.jsonl"), "w") as f:
    for i, lines in enumerate(cases):
        path = os.path.join(tmp, f"{i}.json")
        open(path, "w").write("".join(l + "\n" for l in lines))
        for o in options if i % 3 == 0 or "not json" in lines or "2024" in str(lines) or "1.5" in str(lines) else options[:1]:
            out = {"options": o, "lines": lines}
            try:
                out["schema"] = spark.read.options(**o).json(path).schema.json()
            except Exception as e:
                out["error"] = (e.getCondition() if hasattr(e, "getCondition") else None) or type(e).__name__
            f.write(json.dumps(out, ensure_ascii=False) + "\n")
            f.flush()
