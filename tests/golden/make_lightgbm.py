"""Trees of LightGBM and what it predicts with them: lightgbm.json.

    pip install lightgbm numpy
    python tests/golden/make_lightgbm.py

Features with gaps (NaN), with zeros that count as missing, with neither; NaN among them is also predicted for.
"""

import json
import os

import lightgbm
import numpy as np

rng = np.random.default_rng(7)
cases = []
for name, objective, zero_as_missing, gaps in [
    ("lambdarank with gaps", "lambdarank", False, True),
    ("regression, zero as missing", "regression", True, False),
    ("regression", "regression", False, False),
    ("one leaf", "regression", False, False),
]:
    x = rng.normal(size=(400, 4)).round(3)
    x[rng.random(x.shape) < 0.3] = 0.0
    y = np.clip((x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=400)).round(), 0, 3)
    if gaps:
        x[rng.random(x.shape) < 0.2] = np.nan
    if name == "one leaf":
        y[:] = 1.5
    params = dict(objective=objective, num_leaves=6, min_data_in_leaf=5, learning_rate=0.3, verbosity=-1)
    params.update(zero_as_missing=zero_as_missing, num_threads=1, deterministic=True)
    group = np.full(20, 20) if objective == "lambdarank" else None
    booster = lightgbm.train(params, lightgbm.Dataset(x, y, group=group), 5)
    rows = rng.normal(size=(60, 4)).round(3)
    rows[rng.random(rows.shape) < 0.2] = 0.0
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows = rows.astype(np.float32).astype(float)
    cases.append(
        {
            "name": name,
            "text": booster.model_to_string(),
            "rows": [[None if np.isnan(cell) else cell for cell in row] for row in rows],
            "values": booster.predict(rows, raw_score=True).tolist(),
            "gains": booster.feature_importance("gain").tolist(),
        }
    )
with open(os.path.join(os.path.dirname(__file__), "lightgbm.json"), "w") as file:
    json.dump(cases, file, indent=1)
