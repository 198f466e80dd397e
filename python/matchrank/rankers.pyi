"""Type stubs, written by make_stubs.py from the engine's tables."""

from typing import Any, ClassVar, Self

from ._ranker import FeatureLists as FeatureLists
from ._ranker import RankerMixin, read_letor as read_letor

class Ranker(RankerMixin):
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...
    def set_fit_request(self, **metadata: bool | str | None) -> Self: ...
    def set_predict_request(self, **metadata: bool | str | None) -> Self: ...
    def set_score_request(self, **metadata: bool | str | None) -> Self: ...

CLASSES: dict[str, type[Ranker]]

def class_of(kind: str) -> type[Ranker]: ...

class Perceptron(Ranker):
    """SLAM perceptron: a ranker of feature lists, learned online, with a bound on its losses.

    Learns from lists that are not in perfect order, one at a time, and ranks with the mean of its
    weights.

    Args:
        target: the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K
        rule: which documents move the weights: misordered, or printed (all within the margin delta,
            as the paper has it; the bound of the paper does not hold for it, a larger one does)
        delta: the margin of the printed rule
        epochs: passes over the lists at most; the one that is best on validation is kept
        patience: passes without a better validation figure after which to stop
        averaged: rank with the mean of all iterates, not with the last
        scaling: scaling of features: min_max, z_score, query_min_max, query_z_score, none, or auto
            (chosen on validation)
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # perceptron
    target: str
    rule: str
    delta: float
    epochs: int
    patience: int
    averaged: bool
    scaling: str
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        target: str = ...,
        rule: str = ...,
        delta: float = ...,
        epochs: int = ...,
        patience: int = ...,
        averaged: bool = ...,
        scaling: str = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...

class Slam(Ranker):
    """SLAM in batch: a ranker of feature lists that minimises a bound on 1 - NDCG or 1 - MAP.

    On data whose features order documents poorly the minimiser is w = 0, for every lambda. Where that
    is proved, the default keeps the mean iterate of Pegasos instead, which is not at the minimum and
    ranks well, and says so.

    Args:
        target: the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K
        delta: the margin
        solver: auto: bundle, and pegasos where that proves w = 0; bundle: proves how near the
            minimum it is; pegasos: stochastic
        lambda_: weight of ||w||^2 / 2, or several, as in [1,0.1], of which validation chooses,
            beyond an end too if that is best; 0.01 without validation lists; None: chosen on the
            validation lists; 0.01 without validation lists
        tolerance: gap, relative to the objective, at which bundle stops
        max_iterations: iterations of bundle for each lambda, at most
        epochs: passes of pegasos for each lambda
        scaling: scaling of features: min_max, z_score, query_min_max, query_z_score, none, or auto
            (chosen on validation)
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # slam
    target: str
    delta: float
    solver: float | str
    lambda_: float | list[float] | None
    tolerance: float
    max_iterations: int
    epochs: int
    scaling: str
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        target: str = ...,
        delta: float = ...,
        solver: float | str = ...,
        lambda_: float | list[float] | None = ...,
        tolerance: float = ...,
        max_iterations: int = ...,
        epochs: int = ...,
        scaling: str = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...

class RankSVM(Ranker):
    """RankSVM: a ranker of feature lists that learns from all pairs of documents of different grades.

    Pairs are never formed: a list of m documents costs m log m.

    Args:
        loss: what a pair costs: squared_hinge, hinge
        lambda_: weight of ||w||^2 / 2, or several, as in [1,0.1], of which validation chooses,
            beyond an end too if that is best; 0.01 without validation lists; None: chosen on the
            validation lists; 0.01 without validation lists
        tolerance: gradient (squared_hinge) or gap (hinge), relative, at which to stop
        max_iterations: iterations for each lambda, at most
        scaling: scaling of features: min_max, z_score, query_min_max, query_z_score, none, or auto
            (chosen on validation)
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # ranksvm
    loss: str
    lambda_: float | list[float] | None
    tolerance: float
    max_iterations: int
    scaling: str
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        loss: str = ...,
        lambda_: float | list[float] | None = ...,
        tolerance: float = ...,
        max_iterations: int = ...,
        scaling: str = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...

class ListNet(Ranker):
    """ListNet: a ranker of feature lists that learns the probability of each document to be the best.

    Args:
        lambda_: weight of ||w||^2 / 2, or several, as in [1,0.1], of which validation chooses,
            beyond an end too if that is best; 0.01 without validation lists; None: chosen on the
            validation lists; 0.01 without validation lists
        tolerance: gradient, relative, at which to stop
        max_iterations: iterations for each lambda, at most
        scaling: scaling of features: min_max, z_score, query_min_max, query_z_score, none, or auto
            (chosen on validation)
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # listnet
    lambda_: float | list[float] | None
    tolerance: float
    max_iterations: int
    scaling: str
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        lambda_: float | list[float] | None = ...,
        tolerance: float = ...,
        max_iterations: int = ...,
        scaling: str = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...

