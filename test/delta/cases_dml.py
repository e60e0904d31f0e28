"""DELETE, UPDATE and MERGE on Delta tables: answers, rows, commits and refusals."""
import glob, itertools, json, os, re
from cases_sink import VERSIONS, log  # noqa: VERSIONS is read by the harness


def table(t, name, columns, rows, by="", **properties):
    """Makes a Delta table of one file for each group of rows; returns its name in SQL."""
    T = f"delta.`{t.path(name)}`"
    props = ", ".join(f"'{k}' = '{v}'" for k, v in properties.items())
    t.spark.sql(f"create table {T} ({columns}) using delta" + (f" partitioned by ({by})" if by else "") + (f" tblproperties ({props})" if props else ""))
    for group in rows:
        t.spark.createDataFrame(group, columns.replace(" not null", "")).coalesce(1).write.format("delta").mode("append").save(t.path(name))
    return T


CHOICE = ("numTargetFilesAdded", "numTargetFilesRemoved", "numTargetRowsCopied", "numOutputRows")


def commits(t, name, start=0):
    """The commits from a version on: what made them, with which numbers, and the order of their actions.

    Which files a MERGE writes anew without need, and into how many, says nothing of what it did."""
    out = []
    for actions in list(log(t, name).values())[start:]:
        info = actions[0]["commitInfo"]
        merge = info["operation"] == "MERGE"
        metrics = {k: v for k, v in sorted(info["operationMetrics"].items()) if v != "<n>" and not (merge and k in CHOICE)}
        kinds = [k for k, _ in itertools.groupby(next(iter(a)) for a in actions)]
        out.append([info["operation"], info["operationParameters"], metrics, info["isBlindAppend"], [k for k in kinds if not merge or k not in ("add", "remove")]])
    return out


def rows(t, T):
    return sorted(t.rows(t.spark.table(T)), key=lambda r: json.dumps(r))


def run(t, key, text, T=None):
    """Keeps what a statement answers, or how it is refused, and the rows of the table behind it."""
    answer = None
    def go():
        nonlocal answer
        df = t.spark.sql(text)
        answer = [df.columns, t.rows(df)]
    e = t.error(go)
    t.put(key, answer if e["raised"] is None else e)
    if T:
        t.put(key + ".rows", rows(t, T))


COLS, DATA = "id int, k string, v double", [[(1, "a", 1.0), (2, "b", 2.0), (3, None, 3.0)], [(4, "a", None), (5, "b", 5.0)], [(6, "c", 6.0)]]


def case_delete(t):
    """Files without a match stay, files that match whole go, the others are written anew; NULL is no match."""
    T = table(t, "t", COLS, DATA)
    run(t, "part of a file", f"delete from {T} where id = 2", T)
    run(t, "whole file", f"delete from {T} where id >= 6", T)
    run(t, "nothing", f"delete from {T} where id = 77", T)
    run(t, "outside of statistics", f"delete from {T} where id > 1000 and v < 0", T)
    run(t, "null condition", f"delete from {T} where v > null", T)
    run(t, "null value", f"delete from {T} where v <> 3.0", T)
    run(t, "alias", f"delete from {T} as x where x.k is null", T)
    run(t, "false", f"delete from {T} where false", T)
    run(t, "true", f"delete from {T} where true", T)
    run(t, "of nothing", f"delete from {T}", T)
    t.put("commits", commits(t, "t", 4))


def case_delete_all(t):
    """DELETE without a condition."""
    T = table(t, "t", COLS, DATA)
    run(t, "all", f"delete from {T}", T)
    t.put("commits", commits(t, "t", 4))


def case_delete_partitions(t):
    """Whole partitions go without their files being read."""
    T = table(t, "t", COLS, DATA, by="k")
    run(t, "partition", f"delete from {T} where k = 'a'", T)
    run(t, "null partition", f"delete from {T} where k is null", T)
    run(t, "expression", f"delete from {T} where upper(k) = 'C' and k > 'b'", T)
    run(t, "both", f"delete from {T} where k = 'b' and id = 5", T)
    run(t, "both whole", f"delete from {T} where k = 'b' and id = 2", T)
    t.put("commits", commits(t, "t", 4))


def case_delete_refused(t):
    """What DELETE does not take."""
    T = table(t, "t", COLS, DATA[:1])
    s = t.spark.sql
    s(f"create or replace temp view vw as select * from {T}")
    s(f"create or replace temp view vx as select id, k from {T} where id > 1")
    s("drop table if exists dml_pq"); s("create table dml_pq (id int) using parquet")
    run(t, "subquery", f"delete from {T} t where t.id in (select 1)", T)
    run(t, "scalar subquery", f"delete from {T} t where t.id = (select max(1))", T)
    run(t, "rand", f"delete from {T} where rand() > 2", T)
    run(t, "aggregate", f"delete from {T} where max(id) = 1", T)
    run(t, "window", f"delete from {T} where row_number() over (order by id) = 1", T)
    run(t, "no column", f"delete from {T} where nope = 1", T)
    run(t, "no boolean", f"delete from {T} where id", T)
    run(t, "cast", f"delete from {T} where id = 'x'", T)
    run(t, "division", f"delete from {T} where 1 / (id - 2) > 0", T)
    run(t, "no table", "delete from dml_none where id = 1")
    run(t, "no path", f"delete from delta.`{t.path('zz')}` where id = 1")
    run(t, "parquet", "delete from dml_pq where id = 1")
    run(t, "view", "delete from vw where id = 1", T)
    run(t, "filtered view", "delete from vx where id = 2", T)
    run(t, "version", f"delete from {T} version as of 0 where id = 1")
    run(t, "columns", f"delete from {T} t(a) where a = 1")
    s("drop table dml_pq")
    t.put("commits", commits(t, "t", 2))


