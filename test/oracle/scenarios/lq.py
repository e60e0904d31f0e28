"""Subqueries that use columns of the query around them, and LATERAL."""
from pyspark.sql import functions as F
from pyspark.sql.functions import array, col, lit

CASES = [
    "select * from lateral explode(array(1,2))",
    "select * from lateral (select 1)",
    "select * from lateral r",
    "select * from r, lateral s",
    "select * from r join lateral (select n as m) using (n)",
    "select * from r right join lateral (select n as m) on true",
    "select * from r left semi join lateral (select n as m) on true",
    "select * from r full join lateral (select n as m) on true",
    "select * from r, lateral (select n + 1 as m)",
    "select * from r, lateral (select sum(v) sv, count(*) c from s where s.k = r.k)",
    "select * from r left join lateral (select sum(v) sv from s where s.k = r.k having sum(v) > 1) on true",
    "select * from r, lateral (select v from s where s.k = r.k order by v desc limit 1)",
    "select * from r, lateral (select v from s where s.k > r.k)",
    "select * from r left join lateral (select v from s where s.k = r.k) t on t.v > 10",
    "select * from r, lateral (select n union all select n * 10) t",
    "select * from r, lateral (select distinct v + n as w from s where s.v > n)",
    "select k, n, (select max(v) from s where s.k = r.k) m from r",
    "select k, n, (select count(*) from s where s.k = r.k) m from r",
    "select k, n, (select v from s where s.k = r.k) m from r",
    "select k, n, (select count(*) + 1 from s where s.k = r.k) m from r order by n",
    "select k, n from r where n < (select max(v) from s where s.k = r.k)",
    "select k, n from r where n in (select v/10 from s where s.k = r.k)",
    "select k, n, n in (select v/10 from s where s.k = r.k) x from r",
    "select k, n, exists (select 1 from s where s.k = r.k) x from r",
    "select k, n from r where exists (select 1 from s where s.k = r.k) or n = 3",
    "select k, n from r where not exists (select 1 from s where s.k = r.k and s.v > r.n * 10)",
    "select k, n from r where exists (select 1 from s where s.k = r.k and exists (select 1 from r r2 where r2.k = s.k and r2.n = r.n))",
    "select k, n from r where n = (select max(n) from r r2 where r2.k = r.k)",
    "select k, sum(n) from r group by k having sum(n) > (select max(v)/20 from s where s.k = r.k)",
    "select k, n, (select max(v) from s where s.v > r.n) m from r",
    "select k, n, (select v from s where s.k = r.k limit 1) m from r",
    "select k, n, (select v from s where s.k = r.k order by v limit 1) m from r",
    "select k, (select n + 1) x, (select array_agg(v) from s where s.k <=> r.k) y from r",
    "select (select 1 from s where s.v = r.n group by k) from r",
    "select * from r where k in (select k from s where s.v > r.n)",
    "select * from r where k not in (select k from s where s.v > r.n * 20)",
    "select * from r where (k, n) in (select k, v / 10 from s)",
    "select * from r join s on exists (select 1 from r r2 where r2.n = r.n)",
    "select *, lateral_x from r lateral view explode(array(n, n)) t as lateral_x",
    "select * from r, lateral explode(array(n, n+1)) x(v), lateral (select v * 2 as w) where n = 1",
    "select * from r, lateral (select * from s, lateral (select s.v + r.n as z) where s.k = r.k)",
    "select k, n not in (select v/10 from s where s.k = r.k) x from r",
    "select k, n from r where n not in (select v/10 from s where s.k = r.k)",
    "select k, n from r where not (n in (select v/10 from s where s.k = r.k) and n > 1)",
    "select k, n from r where n not in (select max(v)/10 from s where s.k = r.k group by s.k)",
    "select k, (k, n) in (select k, v/10 from s where s.v > r.n) x from r",
    "select max(n), (select max(v) from s) from r",
    "select k, max(n) m, (select max(v) from s where s.k = r.k) from r group by k",
    "select k, max(n) m from r group by k having exists (select 1 from s where s.k = r.k)",
    "select k, max(n) m, (select max(v) from s where s.k = r.k) + max(n) z from r group by k order by k",
    "select id, x from u left join lateral explode(xs) as t(x) on true",
    "select id, t.x, z from u, lateral explode_outer(xs) as t(x), lateral (select t.x * 10 as z)",
    "select id, (select sum(x) from (select explode(xs) as x)) from u",
    "select id, (select count(*) from lateral explode(xs)) from u",
    "select id, z from u, lateral (select array_agg(x + id) z from (select explode(xs) x))",
    "select r.k, q.* from r left join lateral (select v, row_number() over (order by v) rn from s where s.k = r.k) q on q.rn = 1",
    "select r.k, q.* from r join lateral (select s.k sk, u.c from s join u on u.id = r.n) q on q.sk = r.k",
    "select r.k, n, q.* from r, lateral (select s.v from s left join u on u.id = r.n where s.k = r.k) q",
    "select r.k, n, q.* from r, lateral (select s.v from s left semi join u on u.id = r.n where s.k = r.k) q",
    "select r.k, n, q.* from r, lateral (select v from s where s.k = r.k intersect select n * 10) q",
    "select r.k, n, q.* from r, lateral (select v from s where s.k = r.k except select n * 10) q",
    "select r.k, n, q.* from r, lateral (select v from s where s.k = r.k union select n) q",
    "select r.k, n, q.* from r, lateral (select v from s where s.k = r.k order by v offset 1) q",
    "select r.k, n, q.* from r, lateral (select v from s where s.k = r.k order by v desc limit 1 offset 1) q",
    "with c as (select * from s) select k, (select count(*) from c where c.k = r.k) from r",
    "with c as (select r.n from r) select * from c, lateral (select c.n + 1)",
    "select (select (select max(v) from s where s.k = r.k)) from r",
    "select r.k from r where (select count(*) from s where s.k = r.k and s.v > (select min(v) from s s2 where s2.k = s.k)) > 0",
    "select k, case when exists (select 1 from s where s.k = r.k) then 'y' else 'n' end from r",
    "select k, coalesce((select max(v) from s where s.k = r.k), -1) from r",
    "select * from r where exists (select 1 from s where s.v > r.n * 10 limit 1)",
    "select * from r where exists (select max(v) from s where s.v > r.n * 100)",
    "select * from (select k, n from r) q where q.n = (select max(n) from r where r.k = q.k)",
    "select k, n, (select named_struct('a', max(v), 'b', count(*)) from s where s.k = r.k) m from r",
    "select k, n, (select approx_count_distinct(v) from s where s.k = r.k) a, (select collect_set(v) from s where s.k = r.k) b, (select count_if(v > 10) from s where s.k = r.k) c from r",
    "select k, n, (select first(v) from s where s.k = r.k) from r",
    "select id, c, (select max(k) from r where r.n = u.id and u.c is not null) m from u",
    "select * from r, lateral (select * from range(n))",
    "select * from r, lateral (values (n), (n + 1)) t(x)",
    "select k, (select max(v) from s where s.k = r.k and r.n > 1) from r",
    "select k, (select v + r.n from s where s.k = r.k and s.v = 10) from r",
    "select k, (select v from s where s.v = r.n * 10) m from r",
    "select *, (select x from (select r.n as x)) from r",
    "select k, n from r where n in (select explode(array(r.n, 5)))",
    "select k, sum((select max(v) from s where s.k = r.k)) from r group by k",
    "select sum((select max(v) from s where s.k = r.k)) from r",
    "select distinct (select max(v) from s where s.k = r.k) from r",
    "select k, n, sum(n) over (partition by k order by (n)) w, (select max(v) from s where s.k = r.k) m from r",
]


