# One program per exception class a client can see; prints class, condition, SQLSTATE and parameters.
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rate = spark.readStream.format("rate").load()
CASES = {
    "parse": lambda: spark.sql("SELEC 1").collect(),
    "parse_interval": lambda: rate.withWatermark("timestamp", "ten minutes").schema,
    "unresolved_column": lambda: spark.range(1).select("nope").collect(),
    "unresolved_suggestion": lambda: spark.range(1).select("idd").schema,
    "table_not_found": lambda: spark.table("nope.nope").collect(),
    "ambiguous": lambda: spark.range(1).join(spark.range(1)).select("id").schema,
    "routine": lambda: spark.sql("SELECT nofunc(1)").collect(),
    "wrong_num_args": lambda: spark.sql("SELECT abs(1, 2)").collect(),
    "datatype_mismatch": lambda: spark.sql("SELECT abs(array(1))").collect(),
    "group_by": lambda: spark.sql("SELECT id, count(*) FROM range(3)").collect(),
    "divide_by_zero": lambda: spark.sql("SELECT 1 / 0").collect(),
    "cast_invalid": lambda: spark.sql("SELECT CAST('x' AS INT)").collect(),
    "overflow": lambda: spark.sql("SELECT 9223372036854775807L + 1").collect(),
    "array_index": lambda: spark.sql("SELECT array(1)[5]").collect(),
    "element_at_zero": lambda: spark.sql("SELECT element_at(array(1), 0)").collect(),
    "date_parse": lambda: spark.sql("SELECT DATE '2024-13-40'").collect(),
    "to_timestamp": lambda: spark.sql("SELECT to_timestamp('zzz', 'yyyy')").collect(),
    "raise_error": lambda: spark.sql("SELECT raise_error('mine')").collect(),
    "assert_true": lambda: spark.sql("SELECT assert_true(false)").collect(),
    "conf_type": lambda: spark.conf.set("spark.sql.shuffle.partitions", "x"),
    "path_missing": lambda: spark.read.parquet("/nonexistent/path").collect(),
    "source_missing": lambda: spark.read.format("nosuchformat").load().collect(),
    "streaming_as_batch": lambda: rate.collect(),
    "batch_as_streaming": lambda: spark.range(1).writeStream.format("noop").start(),
    "schema_needed": lambda: spark.readStream.format("json").load("/tmp").schema,
    "append_no_watermark": lambda: rate.groupBy("value").count().writeStream.format("noop").outputMode("append").start(),
    "sort_stream": lambda: rate.orderBy("value").writeStream.format("noop").start(),
    "bad_output_mode": lambda: rate.writeStream.format("noop").outputMode("sideways").start(),
    "complete_no_agg": lambda: rate.writeStream.format("noop").outputMode("complete").start(),
    "no_checkpoint": lambda: rate.writeStream.format("parquet").option("path", "/tmp/weir_none").start(),
    "sink_missing": lambda: rate.writeStream.format("nosuchsink").start(),
    "trigger_bad": lambda: rate.writeStream.format("noop").trigger(processingTime="often").start(),
    "schema_exists": lambda: (spark.sql("CREATE SCHEMA IF NOT EXISTS weir_e"), spark.sql("CREATE SCHEMA weir_e")),
    "multi_part": lambda: spark.sql("CREATE SCHEMA a.b.c"),
    "subquery_rows": lambda: spark.sql("SELECT (SELECT id FROM range(2))").collect(),
}
for name, call in CASES.items():
    try:
        call()
        print(f"{name}: no error")
    except Exception as e:
        cond = e.getCondition() if hasattr(e, "getCondition") else None
        state = e.getSqlState() if hasattr(e, "getSqlState") else None
        params = e.getMessageParameters() if hasattr(e, "getMessageParameters") else None
        print(f"{name}: {type(e).__name__} {cond} {state} {params} | {str(e).splitlines()[0]}")
spark.sql("DROP SCHEMA IF EXISTS weir_e CASCADE")
spark.stop()
