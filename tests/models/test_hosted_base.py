"""Where a hosted model's base and words come from, and which options it refuses."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from personae.errors import UserError
from personae.models import HostedModel
from tests.helpers import IDS, LLAMA, SOURCES, batch_of, shake
from tests.models.hosted import KNOWN, described, hosted, loud


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint of the llama family, in bf16 as many are."""
    torch.manual_seed(5)
    config = LlamaConfig(**{**described("llama"), "eos_token_id": 7})
    shake(LlamaForCausalLM(config)).bfloat16().save_pretrained(tmp_path / "base")
    return tmp_path / "base"


class TestWords:
    """Rows for words that are not the base's."""

    def test_they_start_as_the_bases_rows_or_near_its_end_of_text(self, folder: Path) -> None:
        model = hosted(base=str(folder))
        for mine, theirs in (
            (model.words.inputs.weight, model.get_input_embeddings().weight),
            (model.words.outputs.weight, model.base.get_output_embeddings().weight),
        ):
            assert len(mine) == IDS["vocab_size"] - KNOWN == 8
            torch.testing.assert_close(mine, theirs[7].expand(8, -1), atol=0.02, rtol=0)
            assert len(mine.unique(dim=0)) == 8
        model = hosted(fields={"vocab_size": 50})
        assert model.words.first == KNOWN
        assert torch.equal(model.words.inputs.weight, model.get_input_embeddings().weight[32:40])

    def test_a_scaled_table_gives_scaled_rows(self) -> None:
        model = hosted("gemma3_text", fields={"vocab_size": 50})
        ids = torch.arange(40)[None]
        torch.testing.assert_close(model.embed(ids, None), model.get_input_embeddings()(ids))

    def test_a_table_that_is_trained_needs_none_of_them(self) -> None:
        model = hosted(tune="all", fields={"vocab_size": 50})
        assert model.words is None
        assert model(**batch_of()).logits.shape[-1] == IDS["vocab_size"]
        assert hosted(tune="all").words.first == KNOWN

    def test_types_are_words_that_are_added(self) -> None:
        model, batch = loud(hosted()), batch_of()
        types = torch.full_like(batch["input_ids"], 35)
        assert torch.equal(
            model.embed(batch["input_ids"], types), model.embed(batch["input_ids"], None) + model.words.inputs.weight[3]
        )
        with torch.no_grad():
            assert not torch.allclose(model(**batch, token_type_ids=types).logits, model(**batch).logits)


