#!/usr/bin/env python3
"""LlamaIndex's client of Text Embeddings Inference, unmodified, against a running service.

usage: SERVICE_URL=http://127.0.0.1:7878 llama_index_client.py

It needs `pip install llama-index-postprocessor-tei-rerank`.
"""
import os
import sys

from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

TEXTS = ["nothing of it here", "alpha beta gamma", "alpha"]


def main():
    key = os.environ.get("CO_API_KEY")
    reranker = TextEmbeddingInference(base_url=os.environ["SERVICE_URL"], top_n=2, auth_token=key and f"Bearer {key}")
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.0) for text in TEXTS]
    ranked = reranker.postprocess_nodes(nodes, query_str="alpha beta")
    found = [node.node.text for node in ranked]
    if found != [TEXTS[1], TEXTS[2]]:
        sys.exit(f"FAILED: {found}")
    print("ok: the two best texts, in order")


main()
