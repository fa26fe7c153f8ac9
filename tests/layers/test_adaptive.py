"""Adaptive LSTMs against their formulas, and what holds for every parameterisation."""

import pytest
import torch
from torch import Tensor, nn

from personae.errors import UserError
from personae.layers.adaptive import AdaptiveLSTM, Given, Parameterisation, Sizes, flat, summed, unflat
from tests.helpers import shake

BATCH, TIME, INPUTS, HIDDEN = 3, 6, 4, 5
SIZES = {"context": 7, "xi": 3, "topics": 2, "factors": 3, "squeeze": 2}
CLOSE = {"atol": 1e-10, "rtol": 1e-10}


def lstm(kind: str, both: bool = True, layers: int = 2, **options: float) -> AdaptiveLSTM:
    torch.manual_seed(0)
    stack = AdaptiveLSTM(kind, INPUTS, HIDDEN, layers, both, **options, **SIZES)
    for layer in stack.layers:
        layer.initialise()
    return shake(stack).double()


def given(rows: slice = slice(None)) -> Given:
    torch.manual_seed(1)
    zeta, theta = torch.randn(BATCH, SIZES["context"]), torch.randn(BATCH, SIZES["topics"]).softmax(-1)
    return Given(zeta.double()[rows], theta.double()[rows])


def inputs() -> Tensor:
    torch.manual_seed(2)
    return torch.randn(BATCH, TIME, INPUTS).double()


@pytest.fixture(params=Parameterisation.names())
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def recurrent(stack: AdaptiveLSTM, layer: int, weights: tuple[Tensor, Tensor], bias: Tensor, x: Tensor) -> Tensor:
    """h_T of one example x (T, I) under constant matrices W (4H, I), W' (4H, H), written out; gates i, f, o, g."""
    hidden = cell = torch.zeros(HIDDEN).double()
    for one in x:
        i, f, o, g = (weights[0] @ one + weights[1] @ hidden + bias).chunk(4)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
    return hidden


def bias_of(layer: nn.Module) -> Tensor:
    return layer.ending.bias_ih[0] + layer.ending.bias_hh[0]


def test_plain_is_torchs_lstm():
    stack, theirs = lstm("plain"), nn.LSTM(INPUTS, HIDDEN, 2, batch_first=True, bidirectional=True).double()
    for at, layer in enumerate(stack.layers):
        values = {
            "weight_ih": layer.weight_ih,
            "weight_hh": layer.weight_hh,
            "bias_ih": layer.ending.bias_ih,
            "bias_hh": layer.ending.bias_hh,
        }
        for name, value in values.items():
            for way, end in enumerate(("", "_reverse")):
                i, f, o, g = value[way].chunk(4)
                getattr(theirs, f"{name}_l{at}{end}").data = torch.cat([i, f, g, o]).detach()
    found, last = stack(inputs())
    expected, (hidden, cell) = theirs(inputs())
    torch.testing.assert_close(found, expected, **CLOSE)
    torch.testing.assert_close(torch.cat([state[0] for state in last]), hidden, **CLOSE)
    torch.testing.assert_close(torch.cat([state[1] for state in last]), cell, **CLOSE)


def test_topic_is_the_posters_product():
    stack, x, theta = lstm("topic", both=False, layers=1), inputs(), given().theta
    layer = stack.layers[0]
    found, _ = stack(x, given=given())
    for row in range(BATCH):
        matrices = tuple(each.left[0] @ theta[row].diag() @ each.right[0] for each in (layer.of_input, layer.of_hidden))
        expected = recurrent(stack, 0, matrices, bias_of(layer), x[row])
        torch.testing.assert_close(found[row, -1], expected, **CLOSE)


