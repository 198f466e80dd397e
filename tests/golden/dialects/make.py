"""Writes the test files of this folder and what the known tools say about them.

    pip install pytrec_eval-terrier==0.5.11 ranx==0.3.21 scikit-learn==1.9.1 lightgbm==4.7.0 scipy==1.17.1
    python make.py

judgments.qrels and example.run are small and nasty: graded and negative judgments, queries without a
relevant document, judged queries that the run lacks, run queries without judgments, unjudged documents,
relevant documents that the run lacks, ties of documents of different grade, scores that differ in f64 but
not in f32, lines out of order. ranx orders ties by an unstable sort in lists above 15 documents, so the
lists with ties are shorter. lists.qrels and lists.run are what LightGBM and scikit-learn accept: no negative
grade, at least two documents, every ranked document judged.
"""

import json
import random
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import pytrec_eval
import ranx
from scipy import stats
from sklearn.metrics import average_precision_score, ndcg_score

HERE = Path(__file__).parent
random.seed(20240607)
warnings.filterwarnings("ignore")


def example():
    qrels, run = [], []
    for q in range(24):
        query = f"q{q}"
        documents = [f"d{q}_{i}" for i in range(30)]
        random.shuffle(documents)
        judged = documents[: random.randint(2, 14)]
        for d in judged:
            grade = 0 if q % 6 == 0 else random.choice([-1, 0, 0, 1, 1, 2, 3])
            qrels.append((query, d, grade))
        if q % 6 != 0 and all(g <= 0 for p, _, g in qrels if p == query):
            qrels[-1] = (query, qrels[-1][1], 2)
        if q in (5, 11):
            continue  # judged, not in the run
        tied = q % 2 == 0
        n = random.randint(1, 15) if tied else random.randint(20, 45)
        pool = judged[1:] + documents[len(judged):]  # one judged document is never returned
        random.shuffle(pool)
        for i, d in enumerate(pool[:n]):
            if tied:
                score = random.choice([3.0, 2.5, 1.0, 0.25, -1.0])
            else:
                score = round(random.uniform(-5, 30), 4) + i * 1e-3
            run.append((query, d, score))
    # differs in f64 only: equal for trec_eval, ordered for the others
    qrels += [("close", "a", 0), ("close", "b", 1)]
    run += [("close", "a", 1.0000000001), ("close", "b", 1.0)]
    run += [("unjudged", "d1", 2.0), ("unjudged", "d2", 1.0)]
    by_query = {}
    for q, d, s in run:
        by_query.setdefault(q, []).append((d, s))
    ungrouped = list(run)
    random.shuffle(ungrouped)
    order = {q: iter([(d, s) for p, d, s in run if p == q]) for q in by_query}
    # lines of different queries are interleaved, those of one query keep their order
    run = [(q, *next(order[q])) for q, _, _ in ungrouped]
    random.shuffle(qrels)
    return qrels, run


def lists():
    qrels, run = [], []
    for q in range(20):
        query = f"l{q}"
        n = random.randint(2, 30)
        for i in range(n):
            grade = 0 if q % 5 == 0 else random.choice([0, 0, 0, 1, 2, 3, 4])
            score = random.choice([0.5, 1.5, 2.0, 4.25]) if q % 2 else round(random.uniform(0, 9), 3)
            qrels.append((query, f"d{i}", grade))
            run.append((query, f"d{i}", score))
    return qrels, run


def write(name, qrels, run):
    with open(HERE / f"{name[0]}.qrels", "w") as f:
        f.writelines(f"{q} 0 {d} {g}\n" for q, d, g in qrels)
    with open(HERE / f"{name[1]}.run", "w") as f:
        f.writelines(f"{q} Q0 {d} 0 {s!r} tool\n" for q, d, s in run)


def nested(rows, cast):
    result = {}
    for q, d, v in rows:
        result.setdefault(q, {})[d] = cast(v)
    return result


def trec(qrels, run):
    names = {
        "map": "map", "mrr": "recip_rank", "bpref": "bpref", "ndcg": "ndcg",
        **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in (1, 5, 10)},
        **{f"p@{k}": f"P_{k}" for k in (5, 10)}, **{f"r@{k}": f"recall_{k}" for k in (5, 10)},
        "map@5": "map_cut_5",
    }
    asked = {"map", "recip_rank", "bpref", "ndcg", "ndcg_cut.1,5,10", "P.5,10", "recall.5,10", "map_cut.5"}
    def by_level(level):
        evaluator = pytrec_eval.RelevanceEvaluator(nested(qrels, int), asked, relevance_level=level)
        return evaluator.evaluate(nested(run, float))
    plain, level2 = by_level(1), by_level(2)
    result = {q: {ours: v[theirs] for ours, theirs in names.items()} for q, v in plain.items()}
    for q, v in level2.items():
        result[q].update({"map(rel=2)": v["map"], "p(rel=2)@5": v["P_5"], "bpref(rel=2)": v["bpref"]})
    return result


