"""Writes internal/session/settings/spark_confs.tsv: every configuration key that Spark 4.3.0 declares.

    .venv/bin/python tools/sparkdata/confs.py > internal/session/settings/spark_confs.tsv

Run by hand, with Java on the PATH; the output is committed. Each line is what a running Spark says of one
key: its registries are asked through py4j, and so is the session's own conf.get. Documentation texts are
not taken. One line per key, sorted; lines beginning with # are remarks. Columns, separated by tabs:

key        the key
kind       sql      a key of SQLConf, settable in a session unless it is static
           core     a key of Spark's core: `set` is refused (CANNOT_MODIFY_CONFIG), `get` of one that was not
                    given at start is SQL_CONF_NOT_FOUND
           removed  a key of an earlier version; setting it to anything but its default is an error
type       string, boolean, int, long, double, `time in SECONDS`, `bytes in MiB`, …: Spark's confType words
flags      letters: s static, m modifiable (isModifiable), p public, d deprecated, c computed when the server
           starts, so that the default below is only what one machine said; - stands for none
get        what conf.get answers while the key is not set: a text, \\N for an answer without value, or \\E
           when the call fails with SQL_CONF_NOT_FOUND. ${cwd} is the server's working directory, ${host} its
           address. Sizes and times come as Spark prints them after parsing (`134217728b`, `900000ms`)
default    the declared default; \\N when there is none. For a removed key: the value that may still be set
fallback   the key whose value is taken while this one is not set
alternatives  earlier names of the key, comma separated
              (\\t, \\n and \\\\ in a text stand for tab, line feed and backslash)
check      which values are accepted, found by trying: `options:A, B` (case as Spark prints it),
           `range:LOW..HIGH` (either end may be missing) or `requirement` for a rule that trying does not
           reveal; empty when every value of the type is accepted

A Connect server answers the same, but for keys it was given at start and for two more: it hides
spark.connect.authenticate.token (\\E) and sets spark.sql.artifact.isolation.alwaysApplyClassloader to true.
"""

import os
import sys
import tempfile

import py4j.java_gateway
from py4j.protocol import Py4JJavaError, get_return_value
from pyspark.sql import SparkSession

# The objects of Spark's jars that declare keys. The two of Kubernetes and YARN are left out: a server on
# one machine never loads them.
DECLARING = """
org.apache.spark.sql.internal.SQLConf
org.apache.spark.sql.internal.StaticSQLConf
org.apache.spark.sql.connect.config.Connect
org.apache.spark.sql.hive.HiveUtils
org.apache.spark.streaming.StreamingConf
org.apache.spark.internal.config.Deploy
org.apache.spark.internal.config.History
org.apache.spark.internal.config.Kryo
org.apache.spark.internal.config.Network
org.apache.spark.internal.config.Python
org.apache.spark.internal.config.R
org.apache.spark.internal.config.Status
org.apache.spark.internal.config.Streaming
org.apache.spark.internal.config.UI
org.apache.spark.internal.config.Worker
org.apache.spark.internal.config.package
""".split()

LIMITS = {"int": (-(2**31), 2**31 - 1), "double": (-1e300, 1e300)}
LONGS = (-(2**63), 2**63 - 1)
NEAR_ZERO = [-1000, -100, -10, -2, -1, 0, 1, 2, 3, 5, 7, 10, 16, 100, 1000, 1024]


def scala_object(jvm, name):
    """Returns the singleton behind a Scala `object`."""
    package, _, cls = name.rpartition(".")
    node = jvm
    for part in package.split("."):
        node = getattr(node, part)
    return getattr(getattr(node, cls + "$"), "MODULE$")


def scala_items(seq):
    it = seq.iterator()
    while it.hasNext():
        yield it.next()


def told(exception):
    """Returns condition and parameters; exceptions that are not Spark's own have neither."""
    gateway = SparkSession.getActiveSession().sparkContext._gateway
    if not py4j.java_gateway.is_instance_of(gateway, exception, "org.apache.spark.SparkThrowable"):
        return None, {}
    return exception.getCondition(), dict(exception.getMessageParameters())


