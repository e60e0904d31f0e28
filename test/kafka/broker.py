"""Small deterministic helpers over a real broker: topics, records with fixed timestamps, transactions, truncation."""
import time
from confluent_kafka import Producer, Consumer, TopicPartition
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions,
                                   NewTopic)

T0 = 1_700_000_000_000          # every record's timestamp counts from here (2023-11-14T22:13:20Z)


class Broker:
    def __init__(self, address):
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})

    def create(self, topic, partitions=1, **config):
        self.drop(topic)
        config.setdefault("retention_ms", -1)      # fixed timestamps lie in the past: the default retention would delete the records
        for _ in range(50):
            try:
                f = self.admin.create_topics([NewTopic(topic, partitions, 1, config={k.replace("_", "."): str(v) for k, v in config.items()})])
                f[topic].result(20)
                break
            except Exception:
                time.sleep(0.2)
        self.settle(lambda: len(self.parts(topic)) == partitions)
        return topic

    def parts(self, topic):
        t = self.admin.list_topics(timeout=10).topics.get(topic)
        return [] if t is None or t.error else list(t.partitions)

    def settle(self, cond, seconds=20):
        end = time.time() + seconds
        while not cond():
            if time.time() > end:
                raise TimeoutError("broker did not settle")
            time.sleep(0.1)

    def drop(self, topic):
        if topic in self.admin.list_topics(timeout=10).topics:
            self.admin.delete_topics([topic])[topic].result(20)
            self.settle(lambda: topic not in self.admin.list_topics(timeout=10).topics)

    def grow(self, topic, total):
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(20)
        self.settle(lambda: len(self.parts(topic)) == total)

    def send(self, topic, records, **conf):
        """records: dicts with value, and optionally key, partition, ts (ms after T0), headers; order is kept per partition."""
        p = Producer({"bootstrap.servers": self.address, "linger.ms": 0, "enable.idempotence": False, **conf})
        for i, r in enumerate(records):
            p.produce(topic, value=r.get("value"), key=r.get("key"), partition=r.get("partition", 0),
                      timestamp=T0 + r.get("ts", i * 1000), headers=r.get("headers"))
        assert p.flush(30) == 0

    def seq(self, topic, count, partition=0, first=0, step_ms=1000):
        self.send(topic, [{"value": f"v{partition}-{i}", "key": f"k{i}", "partition": partition, "ts": i * step_ms}
                          for i in range(first, first + count)])

    def transaction(self, topic, values, txid, commit, partition=0, ts=0):
        p = Producer({"bootstrap.servers": self.address, "transactional.id": txid})
        p.init_transactions(30)
        p.begin_transaction()
        for v in values:
            p.produce(topic, value=v, partition=partition, timestamp=T0 + ts)
        p.flush(30)
        p.commit_transaction(30) if commit else p.abort_transaction(30)

    def configure(self, topic, **config):
        """Changes settings of a topic."""
        r = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[
            ConfigEntry(k.replace("_", "."), str(v), incremental_operation=AlterConfigOpType.SET) for k, v in config.items()])
        self.admin.incremental_alter_configs([r])[r].result(20)

    def truncate(self, topic, partition, before):
        """Deletes the records below an offset, as retention would."""
        tp = TopicPartition(topic, partition, before)
        list(self.admin.delete_records([tp]).values())[0].result(20)

    def ends(self, topic):
        c = Consumer({"bootstrap.servers": self.address, "group.id": "probe", "enable.auto.commit": False})
        out = {p: list(c.get_watermark_offsets(TopicPartition(topic, p), timeout=10)) for p in sorted(self.parts(topic))}
        c.close()
        return out

    def read(self, topic, isolation="read_uncommitted"):
        """Everything in a topic, as sorted [partition, offset, key, value, headers, timestamp type]."""
        c = Consumer({"bootstrap.servers": self.address, "group.id": "probe", "enable.auto.commit": False,
                      "isolation.level": isolation, "enable.partition.eof": True})
        ps = self.parts(topic)
        c.assign([TopicPartition(topic, p, 0) for p in ps])
        out, eof = [], set()
        end = time.time() + 20
        while len(eof) < len(ps) and time.time() < end:
            m = c.poll(0.5)
            if m is None:
                continue
            if m.error():
                eof.add(m.partition())
                continue
            out.append([m.partition(), m.offset(), text(m.key()), text(m.value()),
                        None if m.headers() is None else [[k, text(v)] for k, v in m.headers()]])
        c.close()
        return sorted(out, key=lambda r: (r[0], r[1]))


def text(b):
    return None if b is None else b.decode("utf8", "backslashreplace")
