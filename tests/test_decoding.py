import pytest

from personae.decoding import Decoding
from personae.errors import UserError


def test_the_default_is_greedy():
    config = Decoding().config(bos=1, eos=2, pad=3)
    assert (config.do_sample, config.num_beams, config.num_return_sequences) == (False, 1, 1)
    assert (config.bos_token_id, config.eos_token_id, config.pad_token_id) == (1, 2, 3)
    assert config.max_new_tokens == 64


def test_settings_reach_generate():
    chosen = Decoding(max_tokens=9, sample=True, temperature=0.7, top_k=5, top_p=0.9, copies=4)
    config = chosen.config(bos=1, eos=2, pad=3)
    assert (config.max_new_tokens, config.do_sample, config.num_return_sequences) == (9, True, 4)
    assert (config.temperature, config.top_k, config.top_p) == (0.7, 5, 0.9)
    beams = Decoding(beams=5, copies=5).config(bos=1, eos=2, pad=3)
    assert (beams.num_beams, beams.num_return_sequences, beams.do_sample) == (5, 5, False)


def test_sampling_is_from_the_whole_distribution_unless_told():
    config = Decoding(sample=True).config(bos=1, eos=2, pad=3)
    assert (config.temperature, config.top_k, config.top_p) == (1.0, 0, 1.0)


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
    ],
)
def test_settings_that_cannot_be_are_the_users_error(settings, expected):
    with pytest.raises(UserError, match=expected):
        Decoding(**settings)
