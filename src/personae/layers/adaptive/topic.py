"""Weights that follow the topics."""

from torch import Tensor

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State, Step
from personae.layers.adaptive.parts import BiasEnding, Ending, Factors, multiplied
from personae.layers.adaptive.repeated import Repeated


@Parameterisation.register("topic")
class Topic(Parameterisation):
    """W = U diag(theta) V^T, of rank K: the poster's topic-aware parameterisation, the same W at every step.

    One W for input and one for hidden state, each for all four gates. The released ``topic_adaptive_lstm`` maps theta
    to F factors first and has layer norms: ``topic-published``.
    """

    reads = frozenset({"theta"})
    ending_kind: type[Ending] = BiasEnding

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        gates, directions = 4 * sizes.hidden, sizes.directions
        self.of_input = Factors(directions, gates, self.rank, sizes.inputs)
        self.of_hidden = Factors(directions, gates, self.rank, sizes.hidden)
        self.ending = self.ending_kind(directions, sizes.hidden, dropout)

    @property
    def rank(self) -> int:
        """Length of the diagonal."""
        return self.sizes.topics

    def diagonals(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """The diagonals of the input's W and of the hidden state's, each (D or 1, B, rank), from theta (B, K)."""
        return theta[None], theta[None]

    def prepare(self, inputs: Tensor, given: Given) -> Step:
        """See ``Parameterisation``: the whole input side is hoisted."""
        of_input, of_hidden = self.diagonals(given.of("theta"))
        scaled = multiplied(inputs, self.of_input.right) * of_input[:, None]
        before = self.ending.before(multiplied(scaled, self.of_input.left)).unbind(1)
        right, left = Repeated(self.of_hidden.right.mT), Repeated(self.of_hidden.left.mT)

        def step(at: int, state: State) -> State:
            hidden, cell = state
            following: State = self.ending(before[at], left(right(hidden) * of_hidden), cell)
            return following

        return step

    def initialise(self) -> None:
        """Orthogonal factors, scaled so that for even shares W starts as large as a plain LSTM's."""
        for factors in (self.of_input, self.of_hidden):
            factors.initialise(factors.gain_for(1 / self.sizes.topics))
        self.ending.initialise()
