#!/usr/bin/env python3
"""The package `tei-client` for Text Embeddings Inference, unmodified, against a running service over the shop of the tests.

usage: SERVICE_URL=http://127.0.0.1:7878 SERVICE_KEY=KEY tei_http_client.py

The service has a read key.
"""
import asyncio
import os
import sys

import httpx
from pydantic import ValidationError
from tei_client import HttpClient, ModelType

URL = os.environ["SERVICE_URL"]
KEY = {"Authorization": f"Bearer {os.environ['SERVICE_KEY']}"}
TEXTS = ["trainers for running", "a hat for the sun", "another hat"]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


def raised(kind, act):
    """Returns the error that a call raises; any other end is a failure."""
    try:
        answer = act()
    except kind as error:
        return error
    sys.exit(f"FAILED: {kind.__name__} expected, answered {answer}")


def answers():
    client = HttpClient(URL, headers=KEY)
    check(client.health(), "the service is healthy")
    info = client.info()
    check(info.server_model_type == ModelType.Reranker and info.server_model_id == "bm25", f"it serves a reranker: {info}")
    check(info.max_client_batch_size == 10_000, "it says how many texts a request may have")

    ranks = client.rerank("hat sun", TEXTS, return_text=True).ranks
    check([rank.index for rank in ranks] == [1, 2, 0], f"texts are ordered: {ranks}")
    check([rank.text for rank in ranks] == [TEXTS[rank.index] for rank in ranks], "texts are returned")
    check(1 > ranks[0].score > ranks[1].score > ranks[2].score == 0.5, "scores are in [0, 1] and fall")
    raw = client.rerank("hat sun", TEXTS, raw_scores=True, truncate=True).ranks
    check([rank.index for rank in raw] == [1, 2, 0] and raw[2].score == 0, f"raw scores are those of the model: {raw}")
    check(all(rank.text is None for rank in raw), "texts are returned on demand only")

    async def together():
        client = HttpClient(URL, headers=KEY)
        return await asyncio.gather(*(client.async_rerank("hat sun", TEXTS) for _ in range(20)))

    # The client asks for the type of the model with its blocking half.
    found = [[rank.index for rank in answer.ranks] for answer in asyncio.run(together())]
    check(found == [[1, 2, 0]] * 20, "20 requests at a time")


def errors():
    # The client takes no notice of the status, so it fails on the body of an error.
    raised(ValidationError, lambda: HttpClient(URL, headers=KEY).rerank("hat", []))
    # Its own settings of httpx make the status an error, whose body is read before the connection is closed.
    hooks = {"response": [httpx.Response.read, httpx.Response.raise_for_status]}
    client = HttpClient(URL, headers=KEY, event_hooks=hooks)
    for query, texts, status, message in [
        ("hat", [], 422, "empty"),
        (" ", ["hat"], 422, "query is empty"),
        ("hat", ["hat"] * 10_001, 413, "10001"),
    ]:
        error = raised(httpx.HTTPStatusError, lambda: client.rerank(query, texts))
        body = error.response.json()
        check(error.response.status_code == status and message in body["error"], f"{status}: {body}")
        check(body["error_type"] == "Validation", "the error has the type that clients know")
    error = raised(httpx.HTTPStatusError, lambda: HttpClient(URL, event_hooks=hooks).rerank("hat", TEXTS))
    check(error.response.status_code == 401, "without the key nothing is answered")


answers()
errors()
