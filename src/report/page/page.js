/* page.js - draws a document of results (docs/report.md) with Chart.js.
 *
 * All text is set with textContent. For tests, every chart's element says in data-drawn whether
 * its canvas has something on it, and the body says in data-errors what went wrong and in
 * data-ready that all is done.
 */
"use strict";

window.addEventListener("error", (event) => {
  document.body.dataset.errors = (document.body.dataset.errors || "") + event.message + "\n";
});

const BAND_FROM = 20; // a curve with more points gets a band, with fewer error bars
const MARKS_UP_TO = 40;
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

function element(name, parent, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function translucent(hex, part) {
  return hex + Math.round(part * 255).toString(16).padStart(2, "0");
}

/* Whole numbers complete, others with five digits. */
function shown(value) {
  if (value === null) return "\u2013";
  if (typeof value !== "number") return value;
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
  return Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9 ? value.toExponential(3)
    : String(Number(value.toPrecision(5)));
}

/* How the numbers of a column are written: short ones as they are, others with as many decimals
 * as give the largest five digits, four at most. */
function writerOf(rows, column) {
  const values = rows.map((row) => row[column]).filter((value) => typeof value === "number");
  const largest = Math.max(...values.map(Math.abs));
  const isShort = (value) => Number(value.toPrecision(3)) === value || Number.isInteger(value);
  if (values.every(isShort) || largest < 1e-3 || largest >= 1e9) return shown;
  const decimals = Math.min(4, Math.max(0, 4 - Math.floor(Math.log10(largest))));
  return (value) => (typeof value === "number" ? value.toFixed(decimals) : shown(value));
}

/* Spreads, under the curves as bands or on them as error bars. A point's spread is in `s`. */
const spreads = {
  id: "spreads",
  beforeDatasetsDraw(chart) {
    eachSpread(chart, true, drawBand);
  },
  afterDatasetsDraw(chart) {
    eachSpread(chart, false, drawErrorBars);
  },
};

function eachSpread(chart, band, draw) {
  const { ctx, chartArea } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
  ctx.clip();
  chart.data.datasets.forEach((dataset, index) => {
    const isBand = dataset.type === "line" && dataset.data.length > BAND_FROM;
    if (chart.isDatasetVisible(index) && isBand === band && dataset.data.some((p) => p.s))
      draw(chart, dataset, chart.getDatasetMeta(index).data);
  });
  ctx.restore();
}

/* Pixels of y + sign * spread; on a log axis what is not positive lies at the bottom. */
function pixelOf(chart, point, sign) {
  const y = chart.scales.y;
  const value = point.y + sign * (point.s || 0);
  return y.type === "logarithmic" && value <= 0 ? y.bottom : y.getPixelForValue(value);
}

function drawBand(chart, dataset, elements) {
  const { ctx } = chart;
  const there = dataset.data.map((p, i) => i).filter((i) => dataset.data[i].y !== null);
  ctx.beginPath();
  there.forEach((i) => ctx.lineTo(elements[i].x, pixelOf(chart, dataset.data[i], 1)));
  there.reverse().forEach((i) => ctx.lineTo(elements[i].x, pixelOf(chart, dataset.data[i], -1)));
  ctx.fillStyle = translucent(dataset.borderColor, 0.16);
  ctx.fill();
}

function drawErrorBars(chart, dataset, elements) {
  const { ctx } = chart;
  ctx.beginPath();
  dataset.data.forEach((point, i) => {
    if (!point.s || point.y === null) return;
    const x = elements[i].x, top = pixelOf(chart, point, 1), bottom = pixelOf(chart, point, -1);
    ctx.moveTo(x, top);
    ctx.lineTo(x, bottom);
    [top, bottom].forEach((y) => {
      ctx.moveTo(x - 4, y);
      ctx.lineTo(x + 4, y);
    });
  });
  ctx.strokeStyle = dataset.type === "bar" ? color("text") : dataset.borderColor;
  ctx.lineWidth = 1.5;
  ctx.stroke();
}

/* A picture of a chart has the page's background, not none. */
const background = {
  id: "background",
  beforeDraw({ ctx, width, height }) {
    ctx.save();
    ctx.globalCompositeOperation = "destination-over";
    ctx.fillStyle = color("card");
    ctx.fillRect(0, 0, width, height);
    ctx.restore();
  },
};

function datasetOf(series, isBars) {
  const points = series.points.map(([x, y, s]) => ({ x, y, s }));
  const common = { label: series.name, data: points, borderColor: series.color };
  if (isBars)
    return { ...common, type: "bar", borderWidth: 0, borderRadius: 3, maxBarThickness: 46,
             backgroundColor: series.colors ? points.map((p) => series.colors[p.x]) : series.color };
  const marked = series.style === "points" || points.length <= MARKS_UP_TO;
  return {
    ...common, type: "line", showLine: series.style !== "points", borderWidth: 2, clip: 8,
    borderDash: DASHES[series.dash] || [], backgroundColor: series.color, tension: 0,
    pointRadius: marked ? 3.5 : 0, pointHoverRadius: 5, pointHitRadius: 8,
    pointStyle: ["circle", "rectRot", "triangle", "rect"][series.dash], spanGaps: false,
  };
}

/* On a log axis 1, 2 and 5 times powers of ten are labelled, on a short one every mark. */
function logLabel(value, index, ticks) {
  const digit = Number(value.toExponential().split("e")[0]);
  const values = ticks.map((tick) => tick.value);
  const isShort = Math.max(...values) < 12 * Math.min(...values);
  return isShort || digit === 1 || ((digit === 2 || digit === 5) && ticks.length < 40)
    ? shown(value) : "";
}

function scaleOf(axis) {
  const isLog = axis.scale === "log";
  const scale = {
    type: axis.categories ? "category" : isLog ? "logarithmic" : "linear",
    title: { display: true, text: axis.label + (isLog ? " (log)" : ""), color: color("quiet") },
    grid: { color: color("grid"), borderColor: color("line"), display: !axis.categories },
    ticks: { color: color("quiet"), maxRotation: axis.categories ? 60 : 0 },
  };
  if (axis.categories) scale.labels = axis.categories;
  else scale.ticks.callback = isLog ? logLabel : (value) => shown(Number(value.toPrecision(6)));
  return scale;
}

/* A little room around the values; log axes would otherwise reach to the next power of ten. */
function fitRange(scale, values) {
  const low = Math.min(...values), high = Math.max(...values);
  if (!values.length || scale.type === "category") return;
  if (scale.type === "logarithmic") {
    const room = high > low ? Math.pow(high / low, 0.05) : 2;
    if (low > 0) Object.assign(scale, { min: low / room, max: high * room });
  } else {
    Object.assign(scale, { grace: "4%", suggestedMin: low, suggestedMax: high });
  }
}

function tooltipLines(item) {
  const { y, s } = item.raw;
  return ` ${item.dataset.label}: ${shown(y)}${s ? ` \u00b1 ${shown(Number(s.toPrecision(2)))}` : ""}`;
}

function optionsOf(chart, datasets, isBars) {
  const points = datasets.flatMap((d) => d.data).filter((p) => p.y !== null && p.x !== null);
  const scales = { x: scaleOf(chart.x), y: scaleOf(chart.y) };
  fitRange(scales.x, points.map((p) => p.x));
  if (isBars) scales.y.beginAtZero = true;
  else fitRange(scales.y, points.flatMap((p) => [p.y, p.y + (p.s || 0), p.y - (p.s || 0)])
    .filter((y) => scales.y.type !== "logarithmic" || y > 0));
  if (scales.x.type === "linear") scales.x.grace = 0;
  return {
    responsive: true, maintainAspectRatio: false, animation: false, scales,
    interaction: { mode: isBars ? "index" : "nearest", axis: "x", intersect: false },
    plugins: {
      legend: { position: "bottom", display: datasets.length > 1 || !isBars,
                labels: { color: color("text"), usePointStyle: true, boxWidth: 34,
                          pointStyleWidth: 26, generateLabels: legendLabels } },
      tooltip: { callbacks: { label: tooltipLines,
                              title: (items) => items.length ? tooltipTitle(chart, items[0]) : "" } },
    },
  };
}

function tooltipTitle(chart, item) {
  return chart.x.categories ? item.label : `${chart.x.label}: ${shown(item.raw.x)}`;
}

/* Lines in the legend look like those in the chart. */
function legendLabels(chart) {
  const labels = Chart.defaults.plugins.legend.labels.generateLabels(chart);
  labels.forEach((label) => {
    const dataset = chart.data.datasets[label.datasetIndex];
    label.pointStyle = dataset.type === "bar" ? "rectRounded"
      : dataset.showLine ? "line" : dataset.pointStyle;
    label.lineWidth = dataset.type === "bar" ? 0 : 2.5;
  });
  return labels;
}

function isNear(pixels, at, [red, green, blue]) {
  return Math.abs(pixels[at] - red) < 60 && Math.abs(pixels[at + 1] - green) < 60 &&
    Math.abs(pixels[at + 2] - blue) < 60;
}

/* Whether the colour of a series is somewhere inside the axes. */
function isDrawn(chart) {
  const { left, top, width, height } = chart.chartArea;
  const ratio = chart.currentDevicePixelRatio;
  const pixels = chart.ctx.getImageData(left * ratio, top * ratio, width * ratio, height * ratio).data;
  const colors = [...new Set(chart.data.datasets.flatMap((d) => d.backgroundColor))]
    .map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  for (let at = 0; at < pixels.length; at += 4)
    if (colors.some((wanted) => isNear(pixels, at, wanted))) return true;
  return false;
}

function savePicture(chart, name) {
  const link = document.createElement("a");
  link.href = chart.toBase64Image("image/png", 1);
  link.download = name + ".png";
  link.click();
}

const drawn = []; // [chart, its description, whether it has bars], to be coloured anew

function addChart(parent, description, name) {
  const box = element("div", parent, undefined, "chart");
  const head = element("div", box, undefined, "chart-head");
  element("h3", head, description.title);
  const isBars = Boolean(description.x.categories);
  const datasets = description.series.map((s) => datasetOf(s, isBars));
  const area = element("div", box, undefined, "canvas");
  if (!datasets.some((d) => d.data.some((p) => p.y !== null))) {
    element("p", area, "No values: none of the runs reached this.", "empty");
    box.dataset.drawn = "empty";
    return;
  }
  const canvas = element("canvas", area);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", description.title);
  const chart = new Chart(canvas, { data: { datasets }, plugins: [background, spreads],
                                    options: optionsOf(description, datasets, isBars) });
  drawn.push([chart, description, isBars]);
  const save = element("button", head, "Save PNG");
  save.type = "button";
  save.addEventListener("click", () => savePicture(chart, name));
  box.dataset.drawn = String(isDrawn(chart));
}

function sortBy(table, rows, column, header) {
  const down = header.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const compare = (a, b) => (typeof a === "number" && typeof b === "number"
    ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  rows.sort((a, b) => {
    const x = a.cells[column], y = b.cells[column];
    if (x === null || y === null) return (x === null) - (y === null); // gaps stay last
    return (down ? -1 : 1) * compare(x, y);
  });
  table.tBodies[0].append(...rows.map((row) => row.element));
}

function addTable(parent, description, colors) {
  const box = element("div", parent, undefined, "table");
  element("h3", box, description.title);
  const table = element("table", element("div", box, undefined, "scroll"));
  const head = element("tr", element("thead", table)), body = element("tbody", table);
  const isNumber = (c) => description.rows.every((row) => typeof row[c] !== "string");
  const writers = description.columns.map((name, c) => writerOf(description.rows, c));
  const rows = description.rows.map((cells) => ({ cells, element: element("tr", body) }));
  description.columns.forEach((name, c) => {
    const header = element("th", head, undefined, isNumber(c) ? "number" : "");
    header.scope = "col";
    const button = element("button", header, name);
    button.type = "button";
    button.addEventListener("click", () => sortBy(table, rows, c, header));
  });
  rows.forEach((row) => row.cells.forEach((value, c) => {
    const cell = element("td", row.element, undefined, isNumber(c) ? "number" : "");
    if (c === 0 && colors.has(value)) {
      element("i", cell, undefined, "mark").style.background = colors.get(value);
      cell.classList.toggle("name", value.length < 32);
    }
    cell.append(writers[c](value));
  }));
}

function addClaims(parent, figure) {
  if (!figure.paper && !figure.finding) return;
  const list = element("dl", parent, undefined, "claims");
  const add = (term, text, name) => {
    if (!text) return;
    const part = element("div", list, undefined, name);
    element("dt", part, term);
    element("dd", part, text);
  };
  add("The paper says", figure.paper, "paper");
  add("These runs show", figure.finding, "finding");
}

function addFigure(figure, colors) {
  const section = element("section", document.getElementById("figures"), undefined, "figure");
  section.id = figure.id;
  element("h2", section, figure.title);
  addClaims(section, figure);
  const charts = element("div", section, undefined, "charts");
  figure.charts.forEach((chart, i) =>
    addChart(charts, chart, figure.id + (i > 0 ? `-${i + 1}` : "")));
  figure.tables.forEach((table) => addTable(section, table, colors));
  if (figure.runs.length) {
    const details = element("details", section);
    element("summary", details, figure.runs.length === 1 ? "Made from one run"
      : `Made from ${figure.runs.length} runs`);
    element("p", details, figure.runs.join(", "));
  }
  const link = element("a", element("li", document.getElementById("contents")), figure.title);
  link.href = "#" + figure.id;
  return [section, link];
}

/* The colour of a name in a first column is that of the first series so called. */
function colorsOf(results) {
  const colors = new Map();
  results.figures.forEach((f) => f.charts.forEach((c) => c.series.forEach((s) => {
    if (!colors.has(s.name)) colors.set(s.name, s.color);
  })));
  return colors;
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

function recolor() {
  drawn.forEach(([chart, description, isBars]) => {
    chart.options = optionsOf(description, chart.data.datasets, isBars);
    chart.update();
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
  markPlace(results.figures.map((figure) => addFigure(figure, colors)));
  offerDownload(results);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
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
