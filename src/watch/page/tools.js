/* tools.js - what the pages of 'mousse watch' share: asking the server, words for numbers, small
 * pictures, and charts that change while one looks at them.
 *
 * All text from runs is set with textContent; nothing here makes markup of text.
 */
"use strict";

/* A document of the server; throws with its sentence. */
async function ask(path, parameters) {
  const query = new URLSearchParams(parameters).toString();
  const answer = await fetch(path + (query ? "?" + query : ""));
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

function addressOf(page, run) {
  return `#/${page}/${encodeURIComponent(run)}`;
}

/* "3:05", "1:02:03", "2 days 3:04:05" */
function duration(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "\u2013";
  const whole = Math.round(seconds), days = Math.floor(whole / 86400);
  const two = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600) % 24, minutes = Math.floor(whole / 60) % 60;
  const clock = whole >= 3600 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  return days > 0 ? `${days} ${days === 1 ? "day" : "days"} ${clock}` : clock;
}

/* 12.3k, 4.56M: three digits */
function short(value) {
  if (value === null || value === undefined) return "\u2013";
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const [size, unit] = units.find(([least]) => Math.abs(value) >= least) || [1, ""];
  return Number((value / size).toPrecision(3)) + unit;
}

function lossText(value) {
  return value === null || value === undefined ? "\u2013" : value.toFixed(4);
}

function bytesText(value) {
  return value === null || value === undefined ? "\u2013" : short(value) + "B";
}

function progressOf(run) {
  return run.steps ? Math.min(1, run.step / run.steps) : 0;
}

const STATES = {
  running: "\u25b6", complete: "\u2713", stopped: "\u275a\u275a", diverged: "\u26a0", failed: "\u2715", hopeless: "\u2193",
};

/* The state is told by a sign and a word, not by its colour alone. */
function addState(parent, state) {
  const badge = element("span", parent, undefined, "state " + (STATES[state] ? state : "stopped"));
  const sign = element("i", badge, STATES[state] || "");
  sign.setAttribute("aria-hidden", "true");
  badge.append(state);
  return badge;
}

function addProgress(parent, run) {
  const bar = element("span", parent, undefined, "progress " + run.state);
  const filled = element("i", bar);
  filled.style.width = `${100 * progressOf(run)}%`;
  bar.setAttribute("role", "progressbar");
  bar.setAttribute("aria-label", "Progress");
  bar.setAttribute("aria-valuenow", String(Math.round(100 * progressOf(run))));
  return bar;
}

/* A curve as large as a word. */
function sparkline(values) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 24");
  svg.setAttribute("class", "spark");
  svg.setAttribute("aria-hidden", "true");
  const there = values.map((y, x) => [x, y]).filter(([, y]) => y !== null);
  if (there.length < 2) return svg;
  const [low, high] = extent(there.map(([, y]) => y));
  const line = document.createElementNS(svg.namespaceURI, "polyline");
  line.setAttribute("points", there.map(([x, y]) =>
    `${(100 * x / (values.length - 1)).toFixed(1)},${(22 - 20 * (y - low) / (high - low || 1)).toFixed(1)}`).join(" "));
  svg.append(line);
  return svg;
}

/* A set of buttons of which one is pressed. */
function addChoice(parent, label, names, chosen, choose) {
  const group = element("span", parent, undefined, "views");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const buttons = names.map((name, i) => {
    const button = element("button", group, name);
    button.type = "button";
    button.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      choose(i);
    });
    button.setAttribute("aria-pressed", String(i === chosen));
    return button;
  });
  return group;
}

/* A chart whose series are set again and again: a description as charts.js draws them. */
class LiveChart {
  constructor(parent, title, className) {
    this.box = element("section", parent, undefined, "card chart " + (className || ""));
    this.head = element("div", this.box, undefined, "chart-head");
    element("h3", this.head, title);
    this.area = element("div", this.box, undefined, "canvas");
    this.title = title;
    this.isSmall = className !== "wide"; // its title says what it shows
    this.chart = null;
  }

  set(description) {
    const datasets = description.series.map((series) => datasetOf(series, false));
    const isEmpty = !datasets.some((d) => d.data.some((p) => p.y !== null));
    this.box.hidden = isEmpty;
    if (isEmpty) {
      this.box.dataset.drawn = "empty";
      return;
    }
    if (!this.chart) this.make();
    this.keepHidden(datasets);
    this.chart.data.datasets = datasets;
    const options = optionsOf({ ...description, title: this.title }, datasets, false, 0);
    options.plugins.legend.display = datasets.length > 1 && !this.isSmall;
    this.chart.options = options;
    this.chart.update("none");
    if (this.box.dataset.drawn !== "true") this.box.dataset.drawn = String(isDrawn(this.chart));
    this.box.dataset.points = String(Math.max(...datasets.map((d) => d.data.length)));
    this.canvas.setAttribute("aria-label", `${this.title}: ${lastValues(datasets)}`);
  }

  make() {
    this.canvas = element("canvas", this.area);
    this.canvas.setAttribute("role", "img");
    this.chart = new Chart(this.canvas, { data: { datasets: [] }, plugins: [background, spreads] });
  }

  /* What was switched off in the legend stays so. */
  keepHidden(datasets) {
    const before = new Map(this.chart.data.datasets.map((d, i) => [d.label, !this.chart.isDatasetVisible(i)]));
    datasets.forEach((dataset) => { dataset.hidden = before.get(dataset.label) || false; });
  }

  destroy() {
    if (this.chart) this.chart.destroy();
  }
}

/* For those who do not see the chart. */
function lastValues(datasets) {
  return datasets.map((dataset) => {
    const last = dataset.data.filter((p) => p.y !== null).pop();
    return last ? `${dataset.label} ${shown(last.y)}` : "";
  }).filter(Boolean).join(", ");
}

function addFact(parent, name, value, title) {
  const box = element("div", parent, undefined, "fact");
  element("dt", box, name);
  const text = element("dd", box, value);
  if (title) text.title = title;
  return text;
}
