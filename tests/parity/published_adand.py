"""The published names and layouts of AdaND's parameters (Cai et al. 2019) as ours. Keys: see the recordings' README.

Gates stand in blocks of rows: published i, f, g, o or i, g, f, o, ours i, f, o, g. Ours hold both directions in one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from personae.layers.adaptive import Parameterisation
from personae.models import AdandConfig, AdandModel
from tests.parity.files import File

Tensors = Mapping[str, Tensor]

# The published name of what a recording is of -> our parameterisation.
KINDS = {
    "basic": "plain",
    "layernorm": "layer-norm",
    "context": "context-published",
    "topic": "topic-published",
    "both": "both-published",
    "context_scale": "context-scale",
    "hyper": "hyper",
    "context_full": "context-full",
}
# Where the blocks i, f, o, g stand in a published matrix.
IFGO, IGFO = (0, 1, 3, 2), (0, 2, 3, 1)
ORDERS = {name: IGFO if name in ("both", "context", "context_scale", "hyper") else IFGO for name in KINDS}
LETTERS = "ifoj"

# Published name in a cell -> ours, by kind; a row order applies to what has four blocks of rows.
NORMS = {
    "layernorm_i": "ending.norm_ih",
    "layernorm_h": "ending.norm_hh",
    "layernorm_c": "ending.norm_c",
}
STATIC = {"weight_ih": "weight_ih", "weight_hh": "weight_hh"}
PHI = {"adaptive_cell.weight_ih": "phi.weight_ih", "adaptive_cell.weight_hh": "phi.weight_hh"}
PHI |= {f"adaptive_cell.{theirs}": f"phi.{ours}" for theirs, ours in NORMS.items()}
CONTEXT = {
    "weight_ih_a_c": "{}_input.left",
    "weight_ih_c_c": "{}_input.right",
    "weight_hh_a_c": "{}_hidden.left",
    "weight_hh_c_c": "{}_hidden.right",
}
TOPIC = {name.removesuffix("_c"): place for name, place in CONTEXT.items()}
MAPS = {
    f"{theirs}{end}": f"map_{side}.{ours}"
    for way, side in (("ih", "input"), ("hh", "hidden"))
    for theirs, end, ours in (
        (f"theta_trans_{way}", ".weight", "inner"),
        (f"theta_trans_{way}", ".bias", "bias"),
        (f"weight_{way}_b", "", "outer"),
    )
}
NAMES: dict[str, dict[str, str]] = {
    "basic": {**STATIC, "bias_ih": "ending.bias_ih", "bias_hh": "ending.bias_hh"},
    "layernorm": {**STATIC, **NORMS},
    "context": {**PHI, **NORMS, **{theirs: ours.format("of") for theirs, ours in CONTEXT.items()}},
    "topic": {**NORMS, **MAPS, **{theirs: ours.format("of") for theirs, ours in TOPIC.items()}},
    "both": {
        **PHI,
        **NORMS,
        **MAPS,
        **{theirs: ours.format("context") for theirs, ours in CONTEXT.items()},
        **{theirs: ours.format("topic") for theirs, ours in TOPIC.items()},
        "gate_trans_layernorm": "gate_norm",
        "xh_gate_trans_input.weight": "gate_input",
        "xh_gate_trans_input.bias": "gate_input_bias",
        "hh_gate_trans_input.weight": "gate_hidden",
        "hh_gate_trans_input.bias": "gate_hidden_bias",
    },
    "context_scale": {**PHI, **NORMS, **STATIC, "bias_ih": "bias_ih", "bias_hh": "bias_hh"},
    "context_full": {**PHI, "layernorm_i": "ending.norm_ih", "layernorm_h": "ending.norm_hh"},
}
NAMES["hyper"] = NAMES["context_scale"]
# Ours hold these of the input's side and of the hidden state's in one.
PAIRS = {"context": "gate_xi", "topic": "gate_theta"}
UNBLOCKED = re.compile(r"(right|norm_c\.\w+|map_.*)$")


def reordered(tensor: Tensor, order: Sequence[int]) -> Tensor:
    """Rows in blocks as ours stand."""
    return torch.cat([tensor.chunk(4)[at] for at in order])


def gates(tensor: Tensor, kind: str) -> Tensor:
    """(B, 4H) of a recording with blocks as ours."""
    return reordered(tensor.mT, ORDERS[kind]).mT


def cell(theirs: Tensors, kind: str) -> dict[str, Tensor]:
    """One published cell's parameters, or their gradients, under our names, without a dimension for directions."""
    found: dict[str, Tensor] = {}
    for name, ours in NAMES[kind].items():
        for end in ("", ".weight", ".bias"):
            if f"{name}{end}" in theirs:
                order = IFGO if ours.startswith("phi.") else ORDERS[kind]
                value, place = theirs[f"{name}{end}"], f"{ours}{end}"
                found[place] = value if UNBLOCKED.search(place) else reordered(value, order)
    special = {"both": paired, "context_scale": scaling, "hyper": scaling, "context_full": generating}
    return {**found, **(special[kind](theirs) if kind in special else {})}


