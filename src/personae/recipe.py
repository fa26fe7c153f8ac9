"""Recipe: everything that decides a run, as dataclasses read from YAML with dotted overrides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from personae.data.subset import Subset
from personae.decoding import Decoding
from personae.errors import UserError, nearest
from personae.text.pack import TYPES
from personae.text.style import STYLES

EXTENDS = "extends"
# Numbers of ``train`` that mean nothing at 0.
ABOVE_ZERO = (
    *("batch", "accumulation", "lr", "fusion_rate", "epochs"),
    *("evaluate_every", "save_every", "keep", "log_every"),
)


@dataclass
class DataRecipe:
    """Where dialogues come from.

    ``reader``: a reader's name (None: guessed from the file). ``train``, ``valid``: paths; or ``generate``:
    ``{corpus: interview, seed: 0, sizes: {...}}`` writes them into the run. ``holdout``: without ``valid``, this
    share of the training conversations, drawn by seed, is kept for validation. ``conversations``: train on so
    many conversations only, drawn by seed (None: all). ``fraction``: train on this share of the data only, which
    ``sample`` chooses (``personae list subsets``): ``random`` conversations by seed, or ``longest-contexts``.
    """

    reader: str | None = None
    train: list[str] = field(default_factory=list)
    valid: list[str] = field(default_factory=list)
    generate: dict[str, Any] | None = None
    holdout: float = 0.0
    on_error: str = "raise"
    conversations: int | None = None
    fraction: float = 1.0
    sample: str = "random"


@dataclass
class TextRecipe:
    """How words become numbers.

    ``tokenizer``: a folder or hub name (None: a byte-level BPE of ``vocabulary`` tokens is trained on the
    training text). ``budgets``: the most tokens per source and for ``reply``. ``long_replies``: ``raise`` or
    ``skip`` (counted) for a reply over its budget. ``style``: ``as_read``, or ``convai2`` to train on text brought
    to ConvAI2's spelling (lower case, blanks around punctuation); scoring always takes the text as read.
    ``types``: ``none``, ``sources`` or ``speakers``: a token's embedding has that of its source's or its speaker's
    mark added; ``marks`` false: such marks stand in no row; ``turns``: so many turns of the context are read.
    ``window``: so many tokens, the last ones, of an input that holds several sources (a joint one, the prompt).
    """

    tokenizer: str | None = None
    vocabulary: int = 8000
    budgets: dict[str, int] = field(default_factory=dict)
    long_replies: str = "raise"
    style: str = "as_read"
    types: str = "none"
    marks: bool = True
    turns: int | None = None
    window: int | None = None


@dataclass
class ModelRecipe:
    """The network.

    ``sources``: what is encoded; ``prompt``: what the decoder reads before the reply; ``fusion``: name and
    options of the method (a fused model with sources needs one); ``weights``: a GPT-2 checkpoint to start
    from; ``options``: further fields of the model's configuration. Another ``fusion.name`` drops the options of
    the fusion that was there before, another ``name`` the model's ``options``.
    """

    name: str = "fused"
    sources: list[str] = field(default_factory=lambda: ["persona", "context"])
    prompt: list[str] = field(default_factory=lambda: ["persona"])
    fusion: dict[str, Any] = field(default_factory=dict)
    weights: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class TrainRecipe:
    """How it is trained.

    ``batch`` is the batch of one optimiser step on one device, split into ``accumulation`` parts. ``steps``
    ends training before ``epochs`` does; so does ``minutes``, a time budget of this process. ``warmup`` is a
    share of the steps. ``evaluate_every`` and ``save_every`` count steps. ``precision``: auto (bf16 where
    the hardware has it), bf16 or fp32. ``fusion_rate``: the fusion's learning rate as a multiple of ``lr``.
    ``candidates``: so many replies per example, the gold one among them, for a model with a candidate head to tell
    it from; the others are drawn anew in every epoch, from the example's own distractors or, where those are too
    few, from other conversations. ``start_from``: the folder of a run whose weights and words this one starts with;
    what that run lacks, such as a candidate head, starts at random.
    """

    epochs: float = 1.0
    steps: int | None = None
    minutes: float | None = None
    batch: int = 32
    accumulation: int = 1
    lr: float = 1e-4
    fusion_rate: float = 1.0
    schedule: str = "constant"
    warmup: float = 0.0
    weight_decay: float = 0.0
    clip: float = 1.0
    precision: str = "auto"
    evaluate_every: int = 500
    save_every: int = 500
    keep: int = 2
    log_every: int = 20
    buckets: bool = True
    candidates: int = 0
    start_from: str | None = None
    seed: int = 0


@dataclass
class Recipe:
    """Everything that decides a run."""

    data: DataRecipe = field(default_factory=DataRecipe)
    text: TextRecipe = field(default_factory=TextRecipe)
    model: ModelRecipe = field(default_factory=ModelRecipe)
    train: TrainRecipe = field(default_factory=TrainRecipe)
    decoding: Decoding = field(default_factory=Decoding)

    def as_dict(self) -> dict[str, Any]:
        """Plain nested dictionaries."""
        return asdict(self)

    def write(self, path: Path) -> None:
        """Save as YAML."""
        path.write_text(yaml.safe_dump(self.as_dict(), sort_keys=False), encoding="utf-8")


def shipped() -> dict[str, Path]:
    """The recipes in the package: name (``interview/paa``) to file."""
    root = Path(str(resources.files("personae"))) / "recipes"
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.yaml"))}


def load_recipe(name: str | Path, overrides: Iterable[str] = ()) -> Recipe:
    """Read a shipped recipe by name, or a YAML file, and apply ``key=value`` overrides.

    Raises ``UserError`` for an unknown recipe or key (naming the nearest) and for a value of a wrong type.
    """
    return read_recipe(_find(name, Path()), overrides)


def read_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    """Read one YAML file, over the recipe that it ``extends``, and apply overrides."""
    given = [_parse(override) for override in overrides]
    named: dict[str, Any] = {}
    for key, value in given:
        if key[-1] == "name":
            _set(named, key, value)
    values = _without_foreign(_resolve(path), named)
    for key, value in given:
        _set(values, key, value)
    return make_recipe(values, str(path))


def _find(name: str | Path, folder: Path) -> Path:
    """The file of a shipped recipe, or of a path seen from ``folder``."""
    known = shipped()
    path = known.get(str(name), folder / name)
    if not path.is_file():
        choices = ", ".join(known)
        raise UserError(f"no recipe '{name}'.{nearest(str(name), known)} Give a YAML file or one of: {choices}")
    return path


def _resolve(path: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The values of a file over those of the recipe that it extends; ``above``: the files that extend it."""
    values = _read_yaml(path)
    if EXTENDS not in values:
        return values
    chain = (*above, path)
    base = values.pop(EXTENDS)
    if not isinstance(base, str):
        raise UserError(f"{path}: {EXTENDS} should be a recipe's name or a path relative to this file, not '{base}'")
    try:
        found = _find(base, path.parent)
    except UserError as error:
        raise UserError(f"{path}: {EXTENDS}: {error}") from error
    if found.resolve() in {each.resolve() for each in chain}:
        raise UserError(f"recipes extend each other in a circle: {' -> '.join(map(str, (*chain, found)))}")
    said = {key: value for key, value in values.items() if value is not None}  # a section's head alone says nothing
    return _merge(_without_foreign(_resolve(found, chain), said), said)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not readable YAML: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} should hold the sections {', '.join(_names(Recipe))}")
    return values


