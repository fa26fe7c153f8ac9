"""What holds for every fusion in the registry. Shapes: B batch, T reply, S source, D width."""

import ast
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

import personae
from personae.errors import UserError
from personae.fusion import Fusion
from tests.fusion.answers import KeptPast
from tests.helpers import CLOSE, Layer, fitting

SOURCE = Path(personae.__file__).parent
B, T, D = 3, 5, 8
LENGTHS = ((4, 6, 2), (7, 1, 5), (3, 3, 6), (2, 5, 4))

CASES = [(name, count) for count in (1, 2, 3, 4) for name in fitting(count)]
each_case = pytest.mark.parametrize(("name", "count"), CASES)
each_name = pytest.mark.parametrize("name", Fusion.names())

Sources = list[tuple[Tensor, Tensor]]


def layer_of(name: str, count: int, seed: int = 0) -> Layer:
    """In eval mode: in training a fusion may draw at random."""
    return Layer(name, count, seed=seed).eval()


def hidden_states(seed: int = 0) -> Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(seed))


def sources_of(count: int, seed: int = 0, side: str = "right", extra: int = 0) -> Sources:
    """States and masks; what stands under padding is noise that differs with ``side`` and ``extra``."""
    return [padded(LENGTHS[at], seed + 10 * at, side, extra) for at in range(count)]


def padded(lengths: tuple[int, ...], seed: int, side: str, extra: int) -> tuple[Tensor, Tensor]:
    width = max(lengths) + extra
    states = 5 * torch.randn(B, width, D, generator=torch.Generator().manual_seed(99 + extra))
    mask = torch.zeros(B, width, dtype=torch.bool)
    for row, length in enumerate(lengths):
        part = slice(0, length) if side == "right" else slice(width - length, width)
        generator = torch.Generator().manual_seed(1000 * seed + row)
        states[row, part] = torch.randn(length, D, generator=generator)
        mask[row, part] = True
    return states, mask


def alone(sources: Sources, row: int) -> Sources:
    """One example, its padding gone."""
    return [(states[row][mask[row]][None], mask[row][mask[row]][None]) for states, mask in sources]


def assert_same(ours: tuple[Tensor, ...], theirs: tuple[Tensor, ...]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


@each_case
def test_one_finite_contribution_per_view(name: str, count: int) -> None:
    contributions = layer_of(name, count)(hidden_states(), sources_of(count))
    assert isinstance(contributions, tuple)
    assert len(contributions) == count + Fusion.get(name).own
    for contribution in contributions:
        assert contribution.shape == (B, T, D)
        assert contribution.isfinite().all()
    assert any(contribution.abs().sum() > 0 for contribution in contributions)


@each_case
@pytest.mark.parametrize(("side", "extra"), [("left", 0), ("right", 3), ("left", 4)])
def test_padding_changes_nothing(name: str, count: int, side: str, extra: int) -> None:
    layer, hidden = layer_of(name, count), hidden_states()
    assert_same(layer(hidden, sources_of(count, side=side, extra=extra)), layer(hidden, sources_of(count)))


@each_case
def test_a_batch_is_its_single_members(name: str, count: int) -> None:
    layer, hidden, sources = layer_of(name, count), hidden_states(), sources_of(count)
    together = layer(hidden, sources)
    for row in range(B):
        assert_same(layer(hidden[row : row + 1], alone(sources, row)), tuple(part[row : row + 1] for part in together))


@each_case
@pytest.mark.parametrize("at", range(1, T))
def test_no_look_ahead(name: str, count: int, at: int) -> None:
    layer, hidden, sources = layer_of(name, count), hidden_states(), sources_of(count)
    other = torch.cat([hidden[:, :at], hidden_states(seed=1)[:, at:]], dim=1)
    before = layer(hidden, sources)
    after = layer(other, sources)
    assert_same(tuple(part[:, :at] for part in after), tuple(part[:, :at] for part in before))


@each_case
def test_one_step_at_a_time_is_the_full_pass(name: str, count: int) -> None:
    layer, hidden, sources = layer_of(name, count), hidden_states(), sources_of(count)
    stepwise = Fusion.get(name).stepwise
    kept, steps = KeptPast(), []
    for at in range(T):
        step = hidden[:, at : at + 1]
        past = () if stepwise else (kept.step(torch.ones(B, 1, at + 1).bool()),)
        steps.append(layer.fusion(step, layer.views(step, sources), *past))
    assert len(kept.kept) == (0 if stepwise else T)
    assert_same(tuple(torch.cat(parts, dim=1) for parts in zip(*steps, strict=True)), layer(hidden, sources))


@each_case
def test_every_parameter_gets_a_gradient(name: str, count: int) -> None:
    layer = layer_of(name, count)
    for seed in range(5):
        weights = torch.randn(count + 1, B, T, D, generator=torch.Generator().manual_seed(seed))
        contributions = layer(hidden_states(seed), sources_of(count, seed))
        sum((part * weight).sum() for part, weight in zip(contributions, weights, strict=False)).backward()
    for key, parameter in layer.named_parameters():
        if not parameter.requires_grad:
            continue
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.abs().sum() > 0, key


@each_case
def test_a_half_precision_pass_keeps_its_type(name: str, count: int) -> None:
    layer = layer_of(name, count).to(torch.bfloat16)
    sources = [(states.to(torch.bfloat16), mask) for states, mask in sources_of(count)]
    for contribution in layer(hidden_states().to(torch.bfloat16), sources):
        assert contribution.dtype == torch.bfloat16
        assert contribution.isfinite().all()


@each_case
def test_save_and_load_are_equal(name: str, count: int) -> None:
    one, other = layer_of(name, count, seed=0), layer_of(name, count, seed=1)
    other.load_state_dict(one.state_dict())
    hidden, sources = hidden_states(), sources_of(count)
    for ours, theirs in zip(one(hidden, sources), other(hidden, sources), strict=True):
        assert torch.equal(ours, theirs)


@each_name
def test_another_number_of_sources_is_the_users_error(name: str) -> None:
    arity, least = Fusion.get(name).arity, Fusion.get(name).least
    needed = f"at least {least}" if arity is None else str(arity)
    for count in {0, 1, 2, 3, 4} - set(range(least, 5) if arity is None else [arity]):
        with pytest.raises(UserError, match=f"'{name}' needs {needed} sources, the recipe has {count}"):
            Fusion.build(name, dim=D, sources=count)


@each_name
def test_an_unknown_option_is_the_users_error(name: str) -> None:
    sources = Fusion.get(name).arity or Fusion.get(name).least
    with pytest.raises(UserError, match=f"fusion '{name}' has no option 'sorces'.*'sources'"):
        Fusion.build(name, dim=D, sources=sources, sorces=1)


@each_name
def test_it_says_in_a_line_what_it_does(name: str) -> None:
    assert len(Fusion.get(name).summary()) > 20
    assert "ontribution" in (Fusion.get(name).__doc__ or "")


@each_name
def test_it_is_one_short_file_of_its_own(name: str) -> None:
    file = Path(inspect.getfile(Fusion.get(name)))
    assert file.parent == SOURCE / "fusion"
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 60
    assert [other for other in Fusion.names() if inspect.getfile(Fusion.get(other)) == str(file)] == [name]


def outside() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE / "fusion"]