def paired(theirs: Tensors) -> dict[str, Tensor]:
    """The mixing gate's matrices that are one, (2, ...), in ours."""
    found = {}
    for name, ours in PAIRS.items():
        for end, suffix in (("weight", ""), ("bias", "_bias")):
            both = [reordered(theirs[f"{side}_gate_trans_{name}.{end}"], IGFO) for side in ("xh", "hh")]
            found[f"{ours}{suffix}"] = torch.stack(both)
    return found


def scaling(theirs: Tensors) -> dict[str, Tensor]:
    """Scales of the four gates and both sides, then shifts."""
    places = [f"{letter}{side}" for side in "xh" for letter in LETTERS]
    scale, shift = ([f"adaptive_norm_{place}" for place in places], [f"adaptive_bias_{place}b" for place in places])
    return {
        "squeeze": torch.cat(
            [theirs[f"{name}.zw_linear.weight"] for name in scale]
            + [theirs[f"{name}.zb_linear.weight"] for name in shift]
        ),
        "squeeze_bias": torch.cat([theirs[f"{name}.zw_linear.bias"] for name in scale]),
        "expand": torch.stack(
            [theirs[f"{name}.alpha_linear.weight"] for name in scale]
            + [theirs[f"{name}.beta_linear.weight"] for name in shift]
        ),
    }


def generating(theirs: Tensors) -> dict[str, Tensor]:
    """What generates W: its weight and bias, published as W transposed, as matrices below each other."""
    found = {
        f"squeeze{suffix}": torch.cat([theirs[f"adaptive_w_{way}1.{end}"] for way in ("ih", "hh")])
        for end, suffix in (("weight", ""), ("bias", "_bias"))
    }
    rows = len(theirs["layernorm_i.weight"])
    for way in ("ih", "hh"):
        weight, bias = theirs[f"adaptive_w_{way}2.weight"], theirs[f"adaptive_w_{way}2.bias"]
        each = [*weight.unbind(-1), bias]
        found[f"generate_{way}"] = torch.cat([reordered(one.view(-1, rows).mT, IFGO) for one in each])
    return found


def together(directions: Sequence[Tensors]) -> dict[str, Tensor]:
    """Directions as one: stacked, or one behind the other where ours are so."""
    return {name: joined(name, [each[name] for each in directions]) for name in directions[0]}


def joined(name: str, parts: Sequence[Tensor]) -> Tensor:
    """One parameter of all directions."""
    if name.removesuffix("_bias") in PAIRS.values():
        return torch.cat([torch.stack([part[side] for part in parts]) for side in range(2)])
    return torch.cat(list(parts)) if name == "expand" else torch.stack(list(parts))


def stack(theirs: Tensors, kind: str, prefix: str = "lstm.layers.") -> dict[str, Tensor]:
    """A published stack's parameters as those of our ``AdaptiveLSTM``."""
    found: dict[str, Tensor] = {}
    layers = {int(key[len(prefix) :].split(".")[0]) for key in theirs if key.startswith(prefix)}
    for layer in sorted(layers):
        ways = [f"{prefix}{layer}.{way}cell." for way in ("", "directions.0.", "directions.1.")]
        cells = [below(theirs, way) for way in ways]
        each = together([cell(one, kind) for one in cells if one])
        found |= {f"layers.{layer}.{name}": value for name, value in each.items()}
    return found