def by_ranx(qrels, run):
    names = ["ndcg", "ndcg@5", "ndcg@10", "ndcg_burges@10", "map", "map@5", "mrr", "mrr@3",
             "precision@5", "recall@5", "recall@10", "rbp.80", "rbp.95"]
    q, r = ranx.Qrels(nested(qrels, int)), ranx.Run(nested(run, float))
    ranx.evaluate(q, r, names, make_comparable=True)
    result = {}
    for name in names:
        for query, value in r.scores[name].items():
            result.setdefault(query, {})[name] = float(value)
    return result, {name: float(r.mean_scores[name]) for name in names}


def by_list(qrels, run):
    grades, result = nested(qrels, int), {}
    for q, d, s in run:
        result.setdefault(q, []).append((grades[q].get(d, 0), s))
    return result


def by_lightgbm(groups):
    """LightGBM's metrics of given scores: a model that cannot learn, started from the scores."""
    labels = [g for group in groups for g, _ in group]
    scores = [s for group in groups for _, s in group]
    rows = np.arange(len(labels), dtype=float).reshape(-1, 1)
    data = lightgbm.Dataset(rows, label=labels, group=[len(g) for g in groups], init_score=scores,
                            params={"verbosity": -1, "min_data_in_leaf": 1, "min_data_in_bin": 1}, free_raw_data=False)
    found = {}
    zero = lambda _scores, _data: (np.zeros(len(labels)), np.zeros(len(labels)))
    lightgbm.train({"objective": zero, "metric": ["ndcg", "map"], "eval_at": [1, 3, 5, 10], "verbosity": -1,
                    "min_data_in_leaf": 1},
                   data, num_boost_round=1, valid_sets=[data], valid_names=["x"],
                   callbacks=[lightgbm.record_evaluation(found)])
    return {name: float(values[-1]) for name, values in found["x"].items()}


def by_sklearn(group):
    grades, scores = np.array([[g for g, _ in group]]), np.array([[s for _, s in group]])
    result = {"ndcg": ndcg_score(grades, scores)}
    result.update({f"ndcg@{k}": ndcg_score(grades, scores, k=k) for k in (1, 3, 10)})
    result["map"] = average_precision_score(grades[0] > 0, scores[0])
    return {name: float(value) for name, value in result.items()}


def mean(rows):
    rows = list(rows)
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def significance():
    cases = []
    rng = np.random.default_rng(5)
    for n, kind in [(8, "plain"), (12, "plain"), (15, "ties"), (40, "plain"), (60, "plain"), (200, "ties"), (30, "zeros")]:
        a, b = rng.uniform(size=n), rng.uniform(size=n)
        b = 0.75 * a + 0.25 * b
        if kind == "ties":
            a, b = np.round(a, 1), np.round(b, 1)
        if kind == "zeros":
            a, b = np.where(np.arange(n) % 3 == 0, 0.5, a), np.where(np.arange(n) % 3 == 0, 0.5, b)
        d = a - b
        # differences of rounded numbers must tie exactly
        d = np.round(d, 6)
        exact = len(d) <= 50 and kind == "plain"
        wins, losses = int((d > 0).sum()), int((d < 0).sum())
        case = {
            "differences": d.tolist(),
            "t": float(stats.ttest_1samp(d, 0).pvalue),
            "sign": float(stats.binomtest(wins, wins + losses).pvalue),
            "wilcoxon": float(stats.wilcoxon(d, method="exact" if exact else "asymptotic").pvalue),
        }
        if n <= 12:
            test = stats.permutation_test((d, np.zeros(n)), lambda x, y: np.mean(x - y), n_resamples=np.inf,
                                          permutation_type="samples", alternative="two-sided")
            case["fisher"] = float(test.pvalue)
        cases.append(case)
    return {"cases": cases}


qrels, run = example()
write(("judgments", "example"), qrels, run)
trec_values = trec(qrels, run)
ranx_values, ranx_means = by_ranx(qrels, run)
complete = {q: trec_values.get(q, {name: 0.0 for name in next(iter(trec_values.values()))}) for q, _, _ in qrels}

list_qrels, list_run = lists()
write(("lists", "lists"), list_qrels, list_run)
groups = by_list(list_qrels, list_run)
tools = {
    "trec": {"files": ["judgments.qrels", "example.run"], "values": trec_values,
             "means": mean(trec_values.values()), "means_complete": mean(complete.values())},
    "ranx": {"files": ["judgments.qrels", "example.run"], "values": ranx_values, "means": ranx_means},
    "lightgbm": {"files": ["lists.qrels", "lists.run"],
                 "values": {q: by_lightgbm([g]) for q, g in groups.items()},
                 "means": by_lightgbm(list(groups.values()))},
    "sklearn": {"files": ["lists.qrels", "lists.run"],
                "values": {q: by_sklearn(g) for q, g in groups.items()}},
}
tools["sklearn"]["means"] = mean(tools["sklearn"]["values"].values())
(HERE / "tools.json").write_text(json.dumps(tools, indent=1, sort_keys=True) + "\n")
(HERE / "significance.json").write_text(json.dumps(significance(), indent=1, sort_keys=True) + "\n")
