"""Opens a BM25 model file with the safetensors library and scores with it, in numpy alone.

    pip install safetensors numpy
    python bench/open_model_file.py tests/golden/model_files/bm25_v1.safetensors shoe run

Prints what the file says of itself and the idf of the given terms (as they stand in the vocabulary).
"""

import json
import math
import sys

from safetensors import safe_open

path, *terms = sys.argv[1:]
with safe_open(path, framework="numpy") as file:
    metadata = file.metadata()
    arrays = {name: file.get_tensor(name) for name in file.keys()}

print("kind", metadata["kind"], "- format version", metadata["format_version"])
for key in ["params", "analyser", "fields", "provenance"]:
    print(key, json.loads(metadata[key]))
for name, array in sorted(arrays.items()):
    print(f"{name:38} {array.dtype} {array.shape}")

arena, offsets = arrays["vocabulary.terms"].tobytes(), arrays["vocabulary.offsets"]
vocabulary = {arena[start:end].decode(): id for id, (start, end) in enumerate(zip(offsets, offsets[1:]))}
n_documents = int(arrays["n_documents"][0])
for term in terms:
    if term not in vocabulary:
        print(f"{term}: not in the vocabulary")
        continue
    df = int(arrays["vocabulary.document_frequencies"][vocabulary[term]])
    print(f"{term}: df {df}, idf {math.log1p((n_documents - df + 0.5) / (df + 0.5)):.6f}")