# Fusions that are called by an everyday word: as such it may stand anywhere, but never where a fusion is chosen.
EVERYDAY = {
    "attention",
    "condition",
    "context",
    "flat",
    "linear",
    "max",
    "mean",
    "min",
    "parallel",
    "random",
    "skipped",
    "sum",
}


def names_in(tree: ast.AST) -> Iterator[str]:
    """Quoted fusion names, everyday words only where they choose, and imports of one fusion's module.

    Another registry may have the same name: its ``register`` call names none of the fusions.
    """
    chosen = {id(each) for node in ast.walk(tree) for each in choices(node)}
    others = {id(each) for node in ast.walk(tree) for each in registered_elsewhere(node)}
    for node in sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0)):
        named = isinstance(node, ast.Constant) and node.value in Fusion.names() and id(node) not in others
        if named and (node.value not in EVERYDAY or id(node) in chosen):
            yield f"line {node.lineno}: '{node.value}'"
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        if module.startswith("personae.fusion.") and module != "personae.fusion.base":
            yield f"line {node.lineno}: {module}"


def registered_elsewhere(node: ast.AST) -> Sequence[ast.AST]:
    """What ``Parameterisation.register(X)`` and the like are given."""
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return node.args if called.endswith(".register") and called != "Fusion.register" else ()


def choices(node: ast.AST) -> Iterator[ast.AST]:
    """Constants of ``{"name": X}``, ``Fusion.build(X)`` and of what is compared with something called fusion."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield from (value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "name")
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Fusion.build", "Fusion.get"):
        yield from node.args
    if isinstance(node, ast.Compare) and "fusion" in ast.unparse(node):
        yield from (each for part in node.comparators for each in ast.walk(part))


@pytest.mark.parametrize("path", outside(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_outside_names_a_fusion(path: Path) -> None:
    assert list(names_in(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("name", ["paa", "sum"])
def test_the_search_for_names_finds_them(name: str) -> None:
    code = f"x = {{'name': '{name}'}}\nFusion.build('{name}')\nfrom personae.fusion.{name} import A\n"
    code += f"if self.fusion.name == '{name}':\n    pass\n"
    expected = [f"line 1: '{name}'", f"line 2: '{name}'", f"line 3: personae.fusion.{name}", f"line 4: '{name}'"]
    assert list(names_in(ast.parse(code))) == expected


def test_an_everyday_word_is_no_choice() -> None:
    assert list(names_in(ast.parse("sources = ['context']\nf(reduction='sum')\n"))) == []


@each_case
def test_gates_are_what_the_answers_are_multiplied_with(name: str, count: int) -> None:
    layer, hidden, kind = layer_of(name, count), hidden_states(), Fusion.get(name)
    views = layer.views(hidden, sources_of(count))
    if not kind.gated:
        with pytest.raises(UserError, match=f"'{name}' has no gates"):
            layer.fusion.gates(hidden, views)
        return
    gates = layer.fusion.gates(hidden, views)
    share = 2 if kind.own else 1  # what is kept of the state itself takes its half
    for said, weight, mask, view in zip(layer.fusion(hidden, views)[kind.own :], *gates, views, strict=True):
        assert weight.shape == mask.shape == (B, T, D)
        assert ((weight >= 0) & (weight <= 1)).all()
        assert ((mask == 0) | (mask == 1)).all()
        torch.testing.assert_close(said, weight * mask * view.output / share, **CLOSE)


@each_case
def test_source_weights_are_one_for_each_view(name: str, count: int) -> None:
    layer = layer_of(name, count)
    if layer.fusion.weighs_by is None:
        with pytest.raises(UserError, match="no weights of its sources"):
            layer.fusion.source_weights()
    else:
        assert layer.fusion.source_weights().shape == (count,)
