"""Type stubs, written by make_stubs.py from the engine's tables."""

from . import client as client
from . import export as export
from . import ir_measures as ir_measures
from . import pyterrier as pyterrier
from . import rankers as rankers
from . import simulate as simulate
from ._model import (
    Description as Description,
    Explanation as Explanation,
    MatchingModel as MatchingModel,
)
from ._progress import (
    set_progress as set_progress,
)
from ._ranker import (
    FeatureLists as FeatureLists,
    read_letor as read_letor,
)
from .client import (
    Client as Client,
)
from .datasets import (
    Dataset as Dataset,
)
from .errors import (
    DivergedError as DivergedError,
    Error as Error,
    FileError as FileError,
    FormatError as FormatError,
    InputTypeError as InputTypeError,
    InternalError as InternalError,
    MissingFileError as MissingFileError,
    NotFittedError as NotFittedError,
    ParameterError as ParameterError,
    ParseError as ParseError,
    ServiceError as ServiceError,
    ShapeError as ShapeError,
)
from .evaluation import (
    Evaluation as Evaluation,
    evaluate as evaluate,
    significance as significance,
)
from .experiments import (
    Comparison as Comparison,
    TunedModel as TunedModel,
    compare as compare,
    features as features,
    open_comparison as open_comparison,
    tune as tune,
)
from .models import (
    Bltm as Bltm,
    Bm25 as Bm25,
    Clicks as Clicks,
    Combination as Combination,
    LsiDt as LsiDt,
    LsiQd as LsiQd,
    Pls as Pls,
    RandomWalk as RandomWalk,
    Rm3 as Rm3,
    Rmls as Rmls,
    SparsePreference as SparsePreference,
    Ssi as Ssi,
    Stack as Stack,
    SvdFeature as SvdFeature,
    load as load,
)
from .rankers import (
    LambdaMart as LambdaMart,
    ListNet as ListNet,
    Mart as Mart,
    Perceptron as Perceptron,
    QueryDependent as QueryDependent,
    RankSVM as RankSVM,
    Ridge as Ridge,
    Slam as Slam,
)
from .tables import (
    Table as Table,
)

__version__: str

def set_threads(n: int) -> None: ...
def threads() -> int: ...