class Key:
    """One ConfigEntry and what can be learned of it."""

    def __init__(self, entry, conf, sql_conf):
        self.entry, self.conf = entry, conf
        self.key = entry.key()
        self.shape = entry.getClass().getSimpleName()
        self.is_sql = sql_conf.containsConfigKey(self.key)
        self.is_static = sql_conf.isStaticConfigKey(self.key)
        self.is_deprecated = sql_conf.deprecatedSQLConfigs().contains(self.key)
        self.type, self.options, self.ruled = self.find_type()

    def refusal(self, text):
        """Returns None when the key takes the text, else the Java exception."""
        try:
            self.entry.valueConverter().apply(text)
        except Py4JJavaError as e:
            return e.java_exception
        except ValueError:
            pass  # accepted, but of a class that py4j cannot bring over
        return None

    def find_type(self):
        """Asks with a text that no type but string takes: the refusal names the type."""
        refused = self.refusal("no such value")
        if refused is None:
            return "string", None, False
        condition, parameters = told(refused)
        if condition == "INVALID_CONF_VALUE.TYPE_MISMATCH":
            return parameters["confType"], None, False
        if condition == "INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS":
            return "string", parameters["confOptions"], False
        return "string", None, True

    def check(self):
        if self.options:
            return "options:" + self.options
        if self.ruled:
            return "requirement"
        if self.type in ("string", "boolean"):
            return ""
        return self.numeric_check()

    def numeric_check(self):
        cast = float if self.type == "double" else int
        takes = lambda n: self.refusal(repr(cast(n))) is None
        low, high = LIMITS.get(self.type, LONGS)
        # Big counts of a large unit overflow inside the converter; stay clear of that.
        if self.type.startswith(("time", "bytes")):
            low, high = -(2**40), 2**40
        tried = {n: takes(n) for n in [low, *NEAR_ZERO, high]}
        inside = [n for n in tried if tried[n]]
        if len(inside) == len(tried):
            return ""
        if not inside:
            return "requirement"
        least, most = min(inside), max(inside)
        below, above = (n for n in tried if n < least), (n for n in tried if n > most)
        least = edge(takes, max(below, default=least), least, cast)
        most = edge(takes, min(above, default=most), most, cast)
        if any(tried[n] != (least <= n <= most) for n in tried):
            return "requirement"
        left = "" if least == low else repr(cast(least))
        right = "" if most == high else repr(cast(most))
        return f"range:{left}..{right}"

    def get(self):
        try:
            value = self.conf.get(self.key)
        except Py4JJavaError as e:
            if told(e.java_exception)[0] != "SQL_CONF_NOT_FOUND":
                raise
            return "\\E"
        return "\\N" if value is None else value

    def fallback(self):
        if self.shape != "FallbackConfigEntry":
            return ""
        field = self.entry.getClass().getDeclaredField("fallback")
        field.setAccessible(True)
        return field.get(self.entry).key()

    def flags(self):
        letters = "s" * self.is_static + "m" * self.conf.isModifiable(self.key)
        letters += "p" * self.entry.isPublic() + "d" * self.is_deprecated
        letters += "c" * (self.shape == "ConfigEntryWithDefaultFunction")
        return letters or "-"

    def row(self, given):
        default = self.entry.defaultValueString()
        if default == "<undefined>" or self.shape == "FallbackConfigEntry":
            default = "\\N"
        # What this very run was started with says nothing about the default.
        get = self.get()
        if self.key in given:
            get = default if self.is_sql else "\\E"
        return [
            self.key,
            "sql" if self.is_sql else "core",
            self.type,
            self.flags(),
            get,
            default,
            self.fallback(),
            ",".join(scala_items(self.entry.alternatives())),
            self.check(),
        ]


def edge(takes, outside, inside, cast):
    """Bisects to the last accepted number between a refused and an accepted one."""
    while outside != inside:
        middle = (outside + inside) / 2 if cast is float else (outside + inside) // 2
        if middle in (outside, inside):
            break
        if takes(middle):
            inside = middle
        else:
            outside = middle
    return inside


def removed_rows(sql_conf):
    for removed in scala_items(sql_conf.removedSQLConfigs().values()):
        yield [removed.key(), "removed", "string", "-", "\\E", removed.defaultValue(), "", "", ""]


def clean(text, cwd, host):
    """Takes out what this machine added; \\N and \\E stay, and the format's own characters are escaped."""
    if text in ("\\N", "\\E"):
        return text
    text = text.replace(cwd, "${cwd}").replace(host, "${host}")
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def main():
    cwd = tempfile.mkdtemp()
    os.chdir(cwd)
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    # PySpark's hook fetches stack traces for every refusal, and there are ten thousands of them.
    py4j.java_gateway.get_return_value = get_return_value
    jvm = spark._jvm
    for name in DECLARING:
        scala_object(jvm, name)
    registry = scala_object(jvm, "org.apache.spark.internal.config.ConfigEntry")
    sql_conf = scala_object(jvm, "org.apache.spark.sql.internal.SQLConf")
    entries = dict(registry.knownConfigs().items())
    for declared in registry.listAllProtoDefinedConfigs().toArray():
        entry = registry.findEntry(declared.key())
        entries[entry.key()] = entry
    given = {pair[0] for pair in spark.sparkContext.getConf().getAll()}
    conf = spark._jsparkSession.conf()
    rows = list(removed_rows(sql_conf))
    for entry in entries.values():
        rows.append(Key(entry, conf, sql_conf).row(given))
    rows.sort()
    host = spark.sparkContext.getConf().get("spark.driver.host")
    print("# Configuration keys of Apache Spark", spark.version, "as its own registries tell them.")
    print("# Written by tools/sparkdata/confs.py, which explains the columns.")
    print("# " + "\t".join("key kind type flags get default fallback alternatives check".split()))
    for row in rows:
        print("\t".join(clean(field, cwd, host) for field in row))
    print(len(rows), "keys", file=sys.stderr)
    spark.stop()


if __name__ == "__main__":
    main()