def below(tensors: Tensors, prefix: str) -> dict[str, Tensor]:
    """What is below a prefix, without it."""
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}


def state(hidden: Tensor, cell_state: Tensor, size: int) -> tuple[Tensor, ...]:
    """Our state of published ones (D, B, S), which hold Phi's behind their own H = ``size``."""
    both = (hidden[..., :size], cell_state[..., :size])
    return both if hidden.shape[-1] == size else (*both, hidden[..., size:], cell_state[..., size:])


INFERRER = (
    (r"^Domain_Matrix", "model.topic_vectors"),
    (r"^Word_Matrix", "model.word_vectors"),
    (r"^gx\.linears\.0", "model.wide"),
    (r"^gx\.linears\.1", "model.narrow"),
    (r"^prior_latent_variation", "prior"),
    (r"^post_latent_variation", "posterior"),
    (r"input_transformer\.linears", "layers"),
    (r"context_to_mean", "mean"),
    (r"context_to_logvar", "log_variance"),
)


def renamed(name: str, table: Sequence[tuple[str, str]]) -> str:
    """A name with every pattern replaced."""
    for old, new in table:
        name = re.sub(old, new, name)
    return name


def inferrer(theirs: Tensors) -> dict[str, Tensor]:
    """The topic inferrer's parameters under our names."""
    return {renamed(name, INFERRER): value for name, value in theirs.items()}


def inferrer_sizes(theirs: Tensors) -> dict[str, int | list[int]]:
    """What its shapes tell."""
    nets = "prior_latent_variation"
    inner = sorted(name for name in theirs if re.match(rf"{nets}\.input_transformer\.linears\.\d+\.bias", name))
    return {
        "words": len(theirs["Word_Matrix"]),
        "topics": len(theirs["Domain_Matrix"]),
        "width": theirs["Word_Matrix"].shape[1],
        "latent": len(theirs[f"{nets}.context_to_mean.bias"]),
        "hidden": [len(theirs[name]) for name in inner[:-1]],
    }


READERS = {"encoder.": "encoders.shared.", "decoder.": "decoder.reader.", "context_encoder.encoder.": "context."}


def parameters(theirs: Tensors) -> dict[str, Tensor]:
    """A published model's parameters, or those gradients that there are, under our names."""
    found: dict[str, Tensor] = {}
    for prefix, ours in READERS.items():
        reader = below(theirs, prefix)
        if "lt.weight" in reader:
            found[f"{ours}words.weight"] = reader["lt.weight"]
            found |= {f"{ours}layers.{name}": value for name, value in stack(reader, kind_of(reader), LAYERS).items()}
    found |= {f"inferrer.{name}": value for name, value in inferrer(below(theirs, "topic_indicator.")).items()}
    for name, value in below(theirs, "output.").items():
        found[name.replace("o2e", "narrow").replace("e2s", "words")] = value
    return found | attention(below(theirs, "decoder.attention."))


LAYERS = "rnn.lstm.layers."


def kind_of(theirs: Tensors) -> str:
    """What a stack is of, by the parameters that it has."""
    names = " ".join(theirs)
    for mark, kind in (
        ("theta_trans", "topic"),
        ("weight_ih_a_c", "context"),
        ("adaptive_norm", "context_scale"),
        ("layernorm", "layernorm"),
    ):
        if mark in names:
            return "both" if kind == "topic" and "weight_ih_a_c" in names else kind
    return "basic"


