"""The significance marks of a comparison, worked out once more with SciPy.

    pip install scipy
    python bench/matching/significance.py FOLDER

FOLDER is what `matchrank compare --out FOLDER` made. From the values of the test queries (results/*.json) the means are
taken again, every pair of models is compared by SciPy's paired t-test, p-values are corrected by Holm's rule, and who
beats whom is compared with comparison.json, measure by measure. Exit code 1 where anything differs.
"""

import itertools
import json
import pathlib
import sys

from scipy import stats


def holm(values):
    """Holm's corrected p-values."""
    corrected, largest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = largest
    return corrected


def beaten(values, level):
    """Whom each model beats, by the values of its queries."""
    pairs = list(itertools.combinations(values, 2))
    found = [stats.ttest_rel(values[a], values[b]).pvalue for a, b in pairs]
    # No difference at all has no p-value.
    corrected = holm([1.0 if p != p else p for p in found])
    beats = {name: set() for name in values}
    for (a, b), p in zip(pairs, corrected):
        if p < level:
            better, worse = (a, b) if sum(values[a]) > sum(values[b]) else (b, a)
            beats[better].add(worse)
    return beats


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    comparison = json.loads((folder / "comparison.json").read_text())
    if comparison["split"]["test"] != "t":
        sys.exit("the comparison was made with another test than t")
    rows = {row["name"]: row for row in comparison["models"]}
    results = [json.loads(path.read_text()) for path in (folder / "results").glob("*.json")]
    per_query = {result["row"]["name"]: result["per_query"] for result in results if result["row"]["name"] in rows}
    n_marks = n_wrong = 0
    for measure in comparison["split"]["measures"]:
        values = {name: [value for value in per_query[name][measure] if value is not None] for name in rows}
        for name, beats in beaten(values, comparison["split"]["level"]).items():
            mean = sum(values[name]) / len(values[name])
            wrong = beats != set(rows[name]["beats_by"][measure]) or abs(mean - rows[name]["test"][measure]) > 1e-12
            n_marks, n_wrong = n_marks + len(beats), n_wrong + wrong
            if wrong:
                print(f"{measure}, {name}: {mean} beats {sorted(beats)}, not {rows[name]['beats_by'][measure]}")
    print(f"{len(rows)} models, {n_marks} marks: {n_wrong} rows differ")
    sys.exit(int(n_wrong > 0))


if __name__ == "__main__":
    main()
