"""Labels of natural language inference: three of our own, and what data sets and models call them."""

from collections.abc import Iterable, Mapping, Sequence

from personae.errors import UserError, nearest

ENTAILS, NEUTRAL, CONTRADICTS = "entails", "neutral", "contradicts"
LABELS = (ENTAILS, NEUTRAL, CONTRADICTS)
SIGNS: Mapping[str, int] = {ENTAILS: 1, NEUTRAL: 0, CONTRADICTS: -1}
# A pair whose annotators did not agree (SNLI and MNLI write "-"): it is left out, and counted.
UNDECIDED = "-"

# Names as they are published: SNLI and MNLI, Dialogue NLI, ours. Numbers mean something else in every data set.
KNOWN: Mapping[str, str] = {
    **{label: label for label in LABELS},
    "entailment": ENTAILS,
    "contradiction": CONTRADICTS,
    "positive": ENTAILS,
    "negative": CONTRADICTS,
    UNDECIDED: UNDECIDED,
}
HINT = "say what it means, such as --label 0=entails (entails, neutral, contradicts, or - to leave it out)"


def read_names(given: Iterable[str]) -> dict[str, str]:
    """``KNOWN`` and the user's own ``NAME=LABEL``. Raises ``UserError`` for what is no such pair."""
    names = dict(KNOWN)
    for each in given:
        name, equals, label = each.rpartition("=")
        if not equals or not name.strip():
            raise UserError(f"--label {each}: {HINT}")
        if label.strip() not in (*LABELS, UNDECIDED):
            raise UserError(
                f"--label {each}: unknown label '{label}'.{nearest(label, LABELS)} Choose one of: "
                f"{', '.join(LABELS)}, or - to leave it out"
            )
        names[name.strip().lower()] = label.strip()
    return names


def meaning(name: object, names: Mapping[str, str]) -> str | None:
    """What a data set's label means, or None where nobody said so; capitals do not matter."""
    return names.get(str(name).strip().lower()) if isinstance(name, str | int) else None


def order_of(outputs: Sequence[object], names: Mapping[str, str], where: str) -> tuple[str, ...]:
    """The labels of a model's outputs. Raises ``UserError`` where they are not our three, each once."""
    found = [meaning(name, names) for name in outputs]
    for name, label in zip(outputs, found, strict=True):
        if label is None or label == UNDECIDED:
            raise UserError(f"{where}: unknown label '{name}': {HINT}")
    if sorted(map(str, found)) != sorted(LABELS):
        raise UserError(
            f"{where} tells {', '.join(map(str, outputs)) or 'nothing'} apart, not entails, neutral and contradicts: "
            "give a model trained on natural language inference"
        )
    return tuple(map(str, found))
