"""Writes internal/plan/spark_errors.tsv: the error conditions of Spark 4.3.0, without their sentences.

    .venv/bin/python tools/sparkdata/errors.py > internal/plan/spark_errors.tsv

Run by hand; the output is committed. The list comes from the file that Spark ships inside its
common-utils jar, found through the installed pyspark package. Columns, separated by tabs:

condition   NAME, or NAME.SUB for a condition that has subconditions (NAME itself is listed as well)
sqlstate    five characters, a subcondition's own where it has one; empty for most _LEGACY_ conditions
parameters  names of the message's parameters in the order in which the message uses them, comma
            separated; for NAME.SUB those of the common sentence come first
"""

import json
import re
import zipfile
from pathlib import Path

import pyspark

PARAMETER = re.compile(r"<([a-zA-Z0-9_-]+)>")


def parameters(*messages):
    found = (name for lines in messages for line in lines for name in PARAMETER.findall(line))
    return ",".join(dict.fromkeys(found))


def rows(conditions):
    for name, told in conditions.items():
        state, sentence = told.get("sqlState", ""), told["message"]
        yield name, state, parameters(sentence)
        for sub, more in told.get("subClass", {}).items():
            yield f"{name}.{sub}", more.get("sqlState", state), parameters(sentence, more["message"])


def main():
    jars = Path(pyspark.__file__).parent / "jars"
    (jar,) = jars.glob(f"spark-common-utils_*-{pyspark.__version__}.jar")
    with zipfile.ZipFile(jar) as archive:
        conditions = json.loads(archive.read("error/error-conditions.json"))
    print("# Error conditions of Apache Spark", pyspark.__version__)
    print("# Written by tools/sparkdata/errors.py, which explains the columns.")
    print("# condition\tsqlstate\tparameters")
    for row in sorted(rows(conditions)):
        print("\t".join(row))


if __name__ == "__main__":
    main()