def case_update(t):
    """UPDATE: only files with a match are written anew, types as an assignment has them."""
    T = table(t, "t", COLS, DATA)
    run(t, "one", f"update {T} set v = v + 1, k = concat(k, 'x') where id = 2", T)
    run(t, "swap", f"update {T} set id = v, v = id where id = 5", T)
    run(t, "null", f"update {T} set v = null where k = 'a'", T)
    run(t, "default", f"update {T} set v = default where id = 6", T)
    run(t, "nothing", f"update {T} set v = 0 where id = 77", T)
    run(t, "null condition", f"update {T} set v = 0 where k = null", T)
    run(t, "all", f"update {T} set v = 1", T)
    run(t, "alias", f"update {T} as x set x.v = x.v + 1 where x.id = 1", T)
    run(t, "true", f"update {T} set k = 'z' where true", T)
    t.put("commits", commits(t, "t", 4))


def case_update_partitions(t):
    """UPDATE of and by partition columns."""
    T = table(t, "t", COLS, DATA, by="k")
    run(t, "by partition", f"update {T} set v = -1 where k = 'a'", T)
    run(t, "of partition", f"update {T} set k = 'q' where id = 2", T)
    run(t, "to null", f"update {T} set k = null where k = 'c'", T)
    t.put("commits", commits(t, "t", 4))


def case_update_structs(t):
    """Fields of structs, and structs whole."""
    T = table(t, "t", "id int, s struct<a: int, b: struct<c: string, d: int>>, m map<string, int>, l array<int>",
              [[(1, (1, ("x", 2)), {"k": 1}, [1]), (2, None, None, None)]])
    run(t, "field", f"update {T} set s.a = 10 where id = 1", T)
    run(t, "deep", f"update {T} set s.b.c = 'y', s.b.d = s.a where id = 1", T)
    run(t, "of null", f"update {T} set s.a = 7 where id = 2", T)
    run(t, "struct", f"update {T} set s = named_struct('a', 1L, 'b', named_struct('c', 'q', 'd', 3)) where id = 1", T)
    run(t, "by name", f"update {T} set s = named_struct('b', named_struct('d', 8, 'c', 'w'), 'a', 5) where id = 1", T)
    run(t, "lacking", f"update {T} set s = named_struct('a', 5) where id = 1", T)
    run(t, "too many", f"update {T} set s = named_struct('a', 5, 'b', null, 'z', 1) where id = 1", T)
    run(t, "map", f"update {T} set m = map('z', 9L), l = array(1, 2) where id = 1", T)
    run(t, "no field", f"update {T} set s.zz = 1 where id = 1", T)
    run(t, "both", f"update {T} set s = null, s.a = 1 where id = 1", T)
    run(t, "map value", f"update {T} set m.k = 1", T)


def case_update_refused(t):
    """What UPDATE does not take."""
    T = table(t, "t", "id int not null, k string, v decimal(5,2), d date", [[(1, "a", None, None), (2, "b", None, None)]])
    run(t, "subquery", f"update {T} t set k = 'q' where t.id in (select 1)", T)
    run(t, "subquery value", f"update {T} set k = (select 'q')", T)
    run(t, "rand", f"update {T} set k = 'q' where rand() > 2", T)
    run(t, "rand value", f"update {T} set v = rand() where id = 1")
    run(t, "aggregate", f"update {T} set v = max(id)", T)
    run(t, "no column", f"update {T} set nope = 1", T)
    run(t, "no column in value", f"update {T} set v = nope", T)
    run(t, "no column in condition", f"update {T} set v = 1 where nope = 1", T)
    run(t, "twice", f"update {T} set v = 1, V = 2", T)
    run(t, "cast", f"update {T} set v = 'x' where id = 1", T)
    run(t, "too large", f"update {T} set v = 12345.678 where id = 1")
    run(t, "rounded", f"update {T} set v = 1.239 where id = 1", T)
    run(t, "date of int", f"update {T} set d = 1 where id = 1", T)
    run(t, "date of text", f"update {T} set d = '2024-02-29' where id = 1", T)
    run(t, "overflow", f"update {T} set id = 3000000000 where id = 1", T)
    run(t, "not null", f"update {T} set id = null where id = 1", T)
    run(t, "other table", f"update {T} t set v = s.v", T)
    run(t, "no table", "update dml_none set id = 1")


SRC = "select * from values (2, 'bb', 20.0D), (4, 'dd', 40.0D), (7, 'gg', 70.0D), (null, 'nn', 0.0D) as s(id, k, v)"


