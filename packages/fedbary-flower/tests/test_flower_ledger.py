"""A message of Flower's that cannot be read is in the owner's ledger."""

import json

import pandas as pd

from fedbary.guard.ledger import Ledger


def test_an_unreadable_message_is_in_the_ledger(tmp_path):
    from flwr.app import ConfigRecord, Context, RecordDict
    from flwr.app import Message as FlowerMessage

    from fedbary_flower.client_app import app
    from inprocess import be_a_task

    be_a_task()
    pd.DataFrame({"x": range(60), "label": ["no", "yes"] * 30}).to_csv(tmp_path / "mine.csv", index=False)
    config = {"data-path": str(tmp_path / "mine.csv"), "state-path": str(tmp_path / "state"), "table": "mine"}
    content = RecordDict({"fedbary": ConfigRecord({"version": "another"})})
    message = FlowerMessage(content, dst_node_id=7, message_type="query.ask")
    reply = app(message, Context(1, 7, config, RecordDict(), {}))
    assert json.loads(reply.content["fedbary"]["note"])["code"] == "engines.other-version"
    entries = Ledger(tmp_path / "state" / "mine" / "ledger.jsonl").read().entries
    assert [entry.what for entry in entries] == ["refusal"]
