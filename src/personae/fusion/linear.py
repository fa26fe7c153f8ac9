"""Linear combination of the sources' answers (Cao et al. 2020, "linear")."""

from personae.fusion.base import Fusion
from personae.fusion.param import LearntSum


@Fusion.register("linear")
class LinearCombination(LearntSum):
    """One linear layer over the concatenated answers, N D to D (Cao et al. 2020, "linear"); equals ``param``.

    Contribution of view i: W_i o_i + b / N, W_i the columns of the weight that read o_i. The paper starts the
    weight from a normal distribution, as a model here does; the published code leaves torch's uniform start,
    which is that of this layer on its own.
    """
