# spark.sql: queries are lazy, commands run at once; arguments and DataFrames as parameters.
import os
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
q = spark.sql("SELECT id, id * 2 AS twice FROM range(3)")
print(q.collect())
print(spark.sql("SELECT :a + 1 AS v, :b AS w", args={"a": 41, "b": "x"}).collect())
print(spark.sql("SELECT ? AS v, ? AS w", args=[1, "y"]).collect())
print(spark.sql("SELECT * FROM {frame} WHERE id > {low}", frame=spark.range(4), low=1).collect())
print(spark.sql("SET spark.sql.shuffle.partitions = 5").collect())
print(spark.sql("SET spark.sql.shuffle.partitions").collect())
print(spark.sql("CREATE SCHEMA IF NOT EXISTS weir_c03").collect())
spark.sql("USE weir_c03")
print(spark.sql("DROP TABLE IF EXISTS t").collect())
r = spark.sql("CREATE TABLE t (id BIGINT, name STRING) USING parquet")
print("create", r.columns, r.collect())
r = spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
print("insert", r.columns, r.collect())
print(spark.sql("SELECT * FROM t ORDER BY id").collect())
spark.sql("SHOW TABLES").show()
spark.sql("DESCRIBE TABLE t").show()
spark.sql("SHOW DATABASES LIKE 'weir*'").show()
print(spark.sql("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 7 AS seven").collect(), spark.sql("SELECT * FROM v").collect())
print(spark.sql("EXPLAIN SELECT 1").collect()[0][0].splitlines()[0])
print(spark.sql("SHOW CREATE TABLE t").collect()[0][0].splitlines()[0])
print(spark.sql("DROP SCHEMA weir_c03 CASCADE").collect())
for bad in ("SELEC 1", "SELECT nope"):
    try:
        spark.sql(bad).collect()
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])
spark.stop()