def case_merge(t):
    """The clauses of MERGE, their order, and how many rows each counts."""
    T = table(t, "t", COLS, DATA)
    m = lambda rest, src=f"({SRC}) s", cond="t.id = s.id": f"merge into {T} t using {src} on {cond} {rest}"
    run(t, "upsert", m("when matched then update set * when not matched then insert *"), T)
    run(t, "set", m("when matched and s.v > 30 then update set v = t.v + s.v, k = 'set' when matched then delete"), T)
    run(t, "in order", m("when matched and t.v > 100 then delete when matched and t.v > 50 then update set v = 0 when matched then update set v = 1"), T)
    run(t, "insert some", m("when not matched and s.id is not null then insert (id, k) values (s.id * 10, s.k) when not matched then insert (k) values ('null id')"), T)
    run(t, "by target", m("when not matched by target and s.k = 'gg' then insert (v, id) values (s.v, 1000)", cond="t.id = s.id + 100"), T)
    run(t, "by source", m("when not matched by source and t.id = 1 then delete when not matched by source and t.id > 5 then update set k = 'gone'"), T)
    run(t, "all kinds", m("when matched then update set k = s.k when not matched then insert * when not matched by source then update set v = -1"), T)
    run(t, "nothing matches", m("when matched then update set *", cond="t.id = s.id and s.id > 100"), T)
    run(t, "constant", m("when matched then update set k = 'never' when not matched then insert *", cond="false"), T)
    run(t, "delete only", m("when matched then delete"), T)
    t.put("commits", commits(t, "t", 4))


def case_merge_sources(t):
    """Sources of MERGE: tables, views, queries, named queries, the target itself."""
    T = table(t, "t", COLS, DATA)
    S = table(t, "s", COLS, [[(1, "new", 10.0), (9, "nine", 90.0)]])
    s = t.spark.sql
    s(f"create or replace temp view src as {SRC}")
    run(t, "table", f"merge into {T} using {S} on {T}.id = {S}.id when matched then update set *", T)
    run(t, "table with aliases", f"merge into {T} as a using {S} as b on a.id = b.id when matched then update set * when not matched then insert *", T)
    run(t, "view", f"merge into {T} t using src on t.id = src.id when matched then update set k = src.k", T)
    run(t, "view with alias", f"merge into {T} t using src as s on t.id = s.id when matched then update set v = s.v", T)
    run(t, "with", f"with q as (select 5 id, 'with' k, 0.5D v) merge into {T} t using q on t.id = q.id when matched then update set *", T)
    run(t, "subquery with columns", f"merge into {T} t using (select 6, 'six') as s(a, b) on t.id = s.a when matched then update set k = b", T)
    run(t, "values", f"merge into {T} t using (values (6, 'seven')) as s(a, b) on t.id = s.a when matched then update set k = b", T)
    run(t, "itself", f"merge into {T} t using (select id, max(v) v from {T} group by id) s on t.id = s.id when matched then update set v = s.v + 1", T)
    run(t, "self whole", f"merge into {T} t using {T} s on t.id = s.id + 100 when not matched then insert (id, k) values (s.id + 100, s.k)", T)
    run(t, "range condition", f"merge into {T} t using src s on t.id between s.id - 1 and s.id - 1 and s.k = 'dd' when matched then delete", T)
    run(t, "random source", f"merge into {T} t using (select cast(rand() * 0 as int) + 200 id, 'r' k, 0D v) s on t.id = s.id when not matched then insert *", T)
    run(t, "empty source", f"merge into {T} t using (select 1 id where false) s on t.id = s.id when matched then delete when not matched by source and t.id = 200 then delete", T)
    t.put("commits", commits(t, "t", 4))


def case_merge_duplicates(t):
    """Several source rows for one target row."""
    T = table(t, "t", COLS, DATA)
    two = "(select * from values (1, 'x', 1D), (1, 'y', 2D), (50, 'z', 3D), (50, 'z', 3D) as s(id, k, v)) s"
    m = lambda rest: f"merge into {T} t using {two} on t.id = s.id {rest}"
    run(t, "update", m("when matched then update set *"), T)
    run(t, "one by condition", m("when matched and s.k = 'x' then update set *"), T)
    run(t, "one by condition, insert", m("when matched and s.k = 'y' then update set * when not matched then insert *"), T)
    run(t, "insert", m("when not matched then insert *"), T)
    run(t, "delete with condition", m("when matched and t.id > 0 then delete"), T)
    run(t, "two clauses", m("when matched and s.k = 'x' then delete when matched then update set k = 'q'"), T)
    run(t, "delete", m("when matched then delete"), T)
    t.put("commits", commits(t, "t", 4))


def case_merge_partitions(t):
    """MERGE into a partitioned table touches the partitions that the condition names."""
    T = table(t, "t", COLS, DATA, by="k")
    src = "(select * from values (1, 'a', 10D), (2, 'a', 20D), (5, 'b', 50D), (8, 'zz', 80D), (9, null, 90D) as s(id, k, v)) s"
    run(t, "partition", f"merge into {T} t using {src} on t.id = s.id and t.k = 'a' when matched then update set v = s.v", T)
    run(t, "moves", f"merge into {T} t using {src} on t.id = s.id when matched then update set * when not matched then insert *", T)
    run(t, "by source of a partition", f"merge into {T} t using {src} on t.id = s.id and t.k = s.k when not matched by source and t.k = 'c' then delete", T)
    t.put("commits", commits(t, "t", 4))


