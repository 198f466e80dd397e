#!/usr/bin/env python3
"""The official Python package `cohere`, unmodified, against a running service.

usage: CO_API_URL=http://127.0.0.1:7878 CO_API_KEY=KEY cohere_client.py

The package needs a key; a service without keys takes any.
"""
import asyncio
import sys

import cohere

DOCUMENTS = ["nothing of it here", "alpha beta gamma", "alpha"]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


def order(response):
    return [result.index for result in response.results]


def main():
    v2 = cohere.ClientV2()
    response = v2.rerank(model="rerank-v3.5", query="alpha beta", documents=DOCUMENTS)
    check(order(response) == [1, 2, 0], f"v2 orders the documents: {order(response)}")
    scores = [result.relevance_score for result in response.results]
    check(all(0 <= score <= 1 for score in scores) and scores == sorted(scores, reverse=True), "v2 scores fall within [0, 1]")
    check(response.id and response.meta.api_version.version == "2", "v2 has an id and a version")
    response = v2.rerank(model="any", query="alpha beta", documents=DOCUMENTS, top_n=1)
    check(order(response) == [1], "v2 keeps top_n")

    spans = v2.rerank(model="any", query="beta", documents=DOCUMENTS, relevant_spans={"mode": "enabled"})
    [span] = spans.results[0].relevant_spans
    check(DOCUMENTS[1][span.start:span.end] == "beta", "v2 spans are code points")

    v1 = cohere.Client()
    response = v1.rerank(model="any", query="alpha beta", documents=DOCUMENTS, return_documents=True)
    check([result.document.text for result in response.results] == [DOCUMENTS[i] for i in (1, 2, 0)], "v1 returns documents")
    response = v1.rerank(model="any", query="alpha", documents=[{"text": "x"}, {"text": "alpha"}], top_n=2)
    check(order(response) == [1, 0], "v1 takes objects")

    async def both():
        client = cohere.AsyncClientV2()
        return await asyncio.gather(*(client.rerank(model="any", query="alpha beta", documents=DOCUMENTS) for _ in range(20)))

    check(all(order(response) == [1, 2, 0] for response in asyncio.run(both())), "20 requests at a time")
    try:
        v2.rerank(model="any", query="alpha", documents=[])
        check(False, "an empty list is refused")
    except cohere.UnprocessableEntityError as error:
        check("empty" in str(error.body), "an empty list is refused, and the message comes through")


main()
