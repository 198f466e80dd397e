"""Peers on Best Buy searches: PECOS XR-Linear and omikuji, on the clicks and the split of bestbuy.py.

    pip install libpecos omikuji scikit-learn
    python bench/matching/bestbuy_peers.py [--names]

A training query is an instance, its words the features (tf-idf), the products that were clicked for it the labels. The
data, its cleaning, the split by time and the means over clicks are those of bestbuy.py beside this file. As there, the
10 % of the clicks before the test choose the settings (C, and those of GRID, below), by NDCG@10 over clicks; what was
chosen is trained on the first 80 % and the test is ranked once. Each peer has two rows: with words and pairs of words, and
with runs of letters too, as `matchrank train clicks` looks at.

--names adds the name of every product as a training query with one click on this product, as in bestbuy.py.
"""

import argparse
import collections
import importlib.metadata
import itertools
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union
from sklearn.preprocessing import normalize

import bestbuy

# How queries become features; one letter or digit is a word too: `halo 3`.
WORDS = {"token_pattern": r"(?u)\b\w+\b", "dtype": np.float32}
PAIRS = WORDS | {"ngram_range": (1, 2)}
LETTERS = {"analyzer": "char_wb", "ngram_range": (3, 5), "dtype": np.float32}
FEATURES = {"words": [WORDS], "pairs": [PAIRS], "letters": [PAIRS, LETTERS]}
# The rows: what their settings are chosen among. An instance is a query with all its products, or a click.
ROWS = [["words", "pairs"], ["letters"]]
GRID = {"instances": ["queries", "clicks"], "C": [0.3, 1.0, 3.0]}
SEED = 0


