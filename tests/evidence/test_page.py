"""The page: whole in itself, nothing that a text says becomes markup, every number is there without the script."""

import json
from html.parser import HTMLParser

import pytest

from personae.evidence import Explained, Text, Word
from personae.evidence.page import bar, render, write_page
from tests.evidence.made import explainer, talk

HOSTILE = '</script><img src=x onerror="alert(1)"> & \u2028 <!--data-->'
VOID = {"meta", "input", "img", "br", "link"}


class Page(HTMLParser):
    """Reads a page; a tag that is not closed, or closed twice, fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def explained(reply: str = "rex", text: str = "i have a dog .", **more) -> Explained:
    shares = {"persona": 0.75, "context": 0.25}
    texts = (
        Text("persona", 0, text, share=0.7, nats=1.5, nats_per_token=0.75),
        Text("context", 0, "hi .", "partner", share=0.2, nats=-0.25, nats_per_token=-0.125),
    )
    word = Word(reply, shares, (0.7, 0.2), (1.5, -0.25))
    return Explained(reply, (word,), texts, shares, {"persona": 0.05, "context": 0.05}, 0.5, 2, **more)


def test_every_number_stands_there_without_the_script():
    text = render(explained())
    assert all(number in text for number in ("70.0%", "+1.500", "−0.250", "75.0%", "0.500 nats over 2 tokens"))
    page = Page(text)
    assert len([row for row in page.all("tr") if "data-text" in row]) == 2
    assert [one["scope"] for one in page.all("th")].count("row") == 3


def test_nothing_is_fetched():
    page = Page(render(explained()))
    assert not any(key in ("src", "href", "action") for _, attributes in page.tags for key in attributes)
    assert "url(" not in "".join(page.text["style"])
    assert "@import" not in "".join(page.text["style"])
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv")]
    assert policy.startswith("default-src 'none'")


def test_no_text_becomes_markup():
    hostile = Page(render(explained(HOSTILE, HOSTILE)))
    plain = Page(render(explained()))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert HOSTILE in "".join(hostile.text["td"])
    assert HOSTILE in "".join(hostile.text["title"])
    data, _ = hostile.text["script"]
    assert json.loads(data)["words"][0]["text"] == HOSTILE
    assert "<" not in data


def test_words_can_be_reached_and_are_told():
    page = Page(render(explained()))
    (word,) = [one for one in page.all("button") if one.get("class") == "word"]
    assert (word["type"], word["aria-pressed"]) == ("button", "false")
    assert any(one.get("role") == "status" and one.get("aria-live") == "polite" for one in page.all("p"))
    assert [one["value"] for one in page.all("input")] == ["attention", "left-out"]
    assert page.all("html")[0]["lang"] == "en"
    assert "prefers-color-scheme: dark" in "".join(page.text["style"])


def test_it_says_what_attention_is_not():
    assert "Attention is not causation" in render(explained())
    assert "in its prompt" not in render(explained())
    assert "also reads persona in its prompt" in render(explained(prompted=("persona",)))


@pytest.mark.parametrize("options", [{}, {"fusion": "condition"}, {"sources": ()}, {"variant": "beside"}])
def test_every_view_has_a_page(options):
    fusion = {} if options.get("fusion") else {"fusion": "sum"}
    made = explainer(prompt=("persona", "context"), **{**fusion, **options}).explain(talk())
    Page(render(made))


def test_a_bar_has_a_stretch_for_each_voice():
    assert bar({"a": 3.0, "b": 1.0}, ["a", "b"]) == (
        "linear-gradient(to right, var(--voice-0) 0.00% 75.00%, var(--voice-1) 75.00% 100.00%)"
    )
    assert bar({"a": 0.0, "b": 0.0}, ["a", "b"]) == "none"


def test_the_page_is_written_where_it_is_wanted(tmp_path):
    assert write_page(tmp_path / "new" / "page.html", explained()).read_text(encoding="utf-8") == render(explained())
