#!/usr/bin/env python3
"""The official Python package `cohere`, unmodified, against a running service over the shop of the tests.

usage: CO_API_URL=http://127.0.0.1:7878 CO_API_KEY=KEY cohere_client.py answers|errors|busy

The package needs a key; a service without keys takes any. `errors` needs a service with a read key, `busy` one that
refuses all requests.
"""
import asyncio
import os
import sys

import cohere
from cohere.core.api_error import ApiError

DOCUMENTS = ["trainers for running", "a hat for the sun", "another hat"]
# The default of the package repeats refused requests.
ONCE = {"max_retries": 0}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


def order(response):
    return [result.index for result in response.results]


def rerank(client, **settings):
    return client.rerank(**{"model": "any", "query": "hat sun", "documents": DOCUMENTS, "request_options": ONCE, **settings})


def raised(kind, act):
    """Returns the error that a call raises; any other end is a failure."""
    try:
        answer = act()
    except ApiError as error:
        check(type(error) is kind, f"{kind.__name__} expected: {error}")
        return error
    sys.exit(f"FAILED: {kind.__name__} expected, answered {answer}")


def answers():
    v2 = cohere.ClientV2()
    response = rerank(v2)
    check(order(response) == [1, 2, 0], f"v2 orders the documents: {order(response)}")
    scores = [result.relevance_score for result in response.results]
    check(1 > scores[0] > scores[1] > scores[2] == 0.5, f"v2 scores are in [0, 1] and fall: {scores}")
    check(len(response.id) == 36 and response.meta.api_version.version == "2", "v2 has an id and a version")
    check(order(rerank(v2, top_n=1, max_tokens_per_doc=100)) == [1], "v2 keeps top_n")

    response = rerank(v2, query="sun", relevant_spans={"mode": "enabled"})
    [span] = response.results[0].relevant_spans
    check(DOCUMENTS[1][span.start:span.end] == "sun" and span.score == 1, "v2 spans are code points")

    v1 = cohere.Client()
    response = rerank(v1, return_documents=True)
    check([result.document.text for result in response.results] == [DOCUMENTS[i] for i in (1, 2, 0)], "v1 returns documents")
    check(response.meta.api_version.version == "1", "v1 has a version")
    check(order(rerank(v1, documents=[{"text": "trainers"}, {"text": "hat"}], top_n=2)) == [1, 0], "v1 takes objects")
    documents = [{"text": "hat", "title": "trainers"}, {"text": "trainers", "title": "hat"}]
    check(order(rerank(v1, documents=documents, rank_fields=["title"])) == [1, 0], "v1 takes rank_fields")

    # d0 is called "trainers" and was clicked for "cheap sneaker": its words alone would not find it.
    documents = [{"id": "d1"}, {"id": "d0"}, {"id": "new", "text": "hat"}]
    for name, client in [("v1", v1), ("v2", v2)]:
        response = rerank(client, model="rmls", query="cheap sneaker", documents=documents)
        check(order(response)[0] == 1, f"{name} takes ids, which have their clicks: {order(response)}")

    async def together():
        client = cohere.AsyncClientV2()
        return await asyncio.gather(*(rerank(client) for _ in range(20)))

    check(all(order(response) == [1, 2, 0] for response in asyncio.run(together())), "20 requests at a time")


def errors():
    for kind in [cohere.ClientV2, cohere.Client]:
        client = kind()
        error = raised(cohere.UnprocessableEntityError, lambda: rerank(client, documents=[]))
        check(error.status_code == 422 and "empty" in str(error.body), f"an empty list is refused: {error.body}")
        error = raised(cohere.UnprocessableEntityError, lambda: rerank(client, query=" "))
        check("query is empty" in str(error.body), f"an empty query is refused: {error.body}")
        error = raised(ApiError, lambda: rerank(client, documents=["hat"] * 10_001))
        check(error.status_code == 413 and "10001" in str(error.body), f"a long list is refused: {error.body}")
        raised(cohere.UnauthorizedError, lambda: rerank(kind(api_key="wrong-key-0123456789")))
        raised(cohere.NotFoundError, lambda: rerank(kind(base_url=os.environ["CO_API_URL"] + "/nowhere")))


def busy():
    for client in [cohere.ClientV2(), cohere.Client()]:
        error = raised(cohere.TooManyRequestsError, lambda: rerank(client))
        check(error.headers["retry-after"] == "1", "a busy service says when to come again")


{"answers": answers, "errors": errors, "busy": busy}[sys.argv[1]]()