def case_merge_columns(t):
    """Columns by name in any case and order, missing and superfluous ones, types."""
    T = table(t, "t", "id int, Name string, v decimal(5,2), s struct<a: int, b: int>", [[(1, "a", None, (1, 2))]])
    m = lambda src, rest: f"merge into {T} t using (select {src}) s on t.id = s.id {rest}"
    run(t, "case", m("named_struct('a', 9, 'b', 9) s, 'n' NAME, 1 ID, 1 v", "when matched then update set *"), T)
    run(t, "star lacks", m("1 id, 'm' name", "when matched then update set *"), T)
    run(t, "insert star lacks", m("2 id, 'm' name", "when not matched then insert *"), T)
    run(t, "star has more", m("1 id, 'm' name, 2.5 v, named_struct('a', 1, 'b', 1) s, 5 more", "when matched then update set *"), T)
    run(t, "insert has more", m("3 id, 'm' name, 2.5 v, named_struct('a', 1, 'b', 1) s, 5 more", "when not matched then insert *"), T)
    run(t, "insert lacks", m("4 id", "when not matched then insert (id) values (s.id)"), T)
    run(t, "insert too few", m("5 id", "when not matched then insert (id, name) values (s.id)"), T)
    run(t, "insert too many", m("5 id", "when not matched then insert (id) values (s.id, 'x')"), T)
    run(t, "insert twice", m("5 id", "when not matched then insert (id, ID) values (s.id, 1)"), T)
    run(t, "insert field", m("5 id", "when not matched then insert (id, s.a) values (s.id, 1)"), T)
    run(t, "update field", m("1 id", "when matched then update set s.a = 77, t.v = default"), T)
    run(t, "update twice", m("1 id", "when matched then update set v = 1, v = 2"), T)
    run(t, "too large", m("1 id", "when matched then update set v = 123456"))
    run(t, "struct", m("1 id", "when matched then update set s = named_struct('a', 'x', 'b', 1)"))


def case_merge_refused(t):
    """What MERGE does not take."""
    T = table(t, "t", "id int not null, k string, v double", [[(1, "a", 1.0), (2, "b", 2.0)]])
    m = lambda rest, src=f"({SRC}) s", cond="t.id = s.id": f"merge into {T} t using {src} on {cond} {rest}"
    run(t, "no clause", m(""))
    run(t, "condition first", m("when matched then delete when matched then update set *"))
    run(t, "condition first, insert", m("when not matched then insert * when not matched and s.v = 1 then insert *"))
    run(t, "condition first, by source", m("when not matched by source then delete when not matched by source then update set v = 1"))
    run(t, "insert when matched", m("when matched then insert *"))
    run(t, "update star by source", m("when not matched by source then update set *"))
    run(t, "source column by source", m("when not matched by source then update set v = s.v"))
    run(t, "source column in by source condition", m("when not matched by source and s.v > 1 then delete"))
    run(t, "target column in insert", m("when not matched then insert (id) values (t.id)"))
    run(t, "target column in insert condition", m("when not matched and t.v > 1 then insert *"))
    run(t, "no column", m("when matched then delete", cond="t.nope = s.id"))
    run(t, "no target column", m("when matched then update set nope = 1"))
    run(t, "no source column", m("when matched then update set v = s.nope"))
    run(t, "no column in clause", m("when matched and nope = 1 then delete"))
    run(t, "no insert column", m("when not matched then insert (nope) values (1)"))
    run(t, "ambiguous", m("when matched then delete", cond="id = 1"))
    run(t, "ambiguous value", m("when matched then update set v = v + 1"))
    run(t, "subquery in condition", m("when matched then delete", cond="t.id in (select 1)"))
    run(t, "subquery in clause", m("when matched and t.id in (select 1) then delete"))
    run(t, "subquery in value", m("when matched then update set v = (select 1)"))
    run(t, "rand", m("when matched then delete", cond="t.id = s.id and rand() > 2"))
    run(t, "rand in clause", m("when matched and rand() > 2 then delete"))
    run(t, "rand in value", m("when matched then update set v = rand() * 0 + 5"), T)
    run(t, "aggregate", m("when matched and max(s.v) > 1 then delete"))
    run(t, "window", m("when matched then update set v = row_number() over (order by s.id)"))
    run(t, "no boolean", m("when matched then delete", cond="t.id"))
    run(t, "not null", m("when not matched then insert *"), T)
    run(t, "not null left out", m("when not matched then insert (k) values ('x')"), T)
    run(t, "no source", m("when matched then delete", src="dml_none s"))
    run(t, "no target", f"merge into dml_none t using ({SRC}) s on t.id = s.id when matched then delete")
    run(t, "no path", f"merge into delta.`{t.path('zz')}` t using ({SRC}) s on t.id = s.id when matched then delete")
    run(t, "same name", f"merge into {T} t using ({SRC}) t on t.id = t.id when matched then delete")
    t.spark.sql(f"create or replace temp view vm as select * from {T}")
    run(t, "view", "merge into vm using (select 1 id, 'view' k) s on vm.id = s.id when matched then update set k = s.k", T)


