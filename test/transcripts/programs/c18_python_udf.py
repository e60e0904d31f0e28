# Scalar Python functions: @udf default, useArrow off, pandas_udf kinds, arrow_udf, registration.
from typing import Iterator
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession, Window, functions as F

spark = SparkSession.builder.getOrCreate()
df = spark.range(4)


@F.udf("long")
def plus(x, y=1):
    return x + y


@F.udf(returnType="string", useArrow=False)
def text(x):
    return f"<{x}>"


@F.pandas_udf("double")
def half(s: pd.Series) -> pd.Series:
    return s / 2


@F.pandas_udf("long")
def it(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for s in parts:
        yield s * 10


@F.pandas_udf("double")
def mean(s: pd.Series) -> float:
    return float(s.mean())


@F.arrow_udf("long")
def neg(a: pa.Array) -> pa.Array:
    return pa.compute.negate(a)


print(df.select(plus("id"), plus("id", "id"), plus("id", y="id"), text("id")).collect())
print(df.select(half("id"), it("id"), neg("id")).collect())
print(df.agg(mean("id")).collect())
print(df.select("id", mean("id").over(Window.partitionBy(F.col("id") % 2)).alias("m")).orderBy("id").collect())
spark.udf.register("sql_plus", plus)
print(spark.sql("SELECT sql_plus(id, 5) AS v FROM range(2)").collect())
print(spark.udf.register("lam", lambda x: x * 3, "long")(F.lit(1)), spark.sql("SELECT lam(14)").collect())
print(df.select(plus.asNondeterministic()("id")).count())
spark.conf.set("spark.sql.execution.pythonUDF.arrow.enabled", "false")
print(df.select(F.udf(lambda x: x, "long")("id")).count())
spark.stop()
