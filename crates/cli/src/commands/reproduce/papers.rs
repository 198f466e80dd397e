//! Figures of the papers: Wu, Lu, Li and others, "Learning bilinear model for matching queries and documents", JMLR
//! 2013, Tables 2 to 7. NDCG at 1, 3 and 5. Models have the names that this program gives them.

/// Models with their figures.
pub(super) type Published = &'static [(&'static str, &'static [f64])];

/// Relevance ranking, one week.
pub(super) const TABLE_2: Published = &[
    ("rmls", &[0.686, 0.732, 0.729]),
    ("pls", &[0.676, 0.728, 0.736]),
    ("svdfeature", &[0.663, 0.720, 0.727]),
    ("bltm", &[0.657, 0.702, 0.701]),
    ("ssi", &[0.538, 0.621, 0.629]),
    ("random-walk", &[0.655, 0.704, 0.704]),
    ("random-walk+bm25", &[0.671, 0.718, 0.716]),
    ("lsi-qd", &[0.588, 0.665, 0.676]),
    ("lsi-qd+bm25", &[0.649, 0.705, 0.706]),
    ("lsi-dt", &[0.616, 0.675, 0.680]),
    ("bm25", &[0.637, 0.690, 0.690]),
];

/// Relevance ranking, half a year.
pub(super) const TABLE_3: Published = &[
    ("rmls", &[0.742, 0.767, 0.776]),
    ("pls-words", &[0.638, 0.666, 0.677]),
    ("svdfeature", &[0.742, 0.746, 0.749]),
    ("bltm", &[0.684, 0.708, 0.717]),
    ("bm25", &[0.643, 0.663, 0.670]),
];

/// MART on the scores of models, one week.
pub(super) const TABLE_4: Published = &[
    ("MART-baseline", &[0.661, 0.737, 0.779]),
    ("MART-PLS", &[0.683, 0.751, 0.792]),
    ("MART-RMLS", &[0.681, 0.750, 0.789]),
    ("MART-all", &[0.689, 0.757, 0.797]),
];

/// MART on the scores of models, half a year.
pub(super) const TABLE_5: Published = &[
    ("MART-baseline", &[0.708, 0.760, 0.791]),
    ("MART-PLS", &[0.706, 0.760, 0.792]),
    ("MART-RMLS", &[0.757, 0.799, 0.827]),
    ("MART-all", &[0.756, 0.798, 0.826]),
];

/// The bins of Tables 6 and 7; the papers' logs have no query without a click.
pub(super) const BINS: [&str; 4] =
    ["1 to 10 clicks", "11 to 100 clicks", "101 to 1000 clicks", "more than 1000 clicks"];

/// One week, by clicks of the query: three figures for each of the four bins.
pub(super) const TABLE_6: Published = &[
    ("rmls", &[0.754, 0.795, 0.767, 0.749, 0.791, 0.766, 0.679, 0.744, 0.755, 0.557, 0.612, 0.655]),
    ("pls", &[0.704, 0.776, 0.764, 0.706, 0.769, 0.748, 0.650, 0.727, 0.754, 0.655, 0.661, 0.695]),
    ("svdfeature", &[0.648, 0.732, 0.707, 0.684, 0.742, 0.727, 0.647, 0.723, 0.750, 0.576, 0.632, 0.669]),
    ("bltm", &[0.758, 0.787, 0.755, 0.750, 0.795, 0.766, 0.636, 0.700, 0.726, 0.485, 0.557, 0.603]),
    ("ssi", &[0.633, 0.730, 0.700, 0.607, 0.696, 0.673, 0.523, 0.616, 0.657, 0.403, 0.491, 0.540]),
    ("random-walk", &[0.769, 0.793, 0.760, 0.773, 0.809, 0.780, 0.622, 0.709, 0.740, 0.458, 0.527, 0.582]),
    (
        "random-walk+bm25",
        &[0.773, 0.786, 0.758, 0.770, 0.815, 0.787, 0.654, 0.726, 0.750, 0.485, 0.554, 0.601],
    ),
    ("lsi-qd", &[0.631, 0.717, 0.687, 0.634, 0.709, 0.696, 0.584, 0.676, 0.703, 0.496, 0.573, 0.621]),
    ("lsi-qd+bm25", &[0.696, 0.745, 0.719, 0.726, 0.777, 0.759, 0.646, 0.716, 0.736, 0.500, 0.576, 0.619]),
    ("lsi-dt", &[0.685, 0.745, 0.730, 0.688, 0.752, 0.727, 0.608, 0.676, 0.705, 0.473, 0.549, 0.596]),
    ("bm25", &[0.698, 0.746, 0.724, 0.719, 0.772, 0.748, 0.641, 0.701, 0.722, 0.463, 0.544, 0.592]),
];

/// Half a year, by clicks of the query.
pub(super) const TABLE_7: Published = &[
    ("rmls", &[0.804, 0.801, 0.792, 0.785, 0.794, 0.796, 0.780, 0.795, 0.797, 0.698, 0.742, 0.760]),
    ("pls-words", &[0.723, 0.720, 0.708, 0.681, 0.697, 0.703, 0.668, 0.691, 0.697, 0.599, 0.642, 0.660]),
    ("svdfeature", &[0.728, 0.730, 0.721, 0.738, 0.734, 0.734, 0.766, 0.765, 0.761, 0.728, 0.740, 0.748]),
    ("bltm", &[0.783, 0.775, 0.763, 0.750, 0.757, 0.760, 0.725, 0.745, 0.749, 0.626, 0.669, 0.688]),
    ("bm25", &[0.747, 0.739, 0.717, 0.710, 0.713, 0.712, 0.690, 0.703, 0.704, 0.582, 0.622, 0.641]),
];
