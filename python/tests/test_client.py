"""The client against the real service."""

from __future__ import annotations

import json
import subprocess
import threading

import matchrank as mr
import pytest


@pytest.fixture(scope="module")
def service(program, shop, tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    mr.Bm25().fit(shop).save(folder / "words.model")
    mr.Pls(d=8).fit(shop).save(folder / "pls.model")
    mr.Pls(d=4).fit(shop).save(folder / "pls-2.model")
    (folder / "key").write_text("k" * 40)
    (folder / "write").write_text("w" * 40)
    for name in ("key", "write"):
        (folder / name).chmod(0o600)
    command = [
        program.path, "serve", "--data", shop.path, "--model", folder / "pls.model", "--model", folder / "words.model",
        "--listen", "127.0.0.1:0", "--state", folder / "state",
        "--read-key-file", folder / "key", "--write-key-file", folder / "write",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = process.stdout.readline().split()[-1]
    yield url
    process.terminate()
    process.wait(timeout=20)


@pytest.fixture
def client(service):
    with mr.Client(service, "w" * 40) as client:
        yield client


def test_searches_are_those_of_the_model(client, shop):
    model = mr.Bm25().fit(shop)
    found = client.search("red shoes", top=5, model="words")
    table = model.rank("red shoes", k=5)
    assert [hit["id"] for hit in found["hits"]] == list(table["document"])
    assert [hit["score"] for hit in found["hits"]] == pytest.approx(table["score"].tolist(), rel=1e-5)
    assert found["model"] == {"name": "words", "version": 1}
    two = client.search("red shoes", top=3, first_stage=["words"], depth=50, explain=True)
    assert two["proposed"] <= 50 and "explanation" in two["hits"][0]


def test_candidates_explanations_and_comparisons(client):
    best = [hit["id"] for hit in client.search("red shoes", top=2)["hits"]]
    ranked = client.rank("red shoes", [best[1], {"text": "red shoes"}, {"id": "new", "text": "blue hat"}], top=2)
    assert len(ranked["results"]) == 2 and {"index", "score"} <= ranked["results"][0].keys()
    why = client.explain("red shoes", best[0], against=best[1], model="words")
    assert why["parts"] and "against" in why
    both = client.compare("red shoes", ["pls", "words"], top=3)
    assert [model["model"]["name"] for model in both["models"]] == ["pls", "words"]


def test_documents_change(client):
    assert client.put_document("n/1", {"title": "purple zebrashoe"})["changed"] == 1
    assert client.document("n/1")["fields"]["title"] == "purple zebrashoe"
    assert client.document("n/1")["is_new"]
    client.change_documents({"n2": {"title": "purple"}}, delete=["n/1"])
    with pytest.raises(mr.ServiceError) as error:
        client.document("n/1")
    assert error.value.status == 404 and error.value.details["error"]["code"]
    client.delete_document("n2")


def test_events_are_kept_and_exported(client):
    document = client.search("red shoes", top=1)["hits"][0]["id"]
    events = [
        {"event": "search", "search": "s1", "query": "red shoes", "shown": [document], "id": "e1"},
        {"event": "click", "search": "s1", "document": document, "position": 1, "id": "e2"},
    ]
    assert client.events(events)["accepted"] == 2
    assert client.events(events)["duplicates"] == 2
    lines, last = client.export("clicks")
    rows = [json.loads(line) for line in lines]
    assert {row["document"] for row in rows} == {document} and last > 0
    later, again = client.export("clicks", since=last)
    assert list(later) == [] and again == last


def test_versions_of_models(client):
    state = client.activate("pls", "pls-2.model", reason="a test")
    assert state["current"]["version"] == 2
    assert client.rollback("pls")["current"]["version"] == 1
    assert client.models()["models"]
    assert client.is_ready() and "matchrank_requests_total" in client.metrics()


def test_failures_say_what_to_do(client, service):
    with pytest.raises(mr.ServiceError, match="1 to 1000 documents") as error:
        client.search("x", top=0)
    assert error.value.status == 400 or error.value.status == 422
    with pytest.raises(mr.ServiceError) as refused:
        mr.Client(service, "wrong").search("x")
    assert refused.value.status in (401, 403)
    with pytest.raises(mr.ServiceError):
        mr.Client(service, "k" * 40).put_document("a", {"title": "b"})
    with pytest.raises(mr.ServiceError, match="is the service running"):
        mr.Client("http://127.0.0.1:9").search("x")
    with pytest.raises(mr.ParameterError, match="is no address"):
        mr.Client("ftp://x")
    with pytest.raises(mr.InputTypeError, match="as JSON"):
        client.put_document("a", {"title": {1, 2}})
    assert not mr.Client("127.0.0.1:9").is_ready()


def test_many_threads_share_a_client(client):
    expected = client.search("red shoes")["hits"]
    found = []
    threads = [threading.Thread(target=lambda: found.append(client.search("red shoes")["hits"])) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [expected] * 8
