"""Writes internal/function/testdata/aggregates.tsv: aggregates of Spark 4.3.0 over made-up rows.

    .venv/bin/python tools/sparkdata/aggregates.py > internal/function/testdata/aggregates.tsv

Run by hand; the output is committed. The rows are those of DATA for ids from 0 on, in one partition; the
test makes the same ones. Columns, separated by tabs: number of rows, expression, type, value as show()
writes it.
"""

from pyspark.sql import SparkSession

DATA = """SELECT id,
    CAST(IF(id % 13 = 5, NULL, (id * 7919) % 1009) AS INT) AS i,
    CAST(IF(id % 11 = 3, NULL, ((id * 31) % 97) / 8.0D) AS DOUBLE) AS d,
    CAST(IF(id % 7 = 6, NULL, (id * 17) % 501) AS DECIMAL(9, 2)) AS m,
    CONCAT('k', (id * id) % 50) AS s,
    DATE '2024-01-01' + CAST((id * 37) % 400 AS INT) AS dt,
    TIMESTAMP '2024-01-01 00:00:00' + MAKE_INTERVAL(0, 0, 0, 0, 0, 0, (id * 61) % 5000) AS ts,
    MAKE_DT_INTERVAL(0, (id * 3) % 40) AS gap
FROM (SELECT id FROM RANGE(0, {rows}, 1, 1))"""

ROWS = [0, 1, 2, 10, 1000, 60000, 130000]

EXPRESSIONS = """
approx_count_distinct(i); approx_count_distinct(i, 0.01); approx_count_distinct(i, 0.2); approx_count_distinct(id)
approx_count_distinct(d); approx_count_distinct(s); approx_count_distinct(m); approx_count_distinct(dt)
approx_count_distinct(id, 0.3); approx_count_distinct(id, 0.02); approx_count_distinct(id % 150000, 0.005)
skewness(i); kurtosis(i); skewness(d); kurtosis(d); skewness(m); kurtosis(m)
corr(i, d); corr(d, i); covar_pop(i, d); covar_samp(i, d); covar_pop(d, i); corr(m, i); covar_samp(m, d)
regr_count(d, i); regr_avgx(d, i); regr_avgy(d, i); regr_sxx(d, i); regr_syy(d, i); regr_sxy(d, i)
regr_slope(d, i); regr_intercept(d, i); regr_r2(d, i); regr_slope(i, d); regr_intercept(i, d); regr_r2(i, d)
regr_r2(i, 1); regr_r2(1, i); regr_slope(1, i); regr_slope(i, 1); regr_intercept(i, 1); regr_avgx(m, i); regr_avgy(m, i)
regr_sxx(m, i); regr_syy(m, i)
bit_and(i); bit_or(i); bit_xor(i); bit_and(id); bit_or(id); bit_xor(id); bit_xor(CAST(i AS SMALLINT))
percentile(i, 0.5); percentile(i, 0.25); percentile(d, array(0.0, 0.1, 0.9, 1.0)); percentile(m, 0.3); percentile(gap, 0.4)
percentile(i, 0.5, id % 3); percentile(i, 0.99); median(i); median(d); median(m); median(gap)
percentile_cont(0.4) WITHIN GROUP (ORDER BY i); percentile_cont(0.4) WITHIN GROUP (ORDER BY i DESC)
percentile_disc(0.4) WITHIN GROUP (ORDER BY i); percentile_disc(0.4) WITHIN GROUP (ORDER BY i DESC)
percentile_cont(array(0.1, 0.5)) WITHIN GROUP (ORDER BY d); percentile_disc(array(0.1, 0.5)) WITHIN GROUP (ORDER BY d)
percentile_approx(i, 0.5); percentile_approx(i, 0.5, 100); percentile_approx(d, array(0.25, 0.5, 0.75))
percentile_approx(d, array(0.75, 0.1, 0.5), 37); CAST(percentile_approx(m, 0.4) AS DOUBLE); percentile_approx(dt, 0.5)
percentile_approx(ts, 0.5); percentile_approx(gap, 0.5); percentile_approx(id, 0.37, 1000); percentile_approx(id, 0.9, 10)
percentile_approx(CAST(i % 100 AS TINYINT), 0.5); percentile_approx(CAST(d AS FLOAT), 0.3); percentile_approx(id, array(0.1, 0.2, 0.99), 5000)
mode(i % 5); mode(s); mode(d); mode(i % 5, true); mode(s, true); mode() WITHIN GROUP (ORDER BY s)
mode() WITHIN GROUP (ORDER BY s DESC); mode(dt); mode(id % 2 = 0); mode(CAST(d AS FLOAT)); mode(ts); mode(i); mode(id)
md5(listagg(s)); md5(listagg(s, ', ')); md5(listagg(CAST(i AS STRING), ',') WITHIN GROUP (ORDER BY i))
listagg(DISTINCT s, '-') WITHIN GROUP (ORDER BY s)
md5(string_agg(s, ';') WITHIN GROUP (ORDER BY s DESC, id)); md5(listagg(CAST(s AS BINARY), X'00'))
md5(listagg(s, '|') WITHIN GROUP (ORDER BY d NULLS LAST, id DESC))
histogram_numeric(i, 5); histogram_numeric(d, 3); histogram_numeric(id, 4); histogram_numeric(m, 4); histogram_numeric(dt, 3)
var_samp(i); var_pop(d); stddev(m); avg(i); avg(d); avg(m); sum(d); count_if(i > 500); bool_and(i >= 0); bool_or(i > 1000)
max_by(s, i); min_by(s, d); first(i, true); last(i, true); any_value(i); first_value(d); last_value(d)
"""




def main():
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false") \
        .config("spark.sql.session.timeZone", "UTC").getOrCreate()
    print("# Aggregates of Spark 4.3.0; tools/sparkdata/aggregates.py says over which rows.")
    for rows in ROWS:
        spark.sql(DATA.format(rows=rows)).createOrReplaceTempView("rows")
        for line in EXPRESSIONS.strip().splitlines():
            expressions = [e.strip() for e in line.split("; ")]
            df = spark.sql("SELECT " + ", ".join(f"{e} AS x{k}" for k, e in enumerate(expressions)) + " FROM rows")
            values = df.selectExpr(*(f"CAST({c} AS STRING)" for c in df.columns)).first()
            for expression, field, value in zip(expressions, df.schema, values):
                print(rows, expression, field.dataType.simpleString(), "NULL" if value is None else value,
                      sep="\t", flush=True)


main()