class Ridge(Ranker):
    """Ridge regression: a ranker of feature lists whose scores fit the grades by least squares.

    Differences of scores within a list should be those of grades, each list having an intercept of its
    own. A fast baseline for the other rankers; grades should be numbers whose differences mean
    something.

    Args:
        lambda_: weight of ||w||^2 / 2, or several, as in [1,0.1], of which validation chooses,
            beyond an end too if that is best; 0.01 without validation lists; None: chosen on the
            validation lists; 0.01 without validation lists
        tolerance: gradient, relative, at which to stop
        max_iterations: iterations for each lambda, at most
        scaling: scaling of features: min_max, z_score, query_min_max, query_z_score, none, or auto
            (chosen on validation)
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # ridge
    lambda_: float | list[float] | None
    tolerance: float
    max_iterations: int
    scaling: str
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        lambda_: float | list[float] | None = ...,
        tolerance: float = ...,
        max_iterations: int = ...,
        scaling: str = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...

class Mart(Ranker):
    """MART: boosted trees that predict grades of feature lists.

    Trees are grown by LightGBM (`pip install lightgbm`, or its library named by MATCHRANK_LIGHTGBM);
    ranking does not need it. Features are not scaled.

    Args:
        trees: trees at most; with validation lists as many as are best there; None: chosen on the
            validation lists
        learning_rate: what the values of each tree are multiplied by
        leaves: leaves of a tree
        min_rows: rows of a leaf at least
        truncation: see the command line
        max_depth: depth of a tree at most; 0 for no limit
        feature_fraction: share of the features that each tree may split on
        bagging_fraction: share of the rows that trees are grown on
        bagging_freq: trees after which rows are drawn anew; at least 1 for bagging
        lambda_l1: weight of the absolute values of leaves
        lambda_l2: weight of the squares of leaves
        min_gain_to_split: gain of a split at least
        min_sum_hessian_in_leaf: sum of second derivatives of a leaf at least
        max_bin: values that a feature is rounded to, at most
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # mart
    trees: float | list[float] | None
    learning_rate: float
    leaves: int
    min_rows: int
    truncation: int
    max_depth: int
    feature_fraction: float
    bagging_fraction: float
    bagging_freq: int
    lambda_l1: float
    lambda_l2: float
    min_gain_to_split: float
    min_sum_hessian_in_leaf: float
    max_bin: int
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        trees: float | list[float] | None = ...,
        learning_rate: float = ...,
        leaves: int = ...,
        min_rows: int = ...,
        truncation: int = ...,
        max_depth: int = ...,
        feature_fraction: float = ...,
        bagging_fraction: float = ...,
        bagging_freq: int = ...,
        lambda_l1: float = ...,
        lambda_l2: float = ...,
        min_gain_to_split: float = ...,
        min_sum_hessian_in_leaf: float = ...,
        max_bin: int = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...

