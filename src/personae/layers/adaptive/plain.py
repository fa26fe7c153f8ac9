"""The plain LSTM."""

from torch import Tensor

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State, Step
from personae.layers.adaptive.parts import BiasEnding, Ending, matrix, multiplied, uniform
from personae.layers.adaptive.repeated import Repeated


@Parameterisation.register("plain")
class Plain(Parameterisation):
    """The LSTM of ``torch.nn.LSTM``: [i f o g] = W_x x_t + W_h h_{t-1} + b, the same W for every example and step.

    The poster's SEQ2SEQ; released as ``basic_lstm``.
    """

    ending_kind: type[Ending] = BiasEnding

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        self.weight_ih = matrix(sizes.directions, 4 * sizes.hidden, sizes.inputs)
        self.weight_hh = matrix(sizes.directions, 4 * sizes.hidden, sizes.hidden)
        self.ending = self.ending_kind(sizes.directions, sizes.hidden, dropout)

    def prepare(self, inputs: Tensor, given: Given) -> Step:
        """See ``Parameterisation``: the whole input side is hoisted."""
        before = self.ending.before(multiplied(inputs, self.weight_ih)).unbind(1)
        multiply = Repeated(self.weight_hh.mT)

        def step(at: int, state: State) -> State:
            hidden, cell = state
            following: State = self.ending(before[at], multiply(hidden), cell)
            return following

        return step

    def initialise(self) -> None:
        """As PyTorch does."""
        for weight in (self.weight_ih, self.weight_hh):
            uniform(weight, self.sizes.hidden)
        self.ending.initialise()
