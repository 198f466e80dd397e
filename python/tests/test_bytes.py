"""Models from Python have the bytes of those from the command line."""

from __future__ import annotations

import json
import re

import matchrank as mr
import pytest
from conftest import write_letor

#: Parameters that keep training short; the others have their defaults.
SMALL = {
    "bm25": {"k1": 0.9},
    "rmls": {"d": 10, "iterations": 2},
    "pls": {"d": 8},
    "lsi-dt": {"d": 8},
    "lsi-qd": {"d": 8},
    "ssi": {"d": 8, "iterations": 2, "tuples": 2000},
    "svdfeature": {"d": 8, "iterations": 2},
    "bltm": {"topics": 4, "iterations": 5},
    "sparse-preference": {"tuples": 100000},
    "stack": {"ranker": "listnet", "folds": 2},
}
SINGLE = [name for name, cls in mr.models.CLASSES.items() if not cls._kind["is_made_of_others"]]


def set_options(settings: dict) -> list[str]:
    values = {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


@pytest.fixture(scope="module")
def same(shop, program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    def train(kind: str, *more: object, settings: dict | None = None):
        out = folder / f"{kind}.model"
        given = SMALL.get(kind, {}) if settings is None else settings
        program("train", kind, "--data", shop.path, "--out", out, *set_options(given), *more)
        return out

    return train


@pytest.mark.parametrize("kind", SINGLE)
def test_a_model_has_the_bytes_of_the_command_line(kind, same, shop, tmp_path):
    theirs = same(kind).read_bytes()
    model = mr.models.CLASSES[kind](**SMALL.get(kind, {})).fit(shop)
    model.save(tmp_path / "own.model")
    assert (tmp_path / "own.model").read_bytes() == theirs
    assert model.to_bytes() == theirs


def test_defaults_are_those_of_the_command_line(same, shop):
    assert mr.Bm25().fit(shop).to_bytes() == same("bm25", settings={}).read_bytes()


@pytest.mark.parametrize("weights", [None, [0.3, 0.7]])
def test_a_combination_has_the_bytes_of_the_command_line(weights, same, shop):
    parts = {kind: mr.load(same(kind), shop) for kind in ("bm25", "pls")}
    files = [same(kind) for kind in parts]
    more = [] if weights is None else ["--weight", *weights]
    theirs = same("combination", "--of", *files, *more).read_bytes()
    assert mr.Combination(parts, weights=weights).fit(shop).to_bytes() == theirs


def test_a_stack_has_the_bytes_of_the_command_line(same, shop):
    parts = {kind: mr.load(same(kind), shop) for kind in ("bm25", "clicks", "pls")}
    theirs = same("stack", "--of", *(same(kind) for kind in parts)).read_bytes()
    assert mr.Stack(parts, **SMALL["stack"]).fit(shop).to_bytes() == theirs
    again = mr.Stack(parts, **SMALL["stack"]).fit(shop)
    taken = mr.Stack(parts, ranker_of=again).fit(shop)
    assert list(taken.rank("red shoes")["document"]) == list(again.rank("red shoes")["document"])


@pytest.mark.parametrize("kind", list(mr.rankers.CLASSES))
@pytest.mark.parametrize("has_validation", [True, False])
def test_a_ranker_has_the_bytes_of_the_command_line(kind, has_validation, program, lists, valid_lists, tmp_path):
    cls = mr.rankers.CLASSES[kind]
    train, valid = (write_letor(tmp_path / name, *given) for name, given in (("t", lists), ("v", valid_lists)))
    more = ["--validation", valid] if has_validation else []
    settings = {"trees": 20} if "trees" in cls._kind["defaults"] else {}
    options = set_options(settings)
    if cls._kind["variants"] is not None:
        settings = {cls._kind["variants"]["parameter"]: "uniform"}
        options = [f"--{name}={value}" for name, value in settings.items()]
    command = ("train", kind, "--letor", train, "--out", tmp_path / "their.model", *more, *options)
    program(*command, check="trees" not in settings)
    if not (tmp_path / "their.model").exists():
        pytest.skip("LightGBM is not there")
    x, y, qid = lists
    valid_set = {"eval_set": [valid_lists[:2]], "eval_qid": [valid_lists[2]]} if has_validation else {}
    ranker = cls(**settings).fit(x, y, qid, **valid_set)
    assert ranker.to_bytes() == (tmp_path / "their.model").read_bytes()
    # Files read by Python are the same lists.
    again = cls(**settings).fit(mr.read_letor(train), **({"eval_set": [mr.read_letor(valid)]} if has_validation else {}))
    assert again.to_bytes() == ranker.to_bytes()


def test_threads_change_no_byte(shop):
    try:
        mr.set_threads(1)
        one = mr.Rmls(**SMALL["rmls"]).fit(shop).to_bytes()
        mr.set_threads(3)
        assert mr.threads() == 3
        assert mr.Rmls(**SMALL["rmls"]).fit(shop).to_bytes() == one
    finally:
        mr.set_threads(0)
    with pytest.raises(mr.ParameterError, match="too many"):
        mr.set_threads(1000)


def test_another_seed_makes_another_model(shop):
    one, other = (mr.Rmls(**SMALL["rmls"], seed=seed).fit(shop) for seed in (1, 2))
    assert one.to_bytes() != other.to_bytes()
    assert other.provenance["seed"] == 2


def test_ranking_is_that_of_the_command_line(bm25, pls, shop, program, tmp_path):
    for model in (bm25, pls, mr.Combination([bm25, pls]).fit(shop)):
        model.save(tmp_path / "m.model")
        program("rank", "--model", tmp_path / "m.model", "--data", shop.path, "--out", tmp_path / "run", "--top", 20)
        theirs = [line.split() for line in (tmp_path / "run").read_text().splitlines()]
        queries = shop.queries("test")
        table = model.rank(queries, k=20)
        own = list(zip(table["query_id"], table["document"], table["rank"].tolist(), table["score"].tolist(), strict=True))
        assert [(q, d, int(r)) for q, _, d, r, _, _ in theirs] == [row[:3] for row in own]
        assert [float(row[4]) for row in theirs] == pytest.approx([row[3] for row in own], rel=1e-6)


def test_figures_are_those_of_the_command_line(bm25, shop, program, tmp_path):
    run = bm25.rank(shop.queries("test"), k=100)
    bm25.save(tmp_path / "m.model")
    program("rank", "--model", tmp_path / "m.model", "--data", shop.path, "--out", tmp_path / "run", "--top", 100)
    for dialect in ("matchrank", "trec", "ranx", "lightgbm"):
        measures = ["ndcg@10", "map", "mrr", "p@5", "r@20"]
        said = program(
            "eval", "--data", shop.path, "--run", tmp_path / "run", "--dialect", dialect, "--format", "json",
            "--measures", ",".join(measures),
        )
        own = mr.evaluate(shop, run, measures, dialect=dialect)
        theirs = json.loads(said)["runs"][0]["measures"]
        assert dict(own) == pytest.approx(theirs)
        assert dict(mr.evaluate(shop, tmp_path / "run", measures, dialect=dialect)) == pytest.approx(theirs)


def test_versions_are_in_step(program):
    assert re.search(r"\d+\.\d+\.\d+", program("--version"))[0] == mr.__version__