def case_merge_evolution(t):
    """MERGE WITH SCHEMA EVOLUTION adds the columns that the source has and the table lacks."""
    T = table(t, "t", "id int, k string", [[(1, "a"), (2, "b")], [(3, "c")]])
    run(t, "star", f"merge with schema evolution into {T} t using (select 1 id, 'x' k, 5 more) s on t.id = s.id when matched then update set * when not matched then insert *", T)
    run(t, "insert", f"merge with schema evolution into {T} t using (select 9 id, 'x' k, 'q' extra) s on t.id = s.id when not matched then insert *", T)
    run(t, "lacks", f"merge with schema evolution into {T} t using (select 2 id, 'only' k) s on t.id = s.id when matched then update set * when not matched then insert *", T)
    run(t, "named", f"merge with schema evolution into {T} t using (select 3 id, 77 named) s on t.id = s.id when matched then update set named = s.named", T)
    run(t, "unused", f"merge with schema evolution into {T} t using (select 3 id, 77 unused) s on t.id = s.id when matched then update set k = 'z'", T)
    t.put("schema", t.schema(t.spark.table(T)))
    t.put("commits", commits(t, "t", 3))


def case_checks(t):
    """CHECK constraints, NOT NULL and lengths hold for every statement."""
    T = table(t, "t", "id int not null, k string, v double", [[(1, "a", 1.0), (2, "b", 2.0)]])
    s = t.spark.sql
    run(t, "violated already", f"alter table {T} add constraint big check (v > 1.5)")
    run(t, "add", f"alter table {T} add constraint positive check (v > 0)")
    run(t, "add again", f"alter table {T} add constraint Positive check (v > 1)")
    run(t, "no column", f"alter table {T} add constraint c check (nope > 0)")
    run(t, "no boolean", f"alter table {T} add constraint c check (id)")
    run(t, "insert", f"insert into {T} values (3, 'c', -1.0)", T)
    run(t, "insert null", f"insert into {T} values (3, 'c', null)", T)
    run(t, "update", f"update {T} set v = -v where id = 1", T)
    run(t, "update null", f"update {T} set id = null where id = 1", T)
    run(t, "merge", f"merge into {T} t using (select 9 id, 'n' k, -9D v) s on t.id = s.id when not matched then insert *", T)
    run(t, "merge null", f"merge into {T} t using (select cast(null as int) id, 'n' k, 9D v) s on t.id = s.id when not matched then insert *", T)
    run(t, "append", f"insert into {T} (id, k) values (4, 'd')", T)
    t.put("frame", t.error(lambda: t.spark.createDataFrame([(5, "e", -5.0)], "id int, k string, v double").write.format("delta").mode("append").save(t.path("t"))))
    run(t, "properties", f"show tblproperties {T}")
    run(t, "drop", f"alter table {T} drop constraint positive")
    run(t, "drop again", f"alter table {T} drop constraint positive")
    run(t, "drop if exists", f"alter table {T} drop constraint if exists positive")
    run(t, "insert now", f"insert into {T} values (3, 'c', -1.0)", T)
    t.put("commits", commits(t, "t"))


def case_append_only(t):
    """Tables that are for appending only."""
    T = table(t, "t", COLS, DATA[:1], **{"delta.appendOnly": "true"})
    run(t, "delete", f"delete from {T} where id = 1", T)
    run(t, "delete nothing", f"delete from {T} where id = 77", T)
    run(t, "update", f"update {T} set v = 1", T)
    run(t, "merge update", f"merge into {T} t using ({SRC}) s on t.id = s.id when matched then update set *", T)
    run(t, "merge insert", f"merge into {T} t using ({SRC}) s on t.id = s.id when not matched then insert *", T)
    run(t, "overwrite", f"insert overwrite {T} values (1, 'q', 1)", T)
    run(t, "truncate", f"truncate table {T}", T)
    run(t, "optimize", f"optimize {T}", T); t.data["optimize"] = t.data["optimize"][0]   # files depend on the number of cores


def cdc(t, name):
    """The rows of the change data files by version."""
    out = {}
    for path in sorted(glob.glob(t.path(name, "_delta_log", "*.json"))):
        v = int(os.path.basename(path)[:20])
        adds = [a["cdc"]["path"] for a in map(json.loads, open(path)) if "cdc" in a]
        if adds:
            frame = t.spark.read.parquet(*[t.path(name, x) for x in adds]).drop("__is_cdc")
            out[str(v)] = [frame.columns, sorted(t.rows(frame), key=lambda r: json.dumps(r))]
    return out


def case_change_data(t):
    """What is written for the change feed."""
    T = table(t, "t", COLS, DATA, **{"delta.enableChangeDataFeed": "true"})
    run(t, "delete", f"delete from {T} where id in (2, 6)", T)
    run(t, "update", f"update {T} set v = v + 1 where k = 'a'", T)
    run(t, "merge", f"merge into {T} t using ({SRC}) s on t.id = s.id when matched then update set * when not matched then insert * when not matched by source and t.id = 1 then delete", T)
    run(t, "insert only merge", f"merge into {T} t using (select 99 id, 'n' k, 1D v) s on t.id = s.id when not matched then insert *", T)
    run(t, "delete only merge", f"merge into {T} t using (select 99 id) s on t.id = s.id when matched then delete", T)
    run(t, "delete all", f"delete from {T}", T)
    t.put("cdc", cdc(t, "t"))
    t.put("log", {k: v for k, v in list(log(t, "t").items())[4:]})


