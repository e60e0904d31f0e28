"""Writes internal/function/hyperloglog/tables.tsv: the tables of Spark 4.3.0's HyperLogLog++.

    .venv/bin/python tools/sparkdata/hyperloglog.py > internal/function/hyperloglog/tables.tsv

Run by hand; the output is committed. The numbers are those of the running Spark. Columns, separated by
tabs:

table      threshold, raw or bias
precision  bits that choose a register; empty for the thresholds, which are listed from 4 bits on
values     separated by blanks
"""

from pyspark.sql import SparkSession


def main():
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    name = "org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper$"
    helper = spark._jvm.java.lang.Class.forName(name)
    module = helper.getField("MODULE$").get(None)

    def read(name):
        (field,) = (f for f in helper.getDeclaredFields() if f.getName().endswith(name))
        field.setAccessible(True)
        return field.get(module)

    def show(table, precision, values):
        print(table, precision, " ".join(repr(float(x)) for x in values), sep="\t")

    print("# Thresholds, raw estimates and biases of Spark's HyperLogLog++: table, precision, values.")
    show("threshold", "", read("THRESHOLDS"))
    for table, name in ("raw", "RAW_ESTIMATE_DATA"), ("bias", "BIAS_DATA"):
        for precision, values in enumerate(read(name), 4):
            show(table, precision, values)


main()
