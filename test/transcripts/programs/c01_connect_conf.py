# Connect, version, configuration reads and writes.
from pyspark.sql import SparkSession

spark = (SparkSession.builder.appName("weir-acceptance")
         .config("spark.sql.shuffle.partitions", "3")
         .config("user.unknown.key", "kept").getOrCreate())
print("version", spark.version)
print("shuffle", spark.conf.get("spark.sql.shuffle.partitions"))
print("unknown", spark.conf.get("user.unknown.key"))
print("default", spark.conf.get("user.not.set", "fallback"), spark.conf.get("user.not.set", None))
try:
    spark.conf.get("user.not.set")
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.conf.set("spark.sql.ansi.enabled", True)
print("tz", spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.ansi.enabled"))
spark.conf.unset("spark.sql.ansi.enabled")
print("modifiable", [spark.conf.isModifiable(k) for k in ("spark.sql.shuffle.partitions", "spark.sql.warehouse.dir", "user.unknown.key", "spark.executor.memory")])
for key, value in (("spark.sql.shuffle.partitions", "many"), ("spark.sql.warehouse.dir", "/x"), ("spark.executor.memory", "1g")):
    try:
        spark.conf.set(key, value)
        print("set", key, "accepted")
    except Exception as e:
        print("set", key, type(e).__name__, str(e).splitlines()[0])
try:
    spark.conf.set("spark.sql.session.timeZone", None)
except Exception as e:
    print("none", type(e).__name__)
everything = spark.conf.getAll
print("getAll", isinstance(everything, dict), "spark.sql.shuffle.partitions" in everything)
spark.stop()
