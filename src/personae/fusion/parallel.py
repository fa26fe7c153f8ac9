"""Parallel combination of sources (Libovicky, Helcl and Marecek 2018)."""

from personae.fusion.base import Fusion
from personae.fusion.sum import DirectSum


@Fusion.register("parallel")
class Parallel(DirectSum):
    """Every source is asked with the same state, the answers are added (Libovicky et al. 2018); equals ``sum``.

    Contribution of source i: o_i.
    """