def cut_after(clicks, share):
    """The moment that comes nearest to having this share of the clicks before it; clicks of one second stay together."""
    seconds = collections.Counter(moment // 1000 for moment, _, _ in clicks)
    wanted, before, nearest = share * len(clicks), 0, (float("inf"), None)
    for second in sorted(seconds):
        nearest = min(nearest, (abs(before - wanted), second * 1000))
        before += seconds[second]
    return nearest[1]


class Instances:
    """Training queries as features and labels."""

    def __init__(self, training, features, instances):
        self.products = sorted({document for _, document in training})
        column = {document: number for number, document in enumerate(self.products)}
        if instances == "clicks":
            texts, rows = [query for query, _ in training], range(len(training))
        else:
            number = {query: place for place, query in enumerate(dict.fromkeys(query for query, _ in training))}
            texts, rows = list(number), [number[query] for query, _ in training]
        self.vectors = make_union(*(TfidfVectorizer(**options) for options in FEATURES[features]))
        x = normalize(self.vectors.fit_transform(texts)).tocsr()
        columns = [column[document] for _, document in training]
        clicks = sp.csr_matrix((np.ones(len(training), np.float32), (rows, columns)), (len(texts), len(self.products)))
        # A query without a word has nothing to be learned from.
        known = np.flatnonzero(np.diff(x.indptr))
        self.x, self.y = x[known], clicks[known].sign()

    def features(self, queries):
        return normalize(self.vectors.transform(queries)).tocsr()


class Pecos:
    name, package = "PECOS XR-Linear", "libpecos"

    @staticmethod
    def fit(data, C):
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        labels = LabelEmbeddingFactory.create(data.y, data.x, method="pifa")
        chain = Indexer.gen(labels, indexer_type="hierarchicalkmeans", seed=SEED)
        model = XLinearModel.train(data.x, data.y, C=chain, Cp=C, Cn=C)
        return lambda x: model.predict(x, only_topk=10, beam_size=len(data.products))


class Omikuji:
    name, package = "omikuji", "omikuji"

    @staticmethod
    def fit(data, C):
        import omikuji

        params = omikuji.Model.default_hyper_param()
        params.linear_c = C
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(f"{data.x.shape[0]} {data.x.shape[1]} {data.y.shape[1]}\n")
            for row, labels in zip(data.x, data.y):
                features = " ".join(f"{c}:{v:.6g}" for c, v in sorted(zip(row.indices, row.data)))
                file.write(f"{','.join(map(str, labels.indices))} {features}\n")
            file.flush()
            model = omikuji.Model.train_on_data(file.name, params)

        def predict(x):
            found = [model.predict(list(zip(row.indices.tolist(), row.data.tolist())), beam_size=len(data.products))
                     if row.nnz else [] for row in x]
            rows = np.repeat(np.arange(len(found)), [len(some) for some in found])
            columns, scores = zip(*itertools.chain.from_iterable(found))
            return sp.csr_matrix((scores, (rows, columns)), (len(found), len(data.products)))

        return predict


def ranked(data, predict, queries):
    """The ten best products of every query; none for a query without a known word."""
    x = data.features(queries)
    scores = predict(x).tocsr()
    result = {}
    for i, query in enumerate(queries):
        row = scores[i]
        order = sorted(zip(-row.data, row.indices)) if x[i].nnz else []
        result[query] = [(data.products[column], -score) for score, column in order]
    return result


def figures(peer, settings, training, test):
    """Those of `over_clicks`, and the share of test clicks whose query was seen."""
    data = Instances(training, settings["features"], settings["instances"])
    rankings = ranked(data, peer.fit(data, settings["C"]), sorted({query for query, _ in test}))
    seen = {query for query, _ in training}
    return bestbuy.over_clicks(rankings, test, seen), sum(query in seen for query, _ in test) / len(test)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="learn from the names of the products as queries too")
    arguments = parser.parse_args()
    folder = pathlib.Path(os.environ.get("MATCHRANK_DATA", bestbuy.REPOSITORY.parent / "shared/data")) / "bestbuy"
    if not folder.is_dir():
        sys.exit(f"skipped: no folder {folder}; MATCHRANK_DATA names the folder that holds it")
    documents = bestbuy.read_documents(folder)
    clicks = [click for click in bestbuy.read_clicks(folder) if click[2] in documents]
    names = [(bestbuy.normalised(text["name"]), sku) for sku, text in documents.items()] if arguments.names else []
    validation_from, test_from = cut_after(clicks, 0.7), cut_after(clicks, 0.8)
    part = lambda first, last: [click[1:] for click in clicks if first <= click[0] < last]
    first, last = part(0, validation_from), part(0, test_from)
    validation, test = part(validation_from, test_from), part(test_from, float("inf"))
    # omikuji writes its log to standard output.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(f"Trained on {len(last):,} clicks{f' and {len(names)} names' * bool(names)}, tested on {len(test):,}; "
          "seen / unseen.\n\n| peer | settings | validation | NDCG@10 over clicks | recall@10 over clicks |\n"
          "|---|---|---|---|---|", file=out, flush=True)
    for peer, row in itertools.product((Pecos, Omikuji), ROWS):
        began, tried = time.monotonic(), []
        space = {"features": row} | GRID
        for values in itertools.product(*space.values()):
            settings = dict(zip(space, values))
            (seen, unseen, *_), share = figures(peer, settings, names + first, validation)
            tried.append((share * seen + (1 - share) * unseen, settings))
            bestbuy.say(f"{peer.name} {settings}: {tried[-1][0]:.4f} ({seen:.3f} / {unseen:.3f})")
        value, chosen = max(tried, key=lambda trial: trial[0])
        result, _ = figures(peer, chosen, names + last, test)
        shown = ", ".join(f"{key} {setting}" for key, setting in chosen.items())
        ndcg, recall = (" / ".join(f"{figure:.3f}" for figure in result[i:i + 2]) for i in (0, 2))
        name = f"{peer.name} {importlib.metadata.version(peer.package)}"
        print(f"| {name} | {shown} | {value:.3f} | {ndcg} | {recall} |", file=out, flush=True)
        bestbuy.say(f"{peer.name}: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
