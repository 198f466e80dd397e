"""Type stubs, written by make_stubs.py from the engine's tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ._model import CombinationModel, Description, Explanation, MatchingModel, StackModel
from ._ranker import RankerMixin
from ._values import PathLike
from .datasets import Dataset

CLASSES: dict[str, type[MatchingModel]]

def load(path: PathLike, dataset: Dataset | PathLike | None = ...) -> Any: ...

class Bm25(MatchingModel):
    """BM25: matches words with words, weighing rare ones more and long documents less.

    Args:
        k1: how soon repeating a word stops counting, from 0
        b: how much long documents are held back, from 0 to 1
        seed: seed of everything random
    """

    kind: ClassVar[str]  # bm25
    def __init__(
        self,
        *,
        k1: float = ...,
        b: float = ...,
        seed: int = ...,
    ) -> None: ...

class Rm3(MatchingModel):
    """RM3: BM25 with words of its best documents added to the query.

    Ranks twice: BM25 finds the best documents of the collection, takes them as relevant, and adds their
    most likely words to the query; BM25 ranks by the words of this query, which have weights. Finds
    documents that say the same in other words. Hurts queries whose best documents are wrong, so compare
    it with BM25.

    Args:
        k1: how soon repeating a word stops counting, from 0
        b: how much long documents are held back, from 0 to 1
        feedback: best documents that words are taken from
        terms: words that are taken from them
        original: share of the original query, from 0 to 1; with 1 it is BM25
        max_df: largest share of the documents that may have a word that is taken, from 0 to 1
        seed: seed of everything random
    """

    kind: ClassVar[str]  # rm3
    def __init__(
        self,
        *,
        k1: float = ...,
        b: float = ...,
        feedback: int = ...,
        terms: int = ...,
        original: float = ...,
        max_df: float = ...,
        seed: int = ...,
    ) -> None: ...

class Clicks(MatchingModel):
    """Click counts: a query's own clicks, smoothed by those of similar queries.

    Ranks the documents of a query by its own training clicks. Clicks of the training queries most like
    it count as mu further clicks, so that rare queries back off to their neighbours, and queries that
    training never saw are ranked by their neighbours alone. Queries are alike by words, pairs of words
    and runs of letters, so that other spellings are found. A baseline: fast, without training, and hard
    to beat on frequent queries.

    Args:
        mu: clicks that other queries count as, above 0
        smoothing: clicks to smooth with: queries (those of similar queries) or words (those of all
            queries with a word)
        nearest: of smoothing=queries: similar queries to look at, from 1
        power: of smoothing=queries: the cosine of a similar query counts to this power, above 0
        seed: seed of everything random
    """

    kind: ClassVar[str]  # clicks
    def __init__(
        self,
        *,
        mu: float = ...,
        smoothing: str = ...,
        nearest: int = ...,
        power: float = ...,
        seed: int = ...,
    ) -> None: ...

class RandomWalk(MatchingModel):
    """Random walk on the clicks: documents that queries with the same clicks lead to.

    Ranks documents that can be reached from the query over clicks, for queries that training saw.

    Args:
        self_transition: probability to stay in a step, from 0 to below 1
        steps: steps, from 1
        seed: seed of everything random
    """

    kind: ClassVar[str]  # random-walk
    def __init__(
        self,
        *,
        self_transition: float = ...,
        steps: int = ...,
        seed: int = ...,
    ) -> None: ...

class LsiDt(MatchingModel):
    """LSI of the documents' words: finds words that occur together; needs no clicks.

    Args:
        d: latent dimensions
        tolerance: residual, relative to the largest singular value, at which to stop
        max_steps: products with the matrix at most
        similarity: score of query and document in the latent space: dot or cosine
        tf: transform of the count of a word: count, log, binary
        idf: weight of a word by its frequency: none, smooth, plain, bm25
        seed: seed of everything random
    """

    kind: ClassVar[str]  # lsi-dt
    def __init__(
        self,
        *,
        d: int = ...,
        tolerance: float = ...,
        max_steps: int = ...,
        similarity: str = ...,
        tf: str = ...,
        idf: str = ...,
        seed: int = ...,
    ) -> None: ...

class LsiQd(MatchingModel):
    """LSI of the clicks: for queries that training saw, and no others.

    Args:
        d: latent dimensions
        tolerance: residual, relative to the largest singular value, at which to stop
        max_steps: products with the matrix at most
        click_tf: transform of a count of clicks: count, log
        seed: seed of everything random
    """

    kind: ClassVar[str]  # lsi-qd
    def __init__(
        self,
        *,
        d: int = ...,
        tolerance: float = ...,
        max_steps: int = ...,
        click_tf: str = ...,
        seed: int = ...,
    ) -> None: ...

class Pls(MatchingModel):
    """PLS: the directions in which queries and the documents that answer them vary together.

    Partial least squares: the singular vectors of the covariance of queries and clicked documents.

    Args:
        d: latent dimensions
        center: subtract the means
        weight_power: a in (s / s_1)^a, the weight of a latent dimension by its singular value; 0 as
            in the papers
        tolerance: residual, relative to the largest singular value, at which to stop
        max_steps: products with the matrix at most
        tf: transform of the count of a word: count, log, binary
        idf: weight of a word by its frequency: none, smooth, plain, bm25
        click_tf: transform of a count of clicks: count, log
        click_weight: length of the click features beside the words; 0 for no click features
        hide: share of the queries and documents whose click features are hidden from learning, so
            that their words learn more
        base: scores that what is learned is added to: none, bm25 or cosine (of tf-idf vectors)
        k1: of the base bm25: how soon repeating a word stops counting, from 0
        b: of the base bm25: how much long documents are held back, from 0 to 1
        share: share of what is learned beside the base, from 0; auto: on the validation judgments,
            0 unless another is better by more than one standard error
        seed: seed of everything random
    """

    kind: ClassVar[str]  # pls
    def __init__(
        self,
        *,
        d: int = ...,
        center: bool = ...,
        weight_power: float = ...,
        tolerance: float = ...,
        max_steps: int = ...,
        tf: str = ...,
        idf: str = ...,
        click_tf: str = ...,
        click_weight: float = ...,
        hide: float = ...,
        base: str = ...,
        k1: float | str = ...,
        b: float | str = ...,
        share: float | str = ...,
        seed: int = ...,
    ) -> None: ...

class Rmls(MatchingModel):
    """RMLS: learns from clicks which words of queries go with which words of documents.

    Regularized mapping to latent structures: every feature of queries and documents gets a sparse row
    of d numbers, so that queries and the documents that answer them come close. The iteration that is
    best on the validation judgments is kept.

    Args:
        d: latent dimensions
        iterations: iterations at most; two without a better figure end the training. Without
            validation judgments to stop by, 1
        beta: threshold of the rows of queries; 0 leaves rows dense
        gamma: threshold of the rows of documents; 0 leaves rows dense
        threshold: unit of the thresholds: relative (shares of the largest entry of a row), absolute
            (as in the papers), density (shares of the entries to leave)
        theta_x: length of the rows of queries
        theta_y: length of the rows of documents
        center: subtract the means; without it the model collapses on most data
        route: factored: by features and clicks; formed: form the matrix first (slower)
        tf: transform of the count of a word: count, log, binary
        idf: weight of a word by its frequency: none, smooth, plain, bm25
        click_tf: transform of a count of clicks: count, log
        click_weight: length of the click features beside the words; 0 for no click features
        hide: share of the queries and documents whose click features are hidden from learning, so
            that their words learn more
        base: scores that what is learned is added to: none, bm25 or cosine (of tf-idf vectors)
        k1: of the base bm25: how soon repeating a word stops counting, from 0
        b: of the base bm25: how much long documents are held back, from 0 to 1
        share: share of what is learned beside the base, from 0; auto: on the validation judgments,
            0 unless another is better by more than one standard error
        seed: seed of everything random
    """

    kind: ClassVar[str]  # rmls
    def __init__(
        self,
        *,
        d: int = ...,
        iterations: int = ...,
        beta: float = ...,
        gamma: float = ...,
        threshold: str = ...,
        theta_x: float = ...,
        theta_y: float = ...,
        center: bool = ...,
        route: str = ...,
        tf: str = ...,
        idf: str = ...,
        click_tf: str = ...,
        click_weight: float = ...,
        hide: float = ...,
        base: str = ...,
        k1: float | str = ...,
        b: float | str = ...,
        share: float | str = ...,
        seed: int = ...,
    ) -> None: ...

class Ssi(MatchingModel):
    """SSI: BM25, and which other words go together, learned from preferences.

    Supervised semantic indexing: the score is q' (U' V + I) d, where I scores as the base, BM25, and U,
    V learn by steps from tuples: for this query this document is better than that one, by a margin.
    Tuples are drawn from the responses: a higher grade is better than a lower one or none; a click is
    better than none, and, where the log has positions, better than what was shown above it, or next
    below it, and not clicked (Joachims' rules). The summary says how many of these preferences the
    validation judgments contradict. The iteration that is best on the validation judgments is kept, and
    of what it learned the share that is best, none of it unless some is better than the base by more
    than one standard error.

    Args:
        d: latent dimensions
        iterations: iterations at most; four without a better figure end the training
        tuples: tuples of an iteration; auto: 50 for each training pair, from 50,000 to 200,000
        judged: share of the tuples whose worse document was judged lower, or skipped, where there
            is one
        margin: learn from tuples whose scores are less apart than this
        rate: length of the first step of a row
        l2: how strongly rows are pulled towards 0
        spread: rows start at random between this and its negative
        batch: tuples of a step
        identity: whether the base is added: words that query and document share count by themselves
        share: share of U' V beside the base, from 0; auto: on the validation judgments, 0 unless
            another is better by more than one standard error
        base: scores that learning starts from: bm25, or cosine (of tf-idf vectors; tf and idf are
            its settings)
        k1: of the base bm25: how soon repeating a word stops counting, from 0
        b: of the base bm25: how much long documents are held back, from 0 to 1
        tf: transform of the count of a word: count, log, binary
        idf: weight of a word by its frequency: none, smooth, plain, bm25
        click_tf: transform of a count of clicks: count, log
        click_weight: length of the click features beside the words; 0 for no click features
        seed: seed of everything random
    """

    kind: ClassVar[str]  # ssi
    def __init__(
        self,
        *,
        d: int = ...,
        iterations: int = ...,
        tuples: float | str = ...,
        judged: float = ...,
        margin: float = ...,
        rate: float = ...,
        l2: float = ...,
        spread: float = ...,
        batch: int = ...,
        identity: bool = ...,
        share: float | str = ...,
        base: str = ...,
        k1: float | str = ...,
        b: float | str = ...,
        tf: str = ...,
        idf: str = ...,
        click_tf: str = ...,
        click_weight: float = ...,
        seed: int = ...,
    ) -> None: ...

class SvdFeature(MatchingModel):
    """SVDFeature: predicts clicks from the features of query and document.

    Feature-based matrix factorisation: biases of all features, and a row of d numbers for each, so that
    the squared error of the predicted (logarithm of the) clicks is small. Documents without a click are
    drawn beside those with one, and should get 0. The iteration that is best on the validation
    judgments is kept.

    Args:
        d: latent dimensions
        iterations: iterations at most; four without a better figure end the training
        pairs: pairs of an iteration at most; a pass over more is cut into equal iterations
        rate: length of the first step of a row
        l2: how strongly rows and biases are pulled towards 0
        spread: rows start at random between this and its negative
        batch: pairs with a response of a step
        negatives: documents without a response that are drawn for every pair with one
        target: predicted value: log (of 1 + response), count
        tf: transform of the count of a word: count, log, binary
        idf: weight of a word by its frequency: none, smooth, plain, bm25
        click_tf: transform of a count of clicks: count, log
        click_weight: length of the click features beside the words; 0 for no click features
        seed: seed of everything random
    """

    kind: ClassVar[str]  # svdfeature
    def __init__(
        self,
        *,
        d: int = ...,
        iterations: int = ...,
        pairs: int = ...,
        rate: float = ...,
        l2: float = ...,
        spread: float = ...,
        batch: int = ...,
        negatives: int = ...,
        target: str = ...,
        tf: str = ...,
        idf: str = ...,
        click_tf: str = ...,
        click_weight: float = ...,
        seed: int = ...,
    ) -> None: ...

class Bltm(MatchingModel):
    """BLTM: topics that queries and the documents they led to share, each in words of its own.

    The bilingual topic model, learned by EM from pairs of a query and a clicked document. A score is
    how much likelier the query is by the words of the document and by its topics, which are found from
    its words, than by the words of the whole collection. The iteration that is best on the validation
    judgments, looked at after every fifth, is kept.

    Args:
        topics: topics
        iterations: iterations at most; ten without a better figure end the training
        alpha: how strongly the topics of a pair are pulled towards all being equal
        beta: how strongly the words of a topic are pulled towards all being equal
        steps: updates by which the topics of a document are found
        document: share of the document's own words in the likelihood
        topic: share of the topics; the rest is that of the collection
        click_tf: transform of a count of clicks: count, log
        seed: seed of everything random
    """

    kind: ClassVar[str]  # bltm
    def __init__(
        self,
        *,
        topics: int = ...,
        iterations: int = ...,
        alpha: float = ...,
        beta: float = ...,
        steps: int = ...,
        document: float = ...,
        topic: float = ...,
        click_tf: str = ...,
        seed: int = ...,
    ) -> None: ...

class SparsePreference(MatchingModel):
    """Sparse preferences: learns a weight for every pair of a query word and a document word.

    The score is q' W d. With W the identity it is that of the base, BM25. W starts there and learns
    from tuples: for this query this document is better than that one. Most weights stay 0, so the model
    says which words go together, and can go on learning later.

    Tuples are drawn from the responses of the dataset: a higher grade is better than a lower one or
    none; a click is better than none, and, where the log has positions, better than what was shown
    above it and skipped.

    auto: chosen by NDCG@10 on the validation judgments, after trials of fixed size; every trial is kept
    in the model. Without judgments margin=0.3, c=2, lambda=0.000001.

    Args:
        base: scores that learning starts from: bm25, or cosine (of tf-idf vectors; tf and idf are
            its settings)
        k1: of the base bm25: how soon repeating a word stops counting, from 0
        b: of the base bm25: how much long documents are held back, from 0 to 1
        blend: share of what was learned, from 0: W = (1 - blend) I + blend * learned; auto: on the
            validation judgments, 0 unless another is better by more than one standard error
        variant: identity (nothing is learned), diagonal (words with themselves), dense (all
            weights), sparse (weights are shrunk towards 0, so that few are left), refit (sparse;
            then the weights that are left learn once more without shrinkage)
        tuples: tuples to draw; auto is 200 for each training pair, from 100,000 to 1,000,000
        judged: share of the tuples whose worse document was judged lower, or skipped above a click,
            where there is one
        hard: share of the other tuples whose worse document looks like an answer: one of the 50
            best of the base
        margin: learn from tuples whose scores are less apart than this
        c: length of the first step
        step: length of the others: decaying (c / sqrt(t)) or fixed (c)
        lambda_: how strongly weights are shrunk towards 0
        shrink_every: steps from one shrinkage to the next
        average: whether refitting ends with the mean of W over its steps
        max_mib: MiB that W may take while it is learned; beyond it W is shrunk harder, with a note;
            0 for no ceiling
        tf: transform of the count of a word: count, log, binary
        idf: weight of a word by its frequency: none, smooth, plain, bm25
        seed: seed of everything random
    """

    kind: ClassVar[str]  # sparse-preference
    def __init__(
        self,
        *,
        base: str = ...,
        k1: float | str = ...,
        b: float | str = ...,
        blend: float | str = ...,
        variant: str = ...,
        tuples: float | str = ...,
        judged: float = ...,
        hard: float = ...,
        margin: float | str = ...,
        c: float | str = ...,
        step: str = ...,
        lambda_: float | str = ...,
        shrink_every: int = ...,
        average: bool = ...,
        max_mib: int = ...,
        tf: str = ...,
        idf: str = ...,
        seed: int = ...,
    ) -> None: ...

class Combination(CombinationModel):
    """Combination of models: a weighted sum of their standardised scores.

    The scores of the models are standardised for each query over the documents that are ranked. The
    weights are 0 or more and sum to 1. They are as given, or tenths that are chosen on the validation
    judgments: all eleven choices for two models, a search for more. By default the simplest choice is
    kept whose figure is within one standard error of the best: a single model (BM25 first) before a
    sum, fewer models before more. So a model that does not help gets weight 0. A combination may be
    combined again.

    Args:
        rule: weights to keep: one_se (the simplest within one standard error of the best) or best
        seed: seed of everything random
    """

    kind: ClassVar[str]  # combination
    def __init__(
        self,
        of: Mapping[str, Any] | Iterable[Any],
        *,
        weights: Sequence[float] | None = ...,
        candidates: str = ...,
        rule: str = ...,
        seed: int = ...,
    ) -> None: ...

class Stack(StackModel):
    """Stack: a ranker whose features are the scores of several models.

    The best documents of every model are the candidates of a query; their scores, plain and
    standardised over the candidates, are the features. The ranker learns from the validation judgments.
    Which ranker, and how large, is chosen by folds of the validation queries, each ranked by what was
    learned from the others.

    Args:
        ranker: auto (the best of listnet and lambdamart), listnet, mart, lambdamart
        depth: best documents of every model that are candidates
        candidates: documents of a query that are learned from: judged, all (the candidates), auto
            (judged where most queries have irrelevant ones among them)
        clicks: whether training clicks are features too: on the document, of the query, and of the
            query on the document, each as log(1 + n)
        attributes: whether attributes of documents are features too: numbers, ages by dates, the
            most frequent values of categories, and whether the query contains the value
        queries: validation queries that are learned from, at most
        folds: folds of the validation queries
        bags: parts of the queries that trees are grown on; the mean of their values ranks
        trees: trees of a bag at most
        learning_rate: factor that the values of each tree are multiplied by
        min_rows: rows of a leaf at least
        seed: seed of everything random
    """

    kind: ClassVar[str]  # stack
    def __init__(
        self,
        of: Mapping[str, Any] | Iterable[Any],
        *,
        ranker_of: StackModel | None = ...,
        ranker: float | str = ...,
        depth: int = ...,
        candidates: float | str = ...,
        clicks: bool = ...,
        attributes: bool = ...,
        queries: int = ...,
        folds: int = ...,
        bags: int = ...,
        trees: int = ...,
        learning_rate: float = ...,
        min_rows: int = ...,
        seed: int = ...,
    ) -> None: ...

__all__ = ["CLASSES", "Description", "Explanation", "MatchingModel", "Bm25", "Rm3", "Clicks", "RandomWalk", "LsiDt", "LsiQd", "Pls", "Rmls", "Ssi", "SvdFeature", "Bltm", "SparsePreference", "Combination", "Stack", "load"]