def case_change_data_partitions(t):
    """Change data files of a partitioned table."""
    T = table(t, "t", COLS, DATA, by="k", **{"delta.enableChangeDataFeed": "true"})
    run(t, "delete", f"delete from {T} where id = 2", T)
    run(t, "partition", f"delete from {T} where k = 'b'", T)
    run(t, "update", f"update {T} set k = 'z' where id = 1", T)
    t.put("log", {k: v for k, v in list(log(t, "t").items())[4:]})


def case_replace_where(t):
    """An overwrite of the rows for which a condition is true."""
    T = table(t, "t", COLS, DATA, by="k")
    U = table(t, "u", COLS, DATA)
    w = lambda data, where, name="t", **o: t.spark.createDataFrame(data, COLS).coalesce(1).write.format("delta").mode("overwrite").option("replaceWhere", where).options(**o).save(t.path(name))
    def go(key, fn, name):
        e = t.error(fn)
        t.put(key, None if e["raised"] is None else e)
        t.put(key + ".rows", rows(t, f"delta.`{t.path(name)}`"))
    go("partition", lambda: w([(10, "a", 1.0), (11, "a", 2.0)], "k = 'a'"), "t")
    go("outside", lambda: w([(10, "b", 1.0)], "k = 'a'"), "t")
    go("nothing new", lambda: w([], "k = 'c'"), "t")
    go("data", lambda: w([(2, "n", 9.0)], "id = 2", "u"), "u")
    go("data outside", lambda: w([(3, "n", 9.0)], "id = 2", "u"), "u")
    go("no column", lambda: w([(3, "n", 9.0)], "nope = 2", "u"), "u")
    go("syntax", lambda: w([(3, "n", 9.0)], "id = ", "u"), "u")
    go("append", lambda: t.spark.createDataFrame([(3, "n", 9.0)], COLS).write.format("delta").mode("append").option("replaceWhere", "id = 3").save(t.path("u")), "u")
    go("dynamic", lambda: w([(2, "n", 9.0)], "id = 2", "u", partitionOverwriteMode="dynamic"), "u")
    go("schema", lambda: w([(2, "n", 9.0)], "id = 2", "u", overwriteSchema="true"), "u")
    s = t.spark
    s.sql("drop table if exists dml_rw"); s.sql("create table dml_rw (id int, k string, v double) using delta")
    s.createDataFrame(DATA[0] + DATA[1], COLS).coalesce(1).writeTo("dml_rw").append()
    import pyspark.sql.functions as F
    one = s.createDataFrame([(4, "new", 4.5)], COLS).coalesce(1)
    e = t.error(lambda: one.writeTo("dml_rw").overwrite(F.col("id") == 4)); t.put("writeTo", None if e["raised"] is None else e); t.put("writeTo.rows", rows(t, "dml_rw"))
    e = t.error(lambda: one.writeTo("dml_rw").overwrite(F.col("id") == 5)); t.put("writeTo outside", None if e["raised"] is None else e); t.put("writeTo outside.rows", rows(t, "dml_rw"))
    e = t.error(lambda: one.writeTo("dml_rw").overwrite((F.col("id") > 2) & F.col("k").isNull())); t.put("writeTo and", None if e["raised"] is None else e); t.put("writeTo and.rows", rows(t, "dml_rw"))
    run(t, "insert", "insert into dml_rw replace where id = 4 select 4, 'sql', 1.0D", "dml_rw")
    run(t, "insert outside", "insert into dml_rw replace where id = 4 select 5, 'sql', 1.0D", "dml_rw")
    t.put("sql history", [[r[0], r[1], {k: re.sub(r"#\d+", "", v or "") for k, v in r[2].items()}] for r in s.sql("describe history dml_rw").selectExpr("version", "operation", "operationParameters").orderBy("version").collect()])
    s.sql("drop table dml_rw")
    t.put("commits", commits(t, "t", 4)); t.put("commits u", commits(t, "u", 4))


