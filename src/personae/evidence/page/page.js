"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const words = [...document.querySelectorAll(".word")];
  const rows = [...document.querySelectorAll("tr[data-text]")];
  const told = document.getElementById("told");
  const NAMES = 3;
  let view = "attention", kept = null, shown = null;

  const format = (value) => {
    if (value === null || value === undefined) return "–";
    if (view === "attention") return (100 * value).toFixed(1) + "%";
    return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
  };

  const sentence = (at, values) => {
    const order = values.map((_, i) => i).filter((i) => values[i] > 0).sort((a, b) => values[b] - values[a]);
    const named = order.slice(0, NAMES).map((i) => data.texts[i].label + " " + format(values[i]));
    const unit = view === "attention" ? "attention" : "nats lost without it";
    const what = at === null ? "The whole reply" : "“" + data.words[at].text + "”";
    if (values.every((value) => value === null)) return what + ": this view has nothing to show for this model.";
    return what + ", " + unit + ": " + (named.join(", ") || "no text speaks for it") + ".";
  };

  const show = (at) => {
    shown = at;
    const values = at === null ? data.texts.map((text) => text[view]) : data.words[at][view];
    const most = Math.max(...values.map((value) => Math.abs(value || 0)), 1e-12);
    const best = Math.max(...values.map((value) => value || 0));
    rows.forEach((row, i) => {
      const value = values[i] || 0;
      row.querySelector(".meter span").style.setProperty("--part", Math.abs(value) / most);
      row.querySelector(".meter").classList.toggle("against", value < 0);
      row.querySelector(".now").textContent = format(values[i]);
      row.classList.toggle("on", at !== null && value > 0 && value >= best / 2);
    });
    words.forEach((word, i) => word.classList.toggle("on", i === at));
    document.getElementById("now").textContent =
      (at === null ? "whole reply" : "“" + data.words[at].text + "”") + (view === "attention" ? ", attention" : ", nats");
    told.textContent = sentence(at, values);
  };

  const keep = (at) => {
    kept = kept === at ? null : at;
    words.forEach((word, i) => word.setAttribute("aria-pressed", String(i === kept)));
    show(kept === null ? at : kept);
  };

  words.forEach((word, at) => {
    word.addEventListener("mouseenter", () => show(at));
    word.addEventListener("mouseleave", () => show(kept));
    word.addEventListener("focus", () => show(at));
    word.addEventListener("blur", () => show(kept));
    word.addEventListener("click", () => keep(at));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (kept !== null) keep(kept);
    show(null);
  });
  document.querySelectorAll("input[name=view]").forEach((input) => input.addEventListener("change", () => {
    view = input.value;
    document.body.dataset.view = view;
    show(shown);
  }));
  document.body.classList.add("live");
  document.querySelector("input[value=attention]").checked = true;
  show(null);
})();
