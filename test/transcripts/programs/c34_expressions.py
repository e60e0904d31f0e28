# Expression shapes the client sends: literals, operators, casts, windows, lambdas, struct edits, sort orders, subqueries.
import datetime as dt
import decimal
from pyspark.sql import SparkSession, Window, functions as F

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
df = spark.sql("SELECT id, id * 1.5D AS x, concat('n', id) AS s, array(id, id + 1) AS arr, map('k', id) AS m, named_struct('a', id, 'b', 'z') AS st FROM range(4)")
lits = [None, True, 1, 2**40, 1.5, "s", b"b", decimal.Decimal("1.20"), dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, 5), dt.timedelta(days=1), [1, 2]]
print([c for c in spark.range(1).select(*[F.lit(v) for v in lits]).schema.simpleString().split(",")])
out = df.select(
    (F.col("id") + 1) * -F.col("x"), ~(F.col("id") > 1) & F.col("s").isNotNull(), F.col("id").between(1, 2), F.col("s").like("n%"), F.col("id").isin(1, 2),
    F.when(F.col("id") > 2, "big").when(F.col("id") > 1, "mid").otherwise("small").alias("size"), F.col("id").cast("string"), F.col("s").try_cast("int"),
    F.col("st.a"), F.col("st")["b"], F.col("arr")[0], F.col("m").getItem("k"), F.col("st").withField("c", F.lit(1)).dropFields("b"),
    F.transform("arr", lambda v: v + 1), F.aggregate("arr", F.lit(0).cast("long"), lambda a, v: a + v), F.expr("x > 1 AS e"), F.round("x", 1), F.to_json("st"),
    F.from_json(F.lit('{"a":1}'), "a int"), F.coalesce(F.lit(None), "id"), F.current_timestamp().isNotNull(), F.date_trunc("hour", F.lit("2024-01-01 01:30:00")))
print(out.columns[:4])
print(out.collect()[1])
w = Window.partitionBy(F.col("id") % 2).orderBy(F.desc("id")).rowsBetween(-1, Window.currentRow)
print(df.select("id", F.row_number().over(Window.orderBy("id")).alias("rn"), F.sum("x").over(w).alias("sx")).orderBy("id").collect())
print(df.orderBy(F.col("x").desc_nulls_last(), F.asc("s")).select("id").collect())
print(df.agg(F.countDistinct("s"), F.expr("percentile_approx(x, 0.5)"), F.max_by("s", "x"), F.approx_count_distinct("s")).collect())
print(df.groupBy("s").pivot("id", [0, 1]).sum("x").orderBy("s").collect()[0])
print(df.rollup("s").count().count(), df.cube("s").count().count())
print(df.select(F.explode("arr").alias("e")).distinct().count(), df.selectExpr("explode(m)").columns)
print(df.withColumns({"y": F.lit(1), "z": F.col("id")}).withColumnsRenamed({"y": "yy"}).columns)
print(df.select(df["id"], df.x, F.col("*")).columns, df.select(df.colRegex("`s.*`")).columns)
print(df.na.fill({"s": "?"}).na.drop().na.replace("n1", "N1").count())
print(df.repartition(2, "id").coalesce(1).hint("broadcast").count(), df.filter(F.col("id").isin([r.id for r in df.limit(1).collect()])).count())
print(df.where(F.col("id") == spark.range(3).agg(F.max("id")).scalar()).count(), df.where(spark.range(1).exists()).count())
print(df.select(F.call_function("upper", "s")).collect()[0], df.withMetadata("id", {"k": 1}).schema["id"].metadata)
spark.stop()