def _merge(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """``own`` over ``base``: mappings key by key; all else, and an empty mapping, replaces what was there."""
    merged = dict(base)
    for key, value in own.items():
        both = isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
        merged[key] = _merge(base[key], value) if value and both else value
    return merged


def _without_foreign(base: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` without the options of a model or a fusion other than the one that ``own`` names, if it does."""
    old, new = _section(base, "model"), _section(own, "model")
    foreign = set()
    if "name" in new and new["name"] != old.get("name", ModelRecipe.name):
        foreign.add("options")
    fusion = _section(new, "fusion")
    if "name" in fusion and fusion["name"] != _section(old, "fusion").get("name"):
        foreign.add("fusion")
    if not foreign & old.keys():
        return base
    return {**base, "model": {key: value for key, value in old.items() if key not in foreign}}


def _section(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, Mapping) else {}


def make_recipe(values: Mapping[str, Any], where: str = "the recipe") -> Recipe:
    """Check keys and types of nested dictionaries and build the dataclasses."""
    values = {key: {} if value is None else value for key, value in values.items()}
    _check_keys(values, Recipe, "")
    values = {section: _cleared(given, get_type_hints(Recipe)[section]) for section, given in values.items()}
    try:
        merged = OmegaConf.merge(OmegaConf.structured(Recipe), OmegaConf.create(values))
        recipe = OmegaConf.to_object(merged)
    except (OmegaConfBaseException, TypeError) as error:  # TypeError: a list where a section should be, or so
        first = str(error).splitlines()[0]
        key = getattr(error, "full_key", "") or _misfit(values)
        raise UserError(f"{where}: {key}: {first}") from error
    assert isinstance(recipe, Recipe)
    _check_values(recipe)
    return recipe


def _cleared(given: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    """A section with null for a mapping read as an empty one."""
    hints = get_type_hints(kind)
    empty = {key for key, value in given.items() if value is None and get_origin(hints[key]) is dict}
    return {key: {} if key in empty else value for key, value in given.items()}


def _misfit(values: Mapping[str, Any]) -> str:
    """The first key that alone does not fit, for an error that names none."""
    for section, given in values.items():
        for key, value in given.items():
            try:
                OmegaConf.merge(OmegaConf.structured(Recipe), {section: {key: value}})
            except (OmegaConfBaseException, TypeError):
                return f"{section}.{key}"
    return "value"


def _parse(override: str) -> tuple[list[str], Any]:
    """The key, part by part, and the value of one ``a.b=value``; the value is YAML."""
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise UserError(f"'{override}' is not an override: write key=value, as in train.lr=1e-4")
    return key.split("."), _scalar(text)


def _set(values: dict[str, Any], key: Sequence[str], value: Any) -> None:
    """Put ``value`` where ``key`` says, in sections that are made where there are none."""
    *parents, last = key
    for parent in parents:
        if values.get(parent) is None:
            values[parent] = {}
        values = values[parent]
        if not isinstance(values, dict):
            raise UserError(f"'{'.'.join(key)}': '{parent}' holds a value, not a section")
    values[last] = value


def _scalar(text: str) -> Any:
    """YAML 1.1 reads 1e-4 as a string; a number is what the user means."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"override '{text}' is not readable YAML: {' '.join(str(error).split())}") from error
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _check_keys(values: Mapping[str, Any], kind: Any, prefix: str) -> None:
    for key, value in values.items():
        if key not in _names(kind):
            every = [
                f"{section}.{name}" for section in _names(Recipe) for name in _names(get_type_hints(Recipe)[section])
            ]
            here = [f"{prefix}{name}" for name in _names(kind)]
            same = [name for name in every if name.endswith(f".{key}")]
            hint = nearest(f"{prefix}{key}", here) or nearest(same[0] if same else f"{prefix}{key}", every)
            raise UserError(f"unknown recipe key '{prefix}{key}'.{hint} Known here: {', '.join(_names(kind))}")
        inner = get_type_hints(kind)[key]
        if is_dataclass(inner):
            if not isinstance(value, Mapping):
                raise UserError(f"recipe key '{prefix}{key}' is a section: write {prefix}{key}.<name>=value")
            _check_keys(value, inner, f"{prefix}{key}.")


def _check_values(recipe: Recipe) -> None:
    train = recipe.train
    _one_of("train.precision", train.precision, ("auto", "bf16", "fp32"))
    _one_of("text.long_replies", recipe.text.long_replies, ("raise", "skip"))
    _one_of("text.style", recipe.text.style, tuple(STYLES))
    _one_of("text.types", recipe.text.types, TYPES)
    if not 0 <= recipe.data.holdout < 1:
        raise UserError(f"data.holdout={recipe.data.holdout} should be a share from 0 to below 1")
    if recipe.data.holdout and (recipe.data.valid or recipe.data.generate):
        raise UserError("data.holdout takes validation from data.train: leave out data.valid and data.generate")
    _one_of("data.on_error", recipe.data.on_error, ("raise", "skip"))
    _check_part(recipe.data)
    for name in ABOVE_ZERO:
        _above_zero(f"train.{name}", getattr(train, name))
    for key, number in (
        ("train.steps", train.steps),
        ("train.minutes", train.minutes),
        ("data.conversations", recipe.data.conversations),
        ("text.turns", recipe.text.turns),
        ("text.window", recipe.text.window),
    ):
        if number is not None:
            _above_zero(key, number)
    if train.candidates < 0 or train.candidates == 1:
        raise UserError(f"train.candidates={train.candidates}: give 2 or more, the gold reply among them, or 0")
    if train.start_from is not None and recipe.model.weights is not None:
        raise UserError(f"train.start_from={train.start_from} has all weights: set model.weights=null")
    for name in ("clip", "weight_decay"):
        if not getattr(train, name) >= 0:
            raise UserError(f"train.{name}={getattr(train, name)} should be 0 or more")
    if not 0 <= train.warmup <= 1:
        raise UserError(f"train.warmup={train.warmup} is a share of the steps: give 0 to 1")
    for name in ("sources", "prompt"):
        listed = getattr(recipe.model, name)
        if len(set(listed)) < len(listed):
            raise UserError(f"model.{name}={listed} names a source twice")
    if train.batch % train.accumulation:
        raise UserError(f"train.batch={train.batch} does not divide into train.accumulation={train.accumulation} parts")


def _check_part(data: DataRecipe) -> None:
    """Whether it is clear which part of the training data is meant."""
    _one_of("data.sample", data.sample, Subset.names())
    if not 0 < data.fraction <= 1:
        raise UserError(f"data.fraction={data.fraction} should be a share above 0, 1 for all of the data")
    if data.fraction < 1 and data.conversations is not None:
        raise UserError("data.fraction and data.conversations both say how much to train on: leave one out")
    if data.sample != DataRecipe.sample and data.fraction == 1:
        raise UserError(f"data.sample={data.sample} says which share to train on: give data.fraction below 1 too")


def _above_zero(key: str, number: float) -> None:
    if not number > 0:
        raise UserError(f"{key}={number} should be above 0")


def _one_of(key: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UserError(f"{key}='{value}'.{nearest(value, choices)} Choose one of: {', '.join(choices)}")


def _names(kind: Any) -> list[str]:
    return [each.name for each in fields(kind)]