def case_merge_into(t):
    """DataFrame.mergeInto."""
    import pyspark.sql.functions as F
    s = t.spark
    s.sql("drop table if exists dml_mi"); s.sql("create table dml_mi (id int, k string, v double) using delta")
    s.createDataFrame([r for g in DATA for r in g], COLS).coalesce(1).writeTo("dml_mi").append()
    src = s.createDataFrame([(2, "bb", 20.0), (7, "gg", 70.0)], COLS).alias("s")
    on = F.expr("dml_mi.id = s.id")
    def go(key, fn):
        e = t.error(fn)
        t.put(key, None if e["raised"] is None else e); t.put(key + ".rows", rows(t, "dml_mi"))
    go("upsert", lambda: src.mergeInto("dml_mi", on).whenMatched().updateAll().whenNotMatched().insertAll().merge())
    go("conditions", lambda: src.mergeInto("dml_mi", on).whenMatched(F.expr("s.v > 50")).update({"v": F.expr("s.v + 1"), "k": F.lit("m")}).whenMatched().delete().merge())
    go("insert", lambda: src.mergeInto("dml_mi", F.expr("dml_mi.id = s.id + 1000")).whenNotMatched(F.col("s.id") == 7).insert({"id": F.col("s.id") + F.lit(100), "k": F.lit("i")}).merge())
    go("by source", lambda: src.mergeInto("dml_mi", on).whenNotMatchedBySource(F.expr("dml_mi.id = 1")).delete().whenNotMatchedBySource(F.expr("dml_mi.id = 3")).update({"k": F.lit("three")}).merge())
    go("no clause", lambda: src.mergeInto("dml_mi", on).merge())
    go("no table", lambda: src.mergeInto("dml_none", F.lit(True)).whenMatched().delete().merge())
    go("evolution", lambda: src.withColumn("more", F.lit(5)).alias("s").mergeInto("dml_mi", on).withSchemaEvolution().whenMatched().updateAll().whenNotMatched().insertAll().merge())
    s.sql("drop table dml_mi")


def case_insert(t):
    """INSERT INTO: how many columns, and which types, of a table by its path and one of the catalog."""
    s = t.spark.sql
    s("drop table if exists dml_i"); s("create table dml_i (id int, k string, v double) using delta")
    for label, T in (("path", table(t, "t", COLS, [])), ("name", "dml_i")):
        r = lambda key, text: run(t, f"{label}: {key}", text.format(T=T), T)
        r("few", "insert into {T} values (1)"); r("many", "insert into {T} values (1, 'a', 1.0, 2)"); r("few of a query", "insert into {T} select 1 as id, 'a' as k"); r("many of a query", "insert into {T} select 1 as id, 'a' as k, 1.0d as v, 2 as w")
        r("overwrite few", "insert overwrite {T} values (1, 'a')"); r("list", "insert into {T} (k, id) values ('l', 10)"); r("list few", "insert into {T} (k, id) values ('l')"); r("list many", "insert into {T} (k) values ('l', 1)"); r("list unknown", "insert into {T} (nope) values (1)")
        r("text", "insert into {T} values ('5', 7, '1.5')"); r("wrong text", "insert into {T} values ('x', 'a', 1.0)"); r("wrong text of a query", "insert into {T} select 'x' as id, 'a' as k, 1.0d as v")
        r("long", "insert into {T} values (6L, 'a', 1)"); r("overflow", "insert into {T} values (3000000000, 'a', 1.0)"); r("double", "insert into {T} values (1.5d, 'a', 1.0)"); r("decimal", "insert into {T} values (1.5, 'a', 1.25)"); r("date", "insert into {T} values (date'2024-01-01', 'a', 1.0)"); r("timestamp to text", "insert into {T} values (8, timestamp'2024-01-01 00:00:00', 1.0)")
        r("boolean", "insert into {T} values (true, 'a', 1.0)"); r("array", "insert into {T} values (array(1), 'a', 1.0)"); r("text of array", "insert into {T} values (9, array(1), 1.0)")
        r("by name", "insert into {T} by name select 'n' as k, 11 as id"); r("by name text", "insert into {T} by name select 'x' as id"); r("by name extra", "insert into {T} by name select 12 as id, 1 as nope"); r("by name none", "insert into {T} by name select 1 as a, 2 as b, 3 as c")
        df = t.spark.range(1).selectExpr("cast(id as string) as id", "'f' as k", "1.0d as v")
        t.put(f"{label}: frame", t.error(lambda: df.coalesce(1).write.insertInto(T.replace("`", "`"))))
        t.put(f"{label}: frame few", t.error(lambda: df.select("id").write.insertInto(T)))
        t.put(f"{label}: append few", t.error(lambda: df.selectExpr("5 as id").coalesce(1).writeTo(T).append())); t.put(f"{label}: rows", rows(t, T))
    s("drop table dml_i")


def case_paths(t):
    """Writers and CREATE TABLE of a table that is named by its path."""
    from pyspark.sql import functions as F
    df = t.spark.range(2).selectExpr("cast(id as int) id", "'a' as k").coalesce(1)
    name = lambda n: f"delta.`{t.path(n)}`"
    def go(key, what, n="t"):
        t.put(key, t.error(what))
        if os.path.exists(t.path(n)):
            t.put(key + ".rows", rows(t, name(n)))
    go("append to nothing", lambda: df.writeTo(name("t")).append())
    go("insert into nothing", lambda: df.write.insertInto(name("t")))
    go("replace nothing", lambda: df.writeTo(name("t")).using("delta").replace())
    go("create", lambda: df.writeTo(name("t")).using("delta").create()); go("create again", lambda: df.writeTo(name("t")).using("delta").create())
    go("append", lambda: df.writeTo(name("t")).append()); go("overwrite", lambda: df.writeTo(name("t")).overwrite(F.lit(True))); go("overwrite some", lambda: df.writeTo(name("t")).overwrite(F.expr("id >= 0")))
    go("overwrite partitions", lambda: df.writeTo(name("t")).overwritePartitions()); go("insert", lambda: df.write.insertInto(name("t"))); go("insert overwrite", lambda: df.write.insertInto(name("t"), overwrite=True))
    go("replace", lambda: df.selectExpr("id as x").writeTo(name("t")).using("delta").replace()); go("create or replace", lambda: df.writeTo(name("t")).using("delta").createOrReplace())
    go("create or replace new", lambda: df.writeTo(name("n")).using("delta").createOrReplace(), "n")
    go("save as table", lambda: df.write.format("delta").mode("append").saveAsTable(name("t"))); go("save as table again", lambda: df.write.format("delta").saveAsTable(name("t"))); go("save as new table", lambda: df.write.format("delta").saveAsTable(name("s")), "s"); go("save over table", lambda: df.write.format("delta").mode("overwrite").saveAsTable(name("s")), "s")
    q = lambda text: lambda: t.rows(t.spark.sql(text))
    go("sql replace", q(f"create or replace table {name('t')} (id int, k string) using delta")); go("sql replace as", q(f"create or replace table {name('t')} using delta as select 1 as one")); go("sql replace only", q(f"replace table {name('u')} (id int) using delta"), "u"); go("sql create as", q(f"create table {name('u')} using delta partitioned by (k) as select 1 id, 'k' k"), "u")
    t.put("commits", [[c[0], c[1], c[3]] for c in commits(t, "t")]); t.put("commits s", [[c[0], c[1], c[3]] for c in commits(t, "s")][:1]); t.put("commits n", [[c[0], c[1]] for c in commits(t, "n")])


