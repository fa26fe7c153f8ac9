from dataclasses import asdict

import pytest

from personae.chat import Chat, Turn
from personae.data.load import load
from personae.decoding import Decoding
from personae.decoding.adapter import CustomSearch
from personae.decoding.beam import beam_search
from personae.decoding.beam_published import published_beam_search
from personae.errors import UserError
from personae.evaluation.settings import Settings
from personae.evaluation.speaker import Speaker
from personae.recipe import load_recipe
from personae.runs import Run

IDS = {"bos": 1, "eos": 2, "pad": 3}


def config(decoding):
    return decoding.arguments(**IDS)["generation_config"]


def test_the_default_is_greedy():
    found = config(Decoding())
    assert (found.do_sample, found.num_beams, found.num_return_sequences) == (False, 1, 1)
    assert (found.bos_token_id, found.eos_token_id, found.pad_token_id) == (1, 2, 3)
    assert found.max_new_tokens == 64


def test_settings_reach_generate():
    chosen = Decoding(max_tokens=9, sample=True, temperature=0.7, top_k=5, top_p=0.9, copies=4)
    found = config(chosen)
    assert (found.max_new_tokens, found.do_sample, found.num_return_sequences) == (9, True, 4)
    assert (found.temperature, found.top_k, found.top_p) == (0.7, 5, 0.9)
    beams = config(Decoding(beams=5, copies=5))
    assert (beams.num_beams, beams.num_return_sequences, beams.do_sample) == (5, 5, False)


def test_sampling_is_from_the_whole_distribution_unless_told():
    found = config(Decoding(sample=True))
    assert (found.temperature, found.top_k, found.top_p) == (1.0, 0, 1.0)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, None),
        ({"beams": 3}, None),
        ({"sample": True}, None),
        ({"beams": 3, "length_penalty": 0.6}, CustomSearch(beam_search, 0.6)),
        ({"beams": 3, "length_penalty": 0.0}, CustomSearch(beam_search, 0.0)),
        ({"beams": 3, "search": "published"}, CustomSearch(published_beam_search, 0.6)),
        ({"beams": 3, "search": "published", "length_penalty": 1.0}, CustomSearch(published_beam_search, 1.0)),
    ],
)
def test_the_search_is_ours_where_it_is_asked_for(settings, expected):
    assert Decoding(**settings).arguments(**IDS).get("custom_generate") == expected


def test_beams_alone_are_those_of_transformers():
    """Their length penalty is a power of the length: its default of 1 divides by it."""
    found = Decoding(beams=3).arguments(**IDS)
    assert found.keys() == {"generation_config"}
    assert found["generation_config"].length_penalty in (None, 1.0)


def test_but_changes_some_settings_and_checks_them():
    assert Decoding(beams=3).but(copies=2) == Decoding(beams=3, copies=2)
    with pytest.raises(UserError, match="copies=4"):
        Decoding(beams=3).but(copies=4)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"temperature": 0.5}, r"decoding\.temperature works only with sampling"),
        ({"top_k": 5}, r"decoding\.top_k works only with sampling"),
        ({"top_p": 0.5, "beams": 3}, r"decoding\.top_p works only with sampling"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"beams": 0}, "beams"),
        ({"copies": 0, "sample": True}, "copies"),
        ({"copies": 2}, "copies=2"),
        ({"temperature": 0.0, "sample": True}, "temperature"),
        ({"temperature": float("nan"), "sample": True}, "temperature"),
        ({"top_p": 0.0, "sample": True}, "top_p"),
        ({"top_p": 1.1, "sample": True}, "top_p"),
        ({"top_k": -1, "sample": True}, "top_k"),
        ({"length_penalty": 0.6}, r"decoding\.length_penalty works only with beams"),
        ({"length_penalty": 0.0}, r"decoding\.length_penalty works only with beams"),
        ({"search": "published"}, r"decoding\.search works only with beams"),
        ({"search": "published", "beams": 3, "sample": True}, r"decoding\.search works only without sampling"),
        ({"length_penalty": 0.6, "beams": 3, "sample": True}, "works only without sampling"),
        ({"length_penalty": -0.1, "beams": 3}, r"length_penalty=-0\.1 should be 0 or more"),
        ({"length_penalty": float("nan"), "beams": 3}, "should be 0 or more"),
        ({"length_penalty": float("inf"), "beams": 3}, "should be 0 or more"),
        ({"search": "publised", "beams": 3}, r"Did you mean 'published'\? Choose one of: standard, published, parlai"),
    ],
)
def test_settings_that_cannot_be_are_the_users_error(settings, expected):
    with pytest.raises(UserError, match=expected):
        Decoding(**settings)


def test_a_recipe_and_its_overrides_set_the_search(tmp_path):
    recipe = load_recipe("interview/paa", ["decoding.beams=3", "decoding.length_penalty=0.6"])
    assert recipe.decoding == Decoding(max_tokens=32, beams=3, length_penalty=0.6)
    recipe.write(tmp_path / "recipe.yaml")
    read = load_recipe(tmp_path / "recipe.yaml", ["decoding.search=published", "decoding.length_penalty=null"])
    assert asdict(read.decoding) == asdict(Decoding(max_tokens=32, beams=3, search="published"))
    with pytest.raises(UserError, match=r"decoding\.length_penalty"):
        load_recipe("interview/paa", ["decoding.beams=3", "decoding.length_penalty=long"])


def test_a_signature_says_how_it_was_searched():
    standard = Settings(Decoding(max_tokens=8, beams=3, length_penalty=0.6), batch=5).spoken()
    assert standard == {"decoding": "beam,beams=3,length_penalty=0.6,max_tokens=8", "precision": "fp32"}
    published = Settings(Decoding(max_tokens=8, beams=3, search="published"), batch=5).spoken()
    assert published["decoding"] == "beam,beams=3,max_tokens=8,search=published"
    assert published["batch"] == 5


@pytest.mark.parametrize("settings", [{"length_penalty": 0.6}, {"search": "published"}])
@pytest.mark.parametrize("explain", [False, True])
def test_a_chat_searches_so(tiny_run, settings, explain, monkeypatch):
    chat = Chat.load(tiny_run)
    asked = []
    search = CustomSearch.__call__
    monkeypatch.setattr(CustomSearch, "__call__", lambda self, *a, **b: (asked.append(self), search(self, *a, **b))[1])
    decoding = Decoding(beams=3, max_tokens=8, **settings)
    pieces = list(chat.reply(("i am a baker .",), [Turn("partner", "hi !")], decoding, explain))
    assert asked == [decoding.arguments(**IDS)["custom_generate"]]
    assert "".join(piece.text for piece in pieces)
    assert all((piece.evidence is not None) == explain for piece in pieces)


def test_an_evaluation_searches_so(tiny_run, monkeypatch):
    run, asked = Run(tiny_run), []
    monkeypatch.setattr(CustomSearch, "__call__", lambda self, model, ids, *_, **__: (asked.append(self), ids[::3])[1])
    decoding = Decoding(beams=3, max_tokens=8, length_penalty=0.6)
    speaker = Speaker(run, decoding)
    packed = speaker.pack(load([tiny_run / "data" / "unseen_combinations.jsonl"]).dialogues[:2])
    assert [each.prediction for each in speaker.answer(packed, seed=0)] == ["", ""]
    assert asked == [CustomSearch(beam_search, 0.6)]
