/* page.js - a document of results (docs/report.md) as a page; figures.js makes its figures.
 *
 * All text is set with textContent. For tests, the body says in data-errors what went wrong and
 * in data-ready that all is done.
 */
"use strict";

window.addEventListener("error", (event) => {
  document.body.dataset.errors = (document.body.dataset.errors || "") + event.message + "\n";
});

function addLink(figure) {
  const link = element("a", element("li", document.getElementById("contents")), figure.title);
  link.href = "#" + figure.id;
  return link;
}

function markPlace(places) {
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    places.forEach(([section, link]) => link.classList.toggle("here", section === entry.target));
  }), { rootMargin: "-10% 0px -75% 0px" });
  places.forEach(([section]) => seen.observe(section));
}

function offerDownload(results) {
  document.getElementById("download").addEventListener("click", () => {
    const plain = JSON.stringify(results, (key, value) =>
      (["color", "colors", "dash"].includes(key) ? undefined : value), 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([plain], { type: "application/json" }));
    link.download = "results.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

function main() {
  const results = JSON.parse(document.getElementById("results").textContent);
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  document.title = results.title;
  document.getElementById("title").textContent = results.title;
  document.getElementById("made").textContent = `${results.made_by} \u00b7 ${results.machine}`;
  document.getElementById("command").textContent = results.command;
  results.notes.forEach((note) => element("li", document.getElementById("notes"), note));
  const colors = colorsOf(results);
  markPlace(results.figures.map((figure) => [
    addFigure(document.getElementById("figures"), figure, colors), addLink(figure)]));
  offerDownload(results);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.body.dataset.ready = "true";
}

try {
  main();
} catch (failure) {
  document.body.dataset.errors = String(failure.stack || failure);
  const told = document.createElement("p");
  told.id = "failure";
  told.textContent = "This page could not be drawn: " + failure;
  document.body.prepend(told);
}
