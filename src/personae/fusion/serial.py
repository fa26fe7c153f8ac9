"""Serial combination of sources (Libovicky, Helcl and Marecek 2018)."""

from collections.abc import Sequence

from torch import Tensor

from personae.fusion.base import Fusion, View


@Fusion.register("serial")
class Serial(Fusion):
    """Sources are asked one after the other, each with the answers before it added (Libovicky et al. 2018).

    s_0 = h; a_i = ask_i(s_{i-1}), which norms the state with the source's own layer norm; s_i = s_{i-1} + a_i.
    Contribution of source i: a_i. No parameters of its own; the order of the sources matters.
    """

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return (a_1, ..., a_N), each (B, T, D)."""
        state, answers = hidden, []
        for view in views:
            answers.append(view.ask(state))
            state = state + answers[-1]
        return tuple(answers)