def poster_step(layer: nn.Module, zeta: Tensor, xi: Tensor, inner: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """xi_t and its cell: an LSTM over [zeta; h_{t-1}]."""
    bias = layer.phi.ending.bias_ih[0] + layer.phi.ending.bias_hh[0]
    read = torch.cat([zeta, hidden])
    i, f, o, g = (layer.phi.weight_ih[0] @ read + layer.phi.weight_hh[0] @ xi + bias).chunk(4)
    inner = f.sigmoid() * inner + i.sigmoid() * g.tanh()
    return o.sigmoid() * inner.tanh(), inner


def written_out(layer: nn.Module, matrices, zeta: Tensor, x: Tensor) -> Tensor:
    """h_T of one example, W built anew at every step by ``matrices(layer, xi)``: (4H, I) and (4H, H)."""
    hidden = cell = torch.zeros(HIDDEN).double()
    xi = inner = torch.zeros(SIZES["xi"]).double()
    for one in x:
        xi, inner = poster_step(layer, zeta, xi, inner, hidden)
        of_input, of_hidden = matrices(layer, xi)
        i, f, o, g = (of_input @ one + of_hidden @ hidden + bias_of(layer)).chunk(4)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
    return hidden


def test_context_is_the_posters_product():
    stack, x, zeta = lstm("context", both=False, layers=1), inputs(), given().zeta

    def matrices(layer, xi):
        return tuple(each.left[0] @ xi.diag() @ each.right[0] for each in (layer.of_input, layer.of_hidden))

    found, _ = stack(x, given=given())
    for row in range(BATCH):
        expected = written_out(stack.layers[0], matrices, zeta[row], x[row])
        torch.testing.assert_close(found[row, -1], expected, **CLOSE)


def test_both_mixes_the_two_matrices():
    """W = Psi A_c + (1 - Psi) A_k, Psi a number for each row."""
    stack, x, zeta, theta = lstm("both", both=False, layers=1), inputs(), given().zeta, given().theta
    found, _ = stack(x, given=given())
    for row in range(BATCH):

        def matrices(layer, xi, topics=theta[row]):
            mixed = []
            for side, name in enumerate(("input", "hidden")):
                context, topic = getattr(layer, f"context_{name}"), getattr(layer, f"topic_{name}")
                bias = layer.gate_bias[side]
                psi = (layer.gate_xi[side] @ xi + layer.gate_theta[side] @ topics + bias).sigmoid()[:, None]
                of_context = context.left[0] @ xi.diag() @ context.right[0]
                mixed.append(psi * of_context + (1 - psi) * topic.left[0] @ topics.diag() @ topic.right[0])
            return mixed

        torch.testing.assert_close(found[row, -1], written_out(stack.layers[0], matrices, zeta[row], x[row]), **CLOSE)


@pytest.mark.parametrize("both", [False, True])
def test_padding_on_either_side_changes_nothing(kind, both):
    stack, x = lstm(kind, both), inputs()
    lengths = (6, 2, 4)
    for before, after in ((0, 3), (3, 0), (2, 1)):
        padded, mask = torch.randn(BATCH, TIME + 3, INPUTS).double(), torch.zeros(BATCH, TIME + 3).bool()
        for row, length in enumerate(lengths):
            start = before if after else TIME + 3 - length
            padded[row, start : start + length], mask[row, start : start + length] = x[row, :length], True
        found, last = stack(padded, mask, given())
        for row, length in enumerate(lengths):
            rows = slice(row, row + 1)
            expected, kept = stack(x[rows, :length], None, given(rows))
            torch.testing.assert_close(found[row][mask[row]], expected[0], **CLOSE)
            for one, other in zip(last, kept, strict=True):
                for part, wanted in zip(one, other, strict=True):
                    torch.testing.assert_close(part[:, rows], wanted, **CLOSE)


def test_steps_go_on_where_the_last_stopped(kind):
    stack, x = lstm(kind, both=False), inputs()
    whole, last = stack(x, given=given())
    first, states = stack(x[:, :4], given=given())
    second, end = stack(x[:, 4:], given=given(), states=unflat(flat(states), stack))
    torch.testing.assert_close(torch.cat([first, second], 1), whole, **CLOSE)
    torch.testing.assert_close(flat(end), flat(last), **CLOSE)


def test_it_adapts_to_what_it_says_and_to_nothing_else(kind):
    stack, x = lstm(kind), inputs()
    reads = Parameterisation.get(kind).reads
    before = stack(x, given=given())[0]
    for name in ("zeta", "theta"):
        other = {**vars(given()), name: getattr(given(), name).flip(0)}
        differs = (stack(x, given=Given(**other))[0] - before).abs().max() > 1e-4
        assert differs == (name in reads)
        if name in reads:
            with pytest.raises(UserError, match=name):
                stack(x, given=Given(**{**vars(given()), name: None}))


def test_every_parameter_gets_a_finite_start_and_a_gradient(kind):
    torch.manual_seed(0)
    layer = Parameterisation.build(kind, sizes=Sizes(INPUTS, HIDDEN, 2, **SIZES))
    for parameter in layer.parameters():
        parameter.data.fill_(torch.nan)
    layer.initialise()
    assert all(parameter.isfinite().all() for parameter in layer.parameters())
    stack = lstm(kind)
    stack(inputs(), given=given())[0].square().sum().backward()
    for name, parameter in stack.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_the_posters_matrices_start_as_large_as_an_lstms():
    """Uniform in +-1 / sqrt(H): deviation 1 / sqrt(3 H)."""
    sizes = Sizes(60, 50, context=50, xi=30, topics=5)
    torch.manual_seed(0)
    for kind, diagonal, rank in (("context", 0.1, 30), ("topic", 1 / 5, 5)):
        layer = Parameterisation.build(kind, sizes=sizes)
        layer.initialise()
        for each in (layer.of_input, layer.of_hidden):
            matrix = each.left[0] @ torch.full((rank,), diagonal).diag() @ each.right[0]
            assert matrix.std().item() == pytest.approx((3 * 50) ** -0.5, rel=0.1)


def test_dropout_is_on_candidates_and_between_layers():
    x = inputs()
    for options in ({"inside": 0.5}, {"between": 0.5}):
        stack = lstm("plain", **options)
        torch.manual_seed(0)
        first = stack.train()(x)[0]
        assert not torch.equal(first, stack(x)[0])
        assert torch.equal(stack.eval()(x)[0], stack(x)[0])


def test_summed_states_are_of_one_direction(kind):
    _, last = lstm(kind)(inputs(), given=given())
    for one, both in zip(summed(last), last, strict=True):
        for part, whole in zip(one, both, strict=True):
            torch.testing.assert_close(part[0], whole[0] + whole[1])


def test_nothing_to_read_leaves_the_zero_state(kind):
    outputs, last = lstm(kind)(inputs()[:, :0], given=given())
    assert outputs.shape == (BATCH, 0, 2 * HIDDEN)
    assert all((part == 0).all() for state in last for part in state)


def test_a_size_that_makes_no_network_is_refused():
    with pytest.raises(UserError, match="topics is at least 1"):
        AdaptiveLSTM("topic", 4, 5, topics=0)
    with pytest.raises(UserError, match="Did you mean 'topic'"):
        AdaptiveLSTM("topics", 4, 5)


def test_both_directions_are_a_forward_and_a_backward_one(kind):
    """The parameters of either, taken out of those that hold both."""
    both, x = lstm(kind, layers=1), inputs()
    found, _ = both(x, given=given())
    for way, order in enumerate((lambda one: one, lambda one: one.flip(1))):
        single = lstm(kind, both=False, layers=1)
        for mine, theirs in zip(single.layers[0].parameters(), both.layers[0].parameters(), strict=True):
            sides = theirs.view(-1, 2, *theirs.shape[1:]) if len(mine) != 16 else theirs.view(2, 16, *theirs.shape[1:])
            mine.data = (sides[:, way] if len(mine) != 16 else sides[way]).clone()
        expected, _ = single(order(x), given=given())
        torch.testing.assert_close(found.chunk(2, dim=-1)[way], order(expected), **CLOSE)


def test_bf16_autocast_is_near(kind):
    stack, x = lstm(kind).float(), inputs().float()
    some = Given(*(part.float() for part in vars(given()).values()))
    with torch.autocast("cpu", torch.bfloat16):
        rough = stack(x, given=some)[0]
    rough.float().square().sum().backward()
    assert all(one.grad.isfinite().all() for one in stack.parameters() if one.grad is not None)
    assert (rough.float() - stack(x, given=some)[0]).abs().mean() < 0.03
