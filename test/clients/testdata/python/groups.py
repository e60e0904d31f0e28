"""Functions of groups: aggregates, pairs of groups, groups batch by batch.

Recorded on Apache Spark 4.3.0 with PYSPARK_PYTHON set, TZ=UTC and
SPARK_REMOTE="local[2]" into groups.txt.
"""

import re
import sys
from typing import Iterator, Tuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import pandas_udf

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
spark.conf.set("spark.sql.shuffle.partitions", "2")


def show(name, make):
    try:
        df = make()
        print(name, df.columns, df.dtypes, [tuple(r) for r in df.collect()])
    except Exception as e:
        condition = getattr(e, "getCondition", lambda: None)()
        raised = [x for x in str(e).splitlines() if re.match(r"\S*(Error|Exception)\b", x)]
        what = condition or (raised or [""])[-1].split(":")[0].split(".")[-1]
        parameters = {k: v for k, v in sorted((e.getMessageParameters() or {}).items())} if condition else {}
        print(name, "fails:", type(e).__name__, what, parameters)


@pandas_udf('double')
def mean(v: pd.Series) -> float:
    return v.mean()


@pandas_udf('double')
def wsum(v: pd.Series, w: pd.Series) -> float:
    return float((v * w).sum())


@pandas_udf('bigint')
def cnt(v: pd.Series) -> int:
    return len(v)


@pandas_udf('array<int>')
def lst(v: pd.Series) -> object:
    return sorted(v.dropna().astype(int).tolist())


@pandas_udf('string')
def bad(v: pd.Series) -> str:
    raise ValueError('no')


@pandas_udf('int')
def wrong(v: pd.Series) -> int:
    return 'x'


df = spark.createDataFrame([(1, 1.0, 'a'), (1, 2.0, 'b'), (2, 3.0, None), (2, None, 'c'), (None, 5.0, 'd')], 'k int, v double, s string')
show('by key', lambda: df.groupBy('k').agg(mean('v')).orderBy('k'))
show('two', lambda: df.groupBy('k').agg(mean('v').alias('m'), wsum('v', F.lit(2.0)).alias('w'), cnt('s')).orderBy('k'))
show('expr', lambda: df.groupBy((F.col('k') + 1).alias('j')).agg((mean(df.v + 1) * 10).alias('m'), lst('v')).orderBy('j'))
show('global', lambda: df.agg(mean('v'), cnt('v')))
show('select', lambda: df.select(mean('v')))
show('empty global', lambda: df.filter('k > 100').agg(mean('v'), cnt('v')))
show('empty groups', lambda: df.filter('k > 100').groupBy('k').agg(mean('v')))
show('mixed', lambda: df.groupBy('k').agg(mean('v'), F.sum('v')))
show('having', lambda: df.groupBy('k').agg(mean('v').alias('m')).filter('m > 2').orderBy('k'))
show('error', lambda: df.groupBy('k').agg(bad('s')))
show('wrong', lambda: df.groupBy('k').agg(wrong('v')))
show('keyword', lambda: df.groupBy('k').agg(wsum(w=F.lit(3.0), v='v').alias('w')).orderBy('k'))
spark.udf.register('pmean', mean)
df.createOrReplaceTempView('t')
show('sql', lambda: spark.sql('select k, pmean(v) as m from t group by k having pmean(v) > 1.6 order by pmean(v)'))
show('sql no group', lambda: spark.sql('select pmean(v) from t'))
show('sql distinct', lambda: spark.sql('select pmean(distinct v) from t'))
show('sql filter', lambda: spark.sql('select pmean(v) filter (where k = 1) from t'))
show('missing', lambda: df.groupBy('k').agg(mean('v') + df.v))
show('nested', lambda: df.groupBy('k').agg(mean(mean('v'))))
show('pivot', lambda: df.groupBy('k').pivot('s', ['a', 'b']).agg(mean('v')))
show('no args', lambda: df.groupBy('k').agg(pandas_udf(lambda: 1, 'int', 202)()).orderBy('k'))


@pandas_udf('double')
def imean(it: Iterator[pd.Series]) -> float:
    n = s = 0
    for v in it:
        s += v.sum()
        n += len(v)
    return s / n


show('iter', lambda: df.groupBy('k').agg(imean('v').alias('m')).orderBy('k'))


@pandas_udf('double')
def iwsum(it: Iterator[Tuple[pd.Series, pd.Series]]) -> float:
    return sum((v * w).sum() for v, w in it)


