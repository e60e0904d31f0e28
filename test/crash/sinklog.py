"""The log of a file sink."""
import json
import os


def files(folder):
    """The files that the log of a file sink adds: its last compact entry and what follows."""
    batches = {int(n.split(".")[0]): n for n in os.listdir(folder) if n.split(".")[0].isdigit()}
    compact = max((b for b, n in batches.items() if n.endswith(".compact")), default=0)
    paths = []
    for batch in sorted(b for b in batches if b >= compact):
        with open(os.path.join(folder, batches[batch]), encoding="utf-8") as f:
            version, *entries = f.read().splitlines()
        if version != "v1":
            raise ValueError(f"version {version} of {batches[batch]}")
        paths += [json.loads(e)["path"].removeprefix("file://") for e in entries]
    return paths
