"""Draws training time of RankSVM against the length of lists, beside m log m and m^2, as SVG.

    pip install matplotlib
    python bench/ranking/figure.py GROWTH.csv FIGURE.svg

GROWTH.csv is what `ranking_speed growth` prints: documents, seconds, newton_steps, pairs. Seconds are divided by Newton
steps. Both lines go through the point in the middle.
"""

import argparse
import csv
import math

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("growth", help="CSV with the columns documents, seconds, newton_steps, pairs")
    parser.add_argument("figure", help="SVG file to write")
    args = parser.parse_args()
    with open(args.growth, newline="") as file:
        rows = [(int(row["documents"]), float(row["seconds"]) / int(row["newton_steps"])) for row in csv.DictReader(file)]
    middle, seconds = rows[len(rows) // 2]
    matplotlib.rcParams["svg.hashsalt"] = "matchrank"
    figure, panel = plt.subplots(figsize=(6, 3.6), layout="constrained")
    lengths = [m for m, _ in rows]
    for label, cost, style in [("m log m", lambda m: m * math.log(m), "--"), ("m², as by pairs", lambda m: m * m, ":")]:
        panel.plot(lengths, [seconds * cost(m) / cost(middle) for m in lengths], style, color="#888888", label=label)
    panel.plot(lengths, [s for _, s in rows], "o-", color="#1b5e9e", label="RankSVM, one Newton step")
    panel.set(xscale="log", yscale="log", xlabel="documents in a list, m", ylabel="seconds")
    panel.set_ylim(rows[0][1] / 5, rows[-1][1] * 20)
    panel.legend(frameon=False)
    figure.savefig(args.figure, metadata={"Date": None})


if __name__ == "__main__":
    main()