show('iter2', lambda: df.groupBy('k').agg(iwsum('v', 'k').alias('m')).orderBy('k'))
from pyspark.sql.functions import arrow_udf


@arrow_udf('double')
def amean(v: pa.Array) -> float:
    return pa.compute.mean(v)


show('arrow', lambda: df.groupBy('k').agg(amean('v').alias('m')).orderBy('k'))


@arrow_udf('bigint')
def irows(it: Iterator[pa.Array]) -> int:
    return sum(len(v) for v in it)


show('arrow iter', lambda: df.groupBy('k').agg(irows('v').alias('n')).orderBy('k'))

L = spark.createDataFrame([(1, 'a'), (1, 'b'), (2, 'c'), (None, 'n')], 'k int, l string')
R = spark.createDataFrame([(1, 10), (3, 30), (None, 0)], 'k int, r int')


def co(a, b):
    return pd.DataFrame({'n': [len(a)], 'm': [len(b)], 't': [','.join(sorted(a.l)) + '|' + ','.join(sorted(map(str, b.r)))]})


show('cogroup', lambda: L.groupBy('k').cogroup(R.groupBy('k')).applyInPandas(co, 'n int, m int, t string').orderBy('t'))


def cok(key, a, b):
    return pd.DataFrame({'k': [key[0]], 'c': [list(a.columns) + list(b.columns)]})


show('cogroup key', lambda: L.groupBy('k').cogroup(R.groupBy('k')).applyInPandas(cok, 'k int, c array<string>').orderBy('k'))


def coa(a, b):
    return pa.table({'n': [a.num_rows], 'm': [b.num_rows]})


show('cogroup arrow', lambda: L.groupBy('k').cogroup(R.groupBy('k')).applyInArrow(coa, 'n long, m long').orderBy('n', 'm'))


def coak(key, a, b):
    return pa.table({'k': [key[0].as_py()], 'n': [a.num_rows + b.num_rows]})


show('cogroup arrow key', lambda: L.groupBy('k').cogroup(R.groupBy('k')).applyInArrow(coak, 'k int, n long').orderBy('k'))
show('cogroup bad', lambda: L.groupBy('k').cogroup(R.groupBy('k')).applyInPandas(lambda a, b: 1, 'n int'))
show('cogroup names', lambda: L.groupBy('k').cogroup(R.groupBy('k')).applyInPandas(lambda a, b: pd.DataFrame({'x': [1]}), 'n int'))
show('cogroup expr', lambda: L.groupBy(F.col('k') % 2).cogroup(R.groupBy(F.col('k') % 2)).applyInPandas(co, 'n int, m int, t string').orderBy('t'))
show('group arrow', lambda: L.groupBy('k').applyInArrow(lambda t: pa.table({'n': [t.num_rows]}), 'n long').orderBy('n'))


def gia(it: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for t in it:
        yield pa.RecordBatch.from_pydict({'n': [t.num_rows]})


show('group arrow iter', lambda: L.groupBy('k').applyInArrow(gia, 'n long').orderBy('n'))


def gip(it: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for t in it:
        yield pd.DataFrame({'n': [len(t)]})


show('group pandas iter', lambda: L.groupBy('k').applyInPandas(gip, 'n long').orderBy('n'))


def gipk(key, it: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for t in it:
        yield pd.DataFrame({'k': [key[0]], 'n': [len(t)]})


show('group pandas iter key', lambda: L.groupBy('k').applyInPandas(gipk, 'k int, n long').orderBy('n', 'k'))

big = spark.range(25000).select((F.col('id') % 2).alias('k'), 'id')


def parts(it: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    sizes = [len(t) for t in it]
    yield pd.DataFrame({'n': [len(sizes)], 'm': [sum(sizes)]})


show('big group iter', lambda: big.groupBy('k').applyInPandas(parts, 'n int, m int'))
show('big aggregate', lambda: big.groupBy('k').agg(cnt('id').alias('n')).orderBy('k'))
show('many groups', lambda: big.filter('id < 2000').groupBy('id').agg(cnt('k').alias('n')).agg(F.sum('n'), F.count('n')))
show('filtered', lambda: big.filter('id < 0').groupBy('k').cogroup(big.filter('id < 3').groupBy('k')).applyInPandas(lambda a, b: pd.DataFrame({'n': [len(a)], 'm': [len(b)]}), 'n int, m int').orderBy('m'))
show('self', lambda: L.groupBy('k').cogroup(L.groupBy('k')).applyInPandas(lambda a, b: pd.DataFrame({'n': [len(a) * len(b)]}), 'n int').orderBy('n'))
