/* figures.js - figures of a document of results (docs/report.md): claims, charts and tables, for
 * the page of a report and for the one of 'mousse watch'. charts.js draws the charts.
 *
 * All text is set with textContent. For tests, every chart's element says in data-drawn whether
 * its canvas has something on it.
 */
"use strict";

function element(name, parent, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

/* How the numbers of a column are written: short ones as they are, others with as many decimals
 * as give the largest five digits, four at most. */
function writerOf(rows, column) {
  const values = rows.map((row) => row[column]).filter((value) => typeof value === "number");
  const largest = extent(values.map(Math.abs))[1];
  const isShort = (value) => Number(value.toPrecision(3)) === value || Number.isInteger(value);
  if (values.every(isShort) || largest < 1e-3 || largest >= 1e9) return shown;
  const decimals = Math.min(4, Math.max(0, 4 - Math.floor(Math.log10(largest))));
  return (value) => (typeof value === "number" ? value.toFixed(decimals) : shown(value));
}

function savePicture(chart, name) {
  const link = document.createElement("a");
  link.href = chart.toBase64Image("image/png", 1);
  link.download = name + ".png";
  link.click();
}

const drawn = []; // { chart, description, isBars, box }: drawn anew for other colours or another axis
let chosenView = 0; // 0: the charts' own x axis

function redraw() {
  drawn.forEach(({ chart, description, isBars, box }) => {
    chart.data.datasets.forEach((dataset, i) => {
      dataset.data = pointsOf(description.series[i], chosenView);
    });
    chart.options = optionsOf(description, chart.data.datasets, isBars, chosenView);
    chart.update();
    box.dataset.drawn = String(isDrawn(chart));
  });
  document.querySelectorAll(".views button").forEach((button) =>
    button.setAttribute("aria-pressed", String(Number(button.value) === chosenView)));
}

/* Step, tokens or seconds: chosen for all charts at once, so that they compare. */
function addViews(parent, description) {
  if (!description.views) return;
  const group = element("span", parent, undefined, "views");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Along the axis");
  [description.x, ...description.views].forEach((axis, view) => {
    const button = element("button", group, axis.label);
    button.type = "button";
    button.value = view;
    button.setAttribute("aria-pressed", String(view === chosenView));
    button.addEventListener("click", () => {
      chosenView = view;
      redraw();
    });
  });
}

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
                                    options: optionsOf(description, datasets, isBars, 0) });
  drawn.push({ chart, description, isBars, box });
  const tools = element("span", head, undefined, "tools");
  addViews(tools, description);
  const save = element("button", tools, "PNG");
  save.type = "button";
  save.title = "Save this chart as a picture";
  save.addEventListener("click", () => savePicture(chart, name));
  box.dataset.drawn = String(isDrawn(chart));
}

const chosenOrders = new Map(); // title of a table -> { name of a column, down }: tables drawn anew keep theirs

function sortBy(table, rows, column, down) {
  table.querySelectorAll("th").forEach((th, c) => {
    if (c === column) th.setAttribute("aria-sort", down ? "descending" : "ascending");
    else th.removeAttribute("aria-sort");
  });
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
    button.addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") === "ascending";
      chosenOrders.set(description.title, { name, down });
      sortBy(table, rows, c, down);
    });
  });
  rows.forEach((row) => row.cells.forEach((value, c) => {
    const cell = element("td", row.element, undefined, isNumber(c) ? "number" : "");
    if (c === 0 && colors.has(value)) {
      element("i", cell, undefined, "mark").style.background = colors.get(value);
      cell.classList.toggle("name", value.length < 32);
    }
    if (typeof value === "string" && value.length < 24 && /^[-+0-9]/.test(value)) cell.classList.add("name");
    cell.append(writers[c](value));
  }));
  const order = chosenOrders.get(description.title);
  if (order && description.columns.includes(order.name))
    sortBy(table, rows, description.columns.indexOf(order.name), order.down);
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

function addFigure(parent, figure, colors) {
  const section = element("section", parent, undefined, "figure");
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
  return section;
}

/* The colour of a name in a first column is that of the first series so called. */
function colorsOf(results) {
  const colors = new Map();
  results.figures.forEach((f) => f.charts.forEach((c) => c.series.forEach((s) => {
    if (!colors.has(s.name)) colors.set(s.name, s.color);
  })));
  return colors;
}