def views(t):
    r = t.spark.createDataFrame([("a", 1), ("a", 2), ("b", 3), (None, None), ("b", 1)], "k string, n int")
    s = t.spark.createDataFrame([("a", 10), ("c", 20), ("a", 30)], "k string, v int")
    u = t.spark.createDataFrame([(1, "x", [1, 2]), (2, "y", []), (3, None, None)], "id int, c string, xs array<int>")
    for name, df in {"r": r, "s": s, "u": u}.items():
        df.createOrReplaceTempView(name)
    return r.alias("d"), s.alias("e")


def attempt(t, label, make):
    t.expect_error(label, lambda: t.rows(label, make()))


def lq_sql(t):
    """In SQL."""
    views(t)
    for sql in CASES:
        attempt(t, sql, lambda: t.spark.sql(sql))


def lq_frames(t):
    """With DataFrames."""
    d, e = views(t)
    same = e.where(col("e.k") == col("d.k").outer())
    attempt(t, "scalar", lambda: d.select("k", same.select(F.max("v")).scalar().alias("m")))
    attempt(t, "scalar in a filter", lambda: d.where(same.select(F.max("v")).scalar() > 10 * col("n")))
    attempt(t, "exists", lambda: d.where(same.exists()))
    attempt(t, "not exists", lambda: d.where(~same.exists()))
    attempt(t, "exists selected", lambda: d.select("k", same.exists().alias("x")))
    attempt(t, "in", lambda: d.where(col("n").isin(same.select((col("v") / 10).cast("int")))))
    for how in ("inner", "left", "cross", "right"):
        attempt(t, "lateral " + how, lambda: d.lateralJoin(same.select("v"), how=how))
    attempt(t, "lateral on", lambda: d.lateralJoin(same.select("v"), on=col("v") > 10, how="left"))
    attempt(t, "explode", lambda: d.lateralJoin(t.spark.tvf.explode(array(col("d.n").outer(), lit(7)))))
    attempt(t, "range", lambda: d.lateralJoin(t.spark.tvf.range(2)))