class TestBase:
    """Where the decoder comes from."""

    def test_its_weights_are_those_in_the_folder(self, folder: Path, tmp_path: Path) -> None:
        model = hosted(base=str(folder), tune="lora")
        theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).state_dict()
        ours = {key.replace(".base_layer", ""): value for key, value in model.base.state_dict().items()}
        for key, value in theirs.items():
            assert ours[key].dtype == torch.float32
            assert torch.equal(ours[key], value), key
        model.save_pretrained(tmp_path / "saved")
        shutil.rmtree(folder)
        assert str(tmp_path) not in (tmp_path / "saved" / "config.json").read_text()
        loaded = HostedModel.from_pretrained(tmp_path / "saved")
        assert torch.equal(loaded(**batch_of()).logits, model(**batch_of()).logits)

    def test_on_the_meta_device_its_configuration_is_enough(self, folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        ids = {"vocab_size": 3, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
        for tune in ("all", "none", "lora"):
            with torch.device("meta"):
                model = HostedModel.create(SOURCES, {"name": "paa"}, ids, {"base": str(folder), "tune": tune})
            assert model.window == {"persona": 48, "context": 48, "decoder": 48}
        with pytest.raises(UserError, match="weights cannot be read"):
            hosted(base=str(folder))

    def test_tied_tables_stay_tied(self, tmp_path: Path) -> None:
        model = hosted(tune="all", fields={"tie_word_embeddings": True})
        model.save_pretrained(tmp_path)
        loaded = HostedModel.from_pretrained(tmp_path)
        assert loaded.base.lm_head.weight is loaded.base.model.embed_tokens.weight
        assert torch.equal(loaded.base.lm_head.weight, model.base.lm_head.weight)

    @pytest.mark.parametrize(
        ("family", "fields", "said"),
        [
            ("codegen", {}, "'codegen' does not declare its layers .* as llama"),
            ("bert", {}, "'bert' lets a token see later ones"),
        ],
    )
    def test_one_whose_layers_are_not_known_is_refused(self, family: str, fields: Any, said: str) -> None:
        with pytest.raises(UserError, match=said):
            hosted(family, fields={"rotary_dim": 4, **fields})

    def test_one_that_is_no_decoder_or_not_there_is_refused(self, folder: Path, tmp_path: Path) -> None:
        CONFIG_MAPPING["t5"]().save_pretrained(tmp_path / "t5")
        with pytest.raises(UserError, match="is a 't5' model: it should be a decoder"):
            hosted(base=str(tmp_path / "t5"))
        with pytest.raises(UserError, match="is no model of transformers"):
            hosted(base=str(tmp_path / "nowhere"))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "quantization_config": {"quant_method": "gptq"}}))
        with pytest.raises(UserError, match="is quantized"):
            hosted(base=str(folder))

    def test_weights_that_lack_something_are_refused(self, folder: Path) -> None:
        LlamaForCausalLM(LlamaConfig(**described("llama", num_hidden_layers=1))).save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 2}))
        with pytest.raises(UserError, match=r"lacks 9 weights, as model\.layers\.1"):
            hosted(base=str(folder))

    def test_words_of_another_tokenizer_are_noticed_where_they_are_far_fewer(self, tmp_path: Path) -> None:
        LlamaForCausalLM(LlamaConfig(**described("llama", vocab_size=100))).save_pretrained(tmp_path)
        with pytest.raises(UserError, match=r"40 words and the base 100: set text.tokenizer"):
            hosted(base=str(tmp_path))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tunes": "all"}, "unknown recipe key 'model.options.tunes'. Did you mean 'tune'"),
        ({"tune": "loras"}, "Did you mean 'lora'"),
        ({"tune": "lora", "lora": {"rank": 2}}, "unknown recipe key 'model.options.lora.rank'"),
        ({"tune": "lora", "lora": {"r": 0}}, "lora.r is a number from 1"),
        ({"tune": "lora", "lora": {"dropout": 1}}, "lora.dropout is at least 0"),
        ({"tune": "lora", "lora": {"targets": ["q_prj"]}}, "names 'q_prj'. Did you mean 'q_proj'"),
        ({"lora": {"r": 2}}, "lora needs model.options.tune=lora"),
        ({"layers": [0, 2]}, "name each layer once, from 0 to 1"),
        ({"layers": "some"}, "should be all, or a list"),
        ({"heads": 3}, "heads=3 does not divide"),
        ({"encoder": {"num_hidden_layers": 1}}, "encoder needs model.options.encoder_kind=bert"),
        ({"share_encoder": True}, "share_encoder needs model.options.encoder_kind=bert"),
        ({"encoder_kind": "bart"}, "Did you mean 'bert'"),
        ({"encoder_kind": "bert", "encoder": {"hiden_size": 2}}, "Did you mean 'hidden_size'"),
        ({"dropout": 1.5}, "dropout is at least 0"),
        ({"dropout": "much"}, "model: .*dropout"),
        ({"base": "x"}, "one of them"),
        ({"base_config": None}, "a hosted model needs a decoder"),
        ({"base_config": {"model_type": "lama"}}, "Did you mean 'llama'"),
        ({"base_config": {**LLAMA, "hidden": 3}}, "unknown recipe key 'model.options.base_config.hidden'"),
        ({"base_config": {**LLAMA, "hidden_size": "wide"}}, "model: .*hidden_size"),
    ],
)
def test_an_option_that_does_not_fit_is_one_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        HostedModel.create(SOURCES, {"name": "paa"}, IDS, {"base_config": described("llama"), **options})
    assert "\n" not in str(caught.value)


def test_there_is_no_other_start_than_the_base() -> None:
    with pytest.raises(UserError, match=r"starts from model\.options\.base"):
        hosted().load_decoder("gpt2")
