"""Inputs of other shapes than the usual ones, and what must not be lost."""

from __future__ import annotations

import select
import threading
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import matchrank as mr
import numpy as np
import pytest

from conftest import made_lists


def test_fields_of_packed_records_are_read_as_they_are():
    x, y, qid = made_lists(20, 1)
    records = np.zeros(len(x), dtype=[("number", "i2"), ("x", "f4", (x.shape[1],))])
    records["x"] = x
    ranker = mr.RankSVM(lambda_=0.1).fit(records["x"], y, qid)
    plain = mr.RankSVM(lambda_=0.1).fit(x, y, qid)
    assert (ranker.coef_ == plain.coef_).all()
    assert (ranker.predict(records["x"]) == plain.predict(x)).all()
    assert (plain.predict(x[::-1]) == plain.predict(x)[::-1]).all()


def test_numbers_whose_code_changes_the_dictionary_block_nothing():
    class Number(Fraction):
        def __float__(self):
            run.setdefault("other", {"d0": 0.5})
            return super().__float__()

    run = {f"q{i}": {f"d{j}": Number(j, 7) for j in range(20)} for i in range(200)}
    qrels = {f"q{i}": {"d1": 1} for i in range(200)}
    assert 0 < mr.evaluate(qrels, run, "map")["map"] < 1
    assert mr.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "map")["map"] == 1
    assert mr.evaluate(qrels, run, "map")["map"] > 0


def test_another_dataset_is_ranked_beside_the_own_one(shop, tmp_path):
    texts = {field: "a sofa" for field in shop.fields if field != "title"}
    records = [{"id": f"x{i}", "title": f"red sofa number {i}", **texts} for i in range(5)]
    other = mr.Dataset.ingest(
        clicks=[{"query": "red sofa", "document": "x1", "clicks": 1}], documents=records, text=list(shop.fields), out=tmp_path / "other"
    )
    model = mr.Bm25().fit(shop)
    own = list(model.rank("red sofa")["document"])
    found = list(model.rank("red sofa", dataset=other)["document"])
    assert set(found) <= {f"x{i}" for i in range(5)} and found
    assert list(model.rank("red sofa")["document"]) == own
    assert model.dataset == shop


def test_lists_of_files_are_read_only_and_keep_their_queries(tmp_path):
    path = tmp_path / "lists.txt"
    path.write_text("".join(f"{i % 3} qid:{i // 5} 1:{i % 7} 2:{i % 4}\n" for i in range(60)))
    lists = mr.read_letor(path)
    for array in (lists.X, lists.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    ranker = mr.Ridge(lambda_=1.0).fit(lists)
    assert (ranker.predict(lists) == ranker.predict(lists.X)).all()
    # Other queries than those of the file are taken as they are given.
    as_one = mr.RankSVM(lambda_=1.0).fit(lists, qid=np.zeros(60, int))
    assert (as_one.coef_ == mr.RankSVM(lambda_=1.0).fit(lists.X, lists.y, np.zeros(60, int)).coef_).all()
    far = tmp_path / "far.txt"
    far.write_text("".join(f"{i % 2} qid:{i // 5} 9999999:1\n" for i in range(3_000_000 // 1000)))
    assert "9,999,999 features" in repr(mr.read_letor(far))


@pytest.mark.parametrize("group", [[1.5, 2.5], ["a", "b"], [float("nan"), 4], [-1, 5]])
def test_groups_are_whole_numbers(group):
    x, y, _ = made_lists(1, 3)
    with pytest.raises(mr.Error, match="group"):
        mr.RankSVM(lambda_=1.0).fit(x[:4], y[:4], group=group)


class _Service(BaseHTTPRequestHandler):
    """Exports lines slowly enough for other requests in between, and breaks one export off."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        lines = b"".join(b'{"line":%d}\n' % i for i in range(50_000))
        self.send_response(200)
        self.send_header("Content-Length", str(len(lines)))
        self.send_header("x-last-sequence", "7")
        self.end_headers()
        self.wfile.write(lines[:1000] if "broken" in self.path else lines)
        self.close_connection = True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        # The next request of a kept connection finds it closed.
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def stub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_export_is_whole_or_an_error(stub):
    with mr.Client(stub) as client:
        lines, last = client.export()
        assert next(lines) == '{"line":0}'
        assert client.events([]) == {} and client.search("x") == {}
        assert (last, sum(1 for _ in lines)) == (7, 49_999)
        lines, _ = client.export(of="broken")
        with pytest.raises(mr.ServiceError, match="export again"):
            list(lines)


def test_a_closed_connection_is_replaced(stub):
    with mr.Client(stub) as client:
        for _ in range(3):
            assert client.events([{"event": "click"}]) == {}
            # The service closes the connection after its answer.
            while not select.select([client._local.connection.sock], [], [], 60)[0]:
                raise AssertionError("the connection stays open")


@pytest.mark.parametrize(("url", "key"), [("http://h:99999", None), ("http://h", "a\n"), ("http://h", "é")])
def test_addresses_and_keys_that_are_none(url, key):
    with pytest.raises(mr.ParameterError):
        mr.Client(url, key)


def test_a_display_that_fails_ends_no_training(shop, monkeypatch):
    calls = []

    def broken():
        calls.append(1)
        raise BrokenPipeError("the terminal was closed")

    monkeypatch.setattr("matchrank._progress.display", broken)
    for tuples in (2_000_000, 20_000_000):
        mr.SparsePreference(tuples=tuples, margin=0.3, c=0.1, lambda_=1e-6).fit(shop)
        if calls:
            break
    assert len(calls) == 1
