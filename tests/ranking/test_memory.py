"""Key-value profile memory: its two looks by formula, and that it learns what words cannot tell."""

import pytest
import torch
import torch.nn.functional as F

from personae.errors import UserError
from personae.ranking import Ranker
from personae.ranking.base import Question
from personae.ranking.memory import Network, batches, vocabulary
from personae.text.dialogue import Dialogue

ANSWERS = {"pets": "cats", "job": "bakery", "sport": "tennis", "music": "violin"}


def dialogue(topic: str, response: str, persona: tuple[str, ...] = ("i ski .",)) -> Dialogue:
    return Dialogue({"persona": persona, "context": ("hello", f"what of {topic} ?")}, response, conversation=topic)


TRAINING = [dialogue(topic, f"{answer} {at}") for at in range(8) for topic, answer in ANSWERS.items()]
TOLD = Dialogue({"persona": ("cats sleep", "i sing", "dogs bark"), "context": ("so", "and cats ?")}, "")


@pytest.fixture
def network() -> Network:
    torch.manual_seed(0)
    return Network({"cats": 1.0, "dogs": 2.0, "sing": 1.5, "bark": 1.0, "sleep": 0.5, "so": 1.0})


def test_a_text_is_the_sum_of_its_words_at_length_one(network: Network) -> None:
    (found,) = network.texts(["Dogs, cats: dogs! zebra"])
    table = {word: network.words.weight[at] for word, at in network.number.items()}
    expected = 2 * table["dogs"] + table["cats"] + network.words.weight[0]
    torch.testing.assert_close(found, F.normalize(expected, dim=0))


def test_a_question_adds_the_persona_sentences_that_are_like_it(network: Network) -> None:
    (found,) = network.questions([TOLD])
    asked, *persona = network.texts(["and cats ?", *TOLD.sources["persona"]])
    memory = torch.stack(persona)
    weights = (network.sharpness[0] * memory @ asked).softmax(0)
    assert weights[0] > weights[2]
    torch.testing.assert_close(found, asked + weights @ memory)


def test_company_with_another_persona_changes_nothing(network: Network) -> None:
    other = Dialogue({"persona": ("dogs",), "context": ("bark",)}, "")
    torch.testing.assert_close(network.questions([other, TOLD])[1], network.questions([TOLD])[0])


def test_it_ranks_without_persona_or_known_words() -> None:
    ranker = Ranker.build("kv-memory", training=TRAINING, epochs=1)
    (scores,) = ranker.scores([Question(Dialogue({}, ""), ("xx", "cats 1", ""))])
    assert all(-1.001 <= score <= 1.001 for score in scores)


def test_it_learns_answers_that_share_no_word_with_the_question() -> None:
    topics = {topic: [text for at in range(8) for text in [f"{answer} {at}"]] for topic, answer in ANSWERS.items()}
    asked = [
        Dialogue(
            one.sources, topics[topic][3], distractors=tuple(texts[3] for key, texts in topics.items() if key != topic)
        )
        for topic in ANSWERS
        for one in [dialogue(topic, "")]
    ]
    ranker = Ranker.build("kv-memory", training=TRAINING, epochs=30, batch=8)
    assert all(ranking.right[0] > max(ranking.wrong) for ranking in ranker.rank(asked))


def test_what_it_remembers_counts() -> None:
    ranker = Ranker.build("kv-memory", training=TRAINING, epochs=0)
    question = Question(dialogue("pets", ""), ("cats 1", "violin 1"))
    with_pairs = ranker.scores([question])
    assert with_pairs[0][0] > with_pairs[0][1]
    ranker.keys, ranker.values = ranker.keys[:0], ranker.values[:0]
    assert ranker.scores([question]) != with_pairs


def test_the_seed_decides_everything_and_the_callers_chance_stays() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    questions = [Question(dialogue("pets", ""), ("cats 1", "violin 1"))]
    one, same, other = (Ranker.build("kv-memory", training=TRAINING, epochs=1, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert one.scores(questions) == same.scores(questions) != other.scores(questions)
    assert one.facts() == {"epochs": 1, "lr": 1e-2, "batch": 256, "seed": 1, "pairs": 32}


def test_batches_hold_each_dialogue_once_an_epoch_and_never_one_alone() -> None:
    found = list(batches(TRAINING[:9], 2, 4, seed=0))
    assert [len(part) for part in found] == [4, 4, 4, 4]
    assert len({id(one) for part in found[:2] for one in part}) == 8


def test_words_are_the_commonest_with_their_frequencies() -> None:
    idf = vocabulary(TRAINING[:4])
    assert idf["cats"] > idf["what"] > 0


@pytest.mark.parametrize("training", [[], TRAINING[:1]])
def test_too_little_to_learn_from_is_the_users_error(training: list[Dialogue]) -> None:
    with pytest.raises(UserError, match="two training dialogues or more"):
        Ranker.build("kv-memory", training=training)