class LambdaMart(Ranker):
    """LambdaMART: boosted trees that learn which exchanges of documents would better NDCG.

    Trees are grown by LightGBM (`pip install lightgbm`, or its library named by MATCHRANK_LIGHTGBM);
    ranking does not need it. Features are not scaled.

    Args:
        trees: trees at most; with validation lists as many as are best there; None: chosen on the
            validation lists
        learning_rate: what the values of each tree are multiplied by
        leaves: leaves of a tree
        min_rows: rows of a leaf at least
        truncation: documents at the top of a list whose order counts
        max_depth: depth of a tree at most; 0 for no limit
        feature_fraction: share of the features that each tree may split on
        bagging_fraction: share of the rows that trees are grown on
        bagging_freq: trees after which rows are drawn anew; at least 1 for bagging
        lambda_l1: weight of the absolute values of leaves
        lambda_l2: weight of the squares of leaves
        min_gain_to_split: gain of a split at least
        min_sum_hessian_in_leaf: sum of second derivatives of a leaf at least
        max_bin: values that a feature is rounded to, at most
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # lambdamart
    trees: float | list[float] | None
    learning_rate: float
    leaves: int
    min_rows: int
    truncation: int
    max_depth: int
    feature_fraction: float
    bagging_fraction: float
    bagging_freq: int
    lambda_l1: float
    lambda_l2: float
    min_gain_to_split: float
    min_sum_hessian_in_leaf: float
    max_bin: int
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        trees: float | list[float] | None = ...,
        learning_rate: float = ...,
        leaves: int = ...,
        min_rows: int = ...,
        truncation: int = ...,
        max_depth: int = ...,
        feature_fraction: float = ...,
        bagging_fraction: float = ...,
        bagging_freq: int = ...,
        lambda_l1: float = ...,
        lambda_l2: float = ...,
        min_gain_to_split: float = ...,
        min_sum_hessian_in_leaf: float = ...,
        max_bin: int = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...

class QueryDependent(Ranker):
    """Query-dependent ranking: a function for each query, learned from the training queries near to it.

    Queries are compared by query features: features of the lists that never differ within a query, or a
    file of their own, such as latent vectors of a matching model. The model keeps its training lists;
    the function of a query is learned when it is first ranked, in milliseconds. A query that is far
    from all others gets one function learned from all of them, and rank and explain say so. Validation
    queries that are among the training are observed, the others novel.

    Args:
        weights: How training queries are weighed for a query: gaussian, knn, epanechnikov, tricube,
            uniform, individual
        neighbours: training queries that count, for a query that is one of them
        novel_neighbours: the same for a query that is new
        bandwidth: h of the weights; null for the median distance to the query
        reach: a query is far if its nearest is farther than this many times the largest distance
            from a training query to its nearest
        rankings: how query features that are rankings are compared: kendall, mallows
        kernel: how documents are compared: linear, gaussian (up to 5,000 documents)
        width: sigma^2 of the Gaussian kernel; null for the median distance between documents
        form: what is learned: scoring (a score for each document), ranking (a preference for each
            pair)
        loss: what a pair costs: hinge, logistic, psi
        lambda_: weight of ||f||^2 / 2, or several, as in [1,0.1], of which validation chooses; 0.01
            without validation lists; None: chosen on the validation lists; 0.01 without validation
            lists
        solver: for the hinge: coordinate_descent, admm, inexact_admm (the paper's), newton (without
            pairs), or auto, which chooses
        tolerance: duality gap, relative, at which to stop
        max_iterations: rounds for each lambda, at most
        scaling: scaling of features: min_max, z_score, query_min_max, query_z_score, none, or auto
            (chosen on validation)
        eval_metric: measure on the validation lists
        seed: seed of everything random
    """

    kind: ClassVar[str]  # query-dependent
    weights: str
    neighbours: int
    novel_neighbours: int
    bandwidth: float | list[float] | None
    reach: float
    rankings: str
    kernel: str
    width: float | list[float] | None
    form: str
    loss: str
    lambda_: float | list[float] | None
    solver: float | str
    tolerance: float
    max_iterations: int
    scaling: str
    eval_metric: str
    seed: int
    def __init__(
        self,
        *,
        weights: str = ...,
        neighbours: int = ...,
        novel_neighbours: int = ...,
        bandwidth: float | list[float] | None = ...,
        reach: float = ...,
        rankings: str = ...,
        kernel: str = ...,
        width: float | list[float] | None = ...,
        form: str = ...,
        loss: str = ...,
        lambda_: float | list[float] | None = ...,
        solver: float | str = ...,
        tolerance: float = ...,
        max_iterations: int = ...,
        scaling: str = ...,
        eval_metric: str = ...,
        seed: int = ...,
    ) -> None: ...