def case_computed(t):
    """UPDATE and MERGE of tables whose columns compute themselves: generated, with a default, numbering."""
    s = t.spark.sql
    for n in ("g", "d", "i", "b"):
        s(f"drop table if exists dml_{n}")
    s("create table dml_g (id int, v int, w int generated always as (v + 1), day date generated always as (date '2024-01-01')) using delta"); s("insert into dml_g (id, v) values (1, 1), (2, 2)")
    g = lambda key, text: run(t, key, text, "dml_g")
    g("update base", "update dml_g set v = 10 where id = 1"); g("update other", "update dml_g set id = 20 where id = 2"); g("update generated wrong", "update dml_g set w = 5 where id = 1"); g("update both", "update dml_g set v = 3, w = 4 where id = 1"); g("update to null", "update dml_g set v = null where id = 1")
    S = "(select 1 id, 7 v union all select 3, 30)"
    g("merge", f"merge into dml_g t using {S} s on t.id = s.id when matched then update set v = s.v when not matched then insert (id, v) values (s.id, s.v)"); g("merge star", f"merge into dml_g t using {S} s on t.id = s.id when matched then update set * when not matched then insert *")
    g("merge wrong", f"merge into dml_g t using {S} s on t.id = s.id when matched then update set t.w = 1 when not matched then insert (id, v, w) values (s.id, s.v, 0)")
    s("create table dml_d (id int, k string default 'none', n int default 1 + 1) using delta tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"); s("insert into dml_d (id) values (1)")
    d = lambda key, text: run(t, key, text, "dml_d")
    d("default update", "update dml_d set k = 'x', n = default where id = 1"); d("default merge", "merge into dml_d t using (select 1 id union all select 2) s on t.id = s.id when matched then update set k = default when not matched then insert (id) values (s.id)"); d("default merge given", "merge into dml_d t using (select 5 id) s on t.id = s.id when not matched then insert (id, k, n) values (s.id, default, null)")
    s("create table dml_i (id bigint generated always as identity, v int) using delta"); s("insert into dml_i (v) values (1), (2)"); s("create table dml_b (id bigint generated by default as identity, v int) using delta"); s("insert into dml_b (v) values (1)")
    i = lambda key, text, T="dml_i": run(t, key, text, T)
    i("identity update", "update dml_i set id = 9 where v = 1"); i("identity other", "update dml_i set v = 11 where v = 1"); i("identity merge update", "merge into dml_i t using (select 2 v) s on t.v = s.v when matched then update set id = 5"); i("identity merge given", "merge into dml_i t using (select 7 v) s on t.v = s.v when not matched then insert (id, v) values (1, s.v)"); i("identity by default update", "update dml_b set id = 9", "dml_b"); i("identity by default merge given", "merge into dml_b t using (select 7 v) s on t.v = s.v when not matched then insert (id, v) values (100, s.v)", "dml_b")
    d("default merge omitted", "merge into dml_d t using (select 6 id) s on t.id = s.id when not matched then insert (id) values (s.id)"); d("default merge star", "merge into dml_d t using (select 8 id, 'y' k) s on t.id = s.id when not matched then insert *"); d("default merge named star", "merge with schema evolution into dml_d t using (select 8 id, 'y' k) s on t.id = s.id when not matched then insert *")
    i("identity merge omitted", "merge into dml_i t using (select 70 v union all select 71) s on t.v = s.v when not matched then insert (v) values (s.v)"); i("identity insert behind", "insert into dml_i (v) values (80)"); i("identity merge star", "merge with schema evolution into dml_i t using (select 90 v) s on t.v = s.v when not matched then insert *")
    i("identity delete", "delete from dml_i where v = 2"); i("identity merge", "merge into dml_i t using (select 11 v) s on t.v = s.v when matched then update set v = 12")
    for n in ("g", "d", "i", "b"):
        s(f"drop table dml_{n}")
