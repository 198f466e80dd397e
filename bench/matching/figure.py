"""Draws training time against dimension and against threads, one panel each, as SVG.

    pip install matplotlib
    python bench/matching/figure.py TIMES.csv FIGURE.svg [--threads 2] [--d 1000]

TIMES.csv has the columns preset, model, d, threads, seconds (others, such as peak_mib, are ignored) and one row
for each run; the best of repeated runs is drawn. The left panel holds the runs with --threads threads (the most there
are, by default), the right one those with dimension --d (the one measured with the most numbers of threads,
by default; of equals the largest). Colours are models, line styles presets. Both scales are logarithmic; the
thin line on the right is what perfect use of the threads would give.
"""

import argparse
import csv
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

COLUMNS = {"preset": str, "model": str, "d": int, "threads": int, "seconds": float}
COLOURS = ["#1b5e9e", "#c7522a", "#3a7d44", "#7b4ba0", "#8a6d1d", "#444444"]
STYLES = ["-", "--", ":", "-."]


def read(path):
    """Best seconds of every (preset, model, d, threads)."""
    best = {}
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        absent = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
        if absent:
            sys.exit(f"{path}:1: no column {', '.join(absent)}; expected {', '.join(COLUMNS)}")
        for row in reader:
            try:
                value = {name: kind(row[name]) for name, kind in COLUMNS.items()}
            except (TypeError, ValueError) as error:
                sys.exit(f"{path}:{reader.line_num}: {error}")
            if not (value["d"] > 0 and value["threads"] > 0 and 0 < value["seconds"] < float("inf")):
                sys.exit(f"{path}:{reader.line_num}: d, threads and seconds must be above 0")
            key = (value["preset"], value["model"], value["d"], value["threads"])
            best[key] = min(value["seconds"], best.get(key, value["seconds"]))
    if not best:
        sys.exit(f"{path}: no rows")
    return best


def lines(best, at, fixed, fixed_value):
    """Points of each (preset, model) along one position of the key, another position fixed."""
    found = defaultdict(list)
    for key, seconds in sorted(best.items()):
        if key[fixed] == fixed_value:
            found[key[:2]].append((key[at], seconds))
    return found


def draw(panel, found, look, title, label):
    ticks = set()
    for name, points in found.items():
        across, seconds = zip(*sorted(points))
        ticks.update(across)
        panel.plot(across, seconds, marker="o", markersize=3.5, label=f"{name[1]}, {name[0]}", **look[name])
    panel.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds")
    panel.set_title(title, loc="left", fontsize=10)
    panel.xaxis.set_major_locator(FixedLocator(sorted(ticks)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panel.grid(color="#e4e4e4", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", help="CSV of runs")
    parser.add_argument("figure", help="SVG to write")
    parser.add_argument("--threads", type=int, help="of the left panel (default: the most there are)")
    parser.add_argument("--d", type=int, help="of the right panel (default: the one with the most numbers of threads)")
    args = parser.parse_args()
    best = read(args.times)
    threads = args.threads or max(key[3] for key in best)
    threads_of = defaultdict(set)
    for key in best:
        threads_of[key[2]].add(key[3])
    d = args.d or max(threads_of, key=lambda d: (len(threads_of[d]), d))
    left, right = lines(best, 2, 3, threads), lines(best, 3, 2, d)
    if not left or not right:
        sys.exit(f"{args.times}: no rows with {threads} threads" if not left else f"{args.times}: no rows with d = {d}")

    names = sorted({key[:2] for key in best})
    models, presets = sorted({name[1] for name in names}), sorted({name[0] for name in names})
    look = {name: {"color": COLOURS[models.index(name[1]) % len(COLOURS)],
                   "linestyle": STYLES[presets.index(name[0]) % len(STYLES)]} for name in names}
    # Text stays text, and the same figures give the same bytes.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "matchrank", "font.size": 9})
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
    draw(panels[0], left, look, f"{threads} thread{'s' * (threads != 1)}", "latent dimensions d")
    draw(panels[1], right, look, f"d = {d}", "threads")
    for points in right.values():
        across, seconds = zip(*sorted(points))
        ideal = [seconds[0] * across[0] / n for n in across]
        panels[1].plot(across, ideal, color="#b0b0b0", linewidth=0.7, zorder=0)
    labelled = {}
    for panel in panels:
        labelled |= dict(zip(*reversed(panel.get_legend_handles_labels())))
    figure.legend(labelled.values(), labelled.keys(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(args.figure, metadata={"Date": None})


if __name__ == "__main__":
    main()
