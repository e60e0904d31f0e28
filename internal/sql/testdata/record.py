"""Ask Apache Spark's parser about texts and write what it says.

    python record.py verdicts < texts.jsonl | gzip -9n > verdicts.jsonl.gz
    python record.py trees < texts.jsonl | gzip -9n > trees.jsonl.gz

A line of texts is {"k": kind, "t": text}, kind one of plan, expr. Verdicts say
whether the text parses, and the error when it does not: condition, parameters,
line, position, and the fragment of the query context. Trees are the parsed
tree without marks of what is unresolved, expression ids and
unresolvedalias(…); depth is one blank a level. Needs pyspark 4.3.0 and Java 17.
"""

import json
import re
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
parser = spark._jsparkSession.sessionState().sqlParser()


def parse(kind, text):
    tree = parser.parsePlan(text) if kind == "plan" else parser.parseExpression(text)
    return tree.toString()


def failure(error):
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    out = {"class": java.getClass().getSimpleName(), "cond": java.getCondition()}
    params = java.getMessageParameters()
    out["params"] = {k: params[k] for k in params}
    try:
        out["line"], out["pos"] = java.line().get(), java.startPosition().get()
    except Exception:
        pass
    try:
        start = java.start()
        out["line"], out["pos"] = start.line().get(), start.startPosition().get()
    except Exception:
        pass
    context = [[c.startIndex(), c.stopIndex()] for c in java.getQueryContext()]
    if context:
        out["context"] = context[0]
    return out


def unwrap(text, call):
    """Replace call(x) by x."""
    while call in text:
        start = text.index(call)
        depth, end = 1, start + len(call)
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[:start] + text[start + len(call):end - 1] + text[end:]
    return text


def plain(tree):
    lines = []
    for line in tree.rstrip("\n").split("\n"):
        rest = re.sub(r"^(?:[ :]  )*(?:[+:]- )?", "", line)
        lines.append(" " * ((len(line) - len(rest)) // 3) + rest)
    text = re.sub(r"#\d+L?", "", "\n".join(lines)).replace("'", "")
    return unwrap(unwrap(text, "unresolvedalias("), "unresolvedordinal(")


for line in sys.stdin:
    item = json.loads(line)
    out = {"k": item["k"], "t": item["t"]}
    try:
        tree = parse(item["k"], item["t"])
        if sys.argv[1] == "trees":
            out["tree"] = plain(tree) if item["k"] == "plan" else re.sub(r"#\d+L?", "", tree).replace("'", "")
    except Exception as error:
        if sys.argv[1] == "trees":
            continue
        out.update(failure(error))
    print(json.dumps(out, ensure_ascii=False))