def attention(theirs: Tensors) -> dict[str, Tensor]:
    """What joins decoder state and context is two matrices in ours, and so is what concat asks with."""
    if not theirs:
        return {}
    whole, asked = theirs["attn_combine.weight"], "decoder.asks.0.attention"
    hidden = len(whole)
    found = {"decoder.own.weight": whole[:, :hidden], f"{asked}.combine.weight": whole[:, hidden:]}
    if "attn_v.weight" in theirs:
        both = theirs["attn.weight"]
        found |= {f"{asked}.key.weight": both[:, :-hidden], f"{asked}.ask.weight": both[:, -hidden:]}
        found[f"{asked}.vector.weight"] = theirs["attn_v.weight"]
    elif "attn.weight" in theirs:
        found[f"{asked}.ask.weight"] = theirs["attn.weight"]
    return found


class Recording(File):
    """A model with a batch of contexts and replies."""

    bos, eos, pad = 1, 2, 0
    # So many topic words come first that are special, and are never counted.
    special = 4

    @property
    def sources(self) -> dict[str, dict[str, Tensor]]:
        ids = self.tensors["in.xs"]
        return {"context": {"input_ids": ids, "attention_mask": ids != self.pad}}

    def prompts(self) -> dict[str, Any]:
        """What a reply begins with."""
        return {"inputs": torch.full((len(self.tensors["in.xs"]), 1), self.bos), "sources": self.sources}

    def batch(self) -> dict[str, Any]:
        """The begin token and the reply."""
        reply = self.tensors["in.ys"]
        ids = torch.cat([torch.full((len(reply), 1), self.bos), reply], dim=1)
        labels = ids.masked_fill(ids == self.pad, -100)
        labels[:, 0] = -100
        return {"input_ids": ids, "attention_mask": ids != self.pad, "labels": labels, "sources": self.sources}

    def model(self, theirs: Tensors, **options: Any) -> AdandModel:
        """Ours with their parameters; it infers topics where something reads them, or as ``options`` say."""
        config = {**geometry(theirs), **IDS, **options}
        reads = "theta" in Parameterisation.get(config["parameterisation"]).reads
        made = AdandModel(AdandConfig(**{"training": "alternating" if reads else "joint", **config}))
        ours = {name: value for name, value in parameters(theirs).items() if name in made.state_dict()}
        missing, unexpected = made.load_state_dict(ours, strict=False)
        assert set(missing) <= {"bag.topic_of"}, missing
        assert not unexpected
        if made.bag is not None:
            places = File.load(self.path.with_name("topic.safetensors")).tensors["map.global_to_topic"]
            made.bag.topic_of.copy_(places.where(places >= self.special, made.bag.size))
        return made


IDS = {"bos_token_id": Recording.bos, "eos_token_id": Recording.eos, "pad_token_id": Recording.pad}


def geometry(theirs: Tensors) -> dict[str, Any]:
    """What the shapes tell of a model."""
    encoder, hidden = below(theirs, "encoder."), len(theirs["decoder.attention.attn_combine.weight"])
    sizes = inferrer_sizes(below(theirs, "topic_indicator."))
    found: dict[str, Any] = {"xi": 1, "factors": 1, "squeeze": 1}
    for key, value in encoder.items():
        for end, name, at in (("adaptive_cell.weight_hh", "xi", 1), ("weight_hh_c", "factors", 0)):
            if key.endswith(end):
                found[name] = value.shape[at]
        if key.endswith("zw_linear.weight"):
            found["squeeze"] = len(value)
    attentions = below(theirs, "decoder.attention.")
    general = "general" if "attn.weight" in attentions else "dot"
    return found | {
        "fusion": {"name": "sum"},
        "share_encoder": True,
        "parameterisation": KINDS[kind_of(encoder)],
        "context_cell": "layer-norm",
        "hidden_size": hidden,
        "word_size": encoder["lt.weight"].shape[1],
        "num_hidden_layers": len({key.split(".")[3] for key in encoder if key.startswith(LAYERS)}),
        "bidirectional": any(".directions.1." in key for key in encoder),
        "attention": "concat" if "attn_v.weight" in attentions else general,
        "padding": "read",
        "topics": sizes["topics"],
        "topic_model": "experts-published",
        "topic_words": sizes["words"],
        "latent": sizes["latent"],
        "bag_hidden": sizes["hidden"],
        "sample_topics": True,
        "vocab_size": len(theirs["decoder.lt.weight"]),
    }
