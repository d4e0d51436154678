/* runs.js - the table of runs: what each does now, and choosing some to compare. */
"use strict";

const chosenRuns = new Set(); // paths

const COLUMNS = [
  { name: "run", value: (r) => r.name },
  { name: "curve", value: (r) => (r.spark.length ? r.spark[r.spark.length - 1] : null) },
  { name: "state", value: (r) => r.state },
  { name: "progress", value: progressOf },
  { name: "left", value: (r) => r.left, number: true },
  { name: "loss", value: (r) => r.loss, number: true },
  { name: "validation", value: (r) => r.last, number: true },
  { name: "best", value: (r) => r.best, number: true },
  { name: "tokens/s", value: (r) => r.rate, number: true },
  { name: "optimizer", value: (r) => r.optimizer || "" },
];

/* One page of the program: it is drawn anew when the table changes. */
class RunsPage {
  constructor(parent) {
    this.sort = { column: 0, down: false };
    this.filter = "";
    const head = element("div", parent, undefined, "page-head");
    element("h1", head, "Runs");
    this.where = element("p", head, undefined, "quiet");
    this.facts = element("dl", parent, undefined, "facts");
    const tools = element("div", parent, undefined, "toolbar");
    this.addFilter(tools);
    this.compare = element("a", tools, "Compare", "button primary");
    this.compare.href = "#/compare";
    this.keep = element("a", tools, "Save as report", "button");
    this.keep.download = "report.html";
    this.card = element("section", parent, undefined, "card table");
    this.scroll = element("div", this.card, undefined, "scroll");
    this.sweep = element("div", parent);
  }

  addFilter(parent) {
    const label = element("label", parent, undefined, "filter");
    element("span", label, "Filter", "unseen");
    const input = element("input", label);
    input.type = "search";
    input.placeholder = "Filter by name, optimizer, state or option";
    input.addEventListener("input", () => {
      this.filter = input.value.toLowerCase();
      this.draw();
    });
  }

  async update() {
    this.data = await ask("api/runs");
    this.draw();
  }

  shows(run) {
    const options = Object.entries(run.options).map(([name, value]) => `${name} ${value}`);
    return [run.run, run.state, run.optimizer || "", ...options].join(" ").toLowerCase().includes(this.filter);
  }

  draw() {
    if (!this.data) return;
    const focused = document.activeElement && document.activeElement.dataset.key;
    this.where.textContent = this.data.directory;
    this.drawFacts();
    this.drawTable(this.data.runs.filter((run) => this.shows(run)));
    this.drawTools();
    drawSweep(this.sweep, this.data);
    const again = focused && [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === focused);
    if (again) again.focus();
  }

  drawFacts() {
    const runs = this.data.runs, best = runs.filter((r) => r.best !== null).sort((a, b) => a.best - b.best)[0];
    const count = (state) => runs.filter((r) => r.state === state).length;
    const rate = runs.filter((r) => r.state === "running").reduce((sum, r) => sum + (r.rate || 0), 0);
    this.facts.replaceChildren();
    addFact(this.facts, "runs", shown(runs.length));
    addFact(this.facts, "running", shown(count("running")));
    addFact(this.facts, "complete", shown(count("complete")));
    if (rate > 0) addFact(this.facts, "tokens/s in all", short(rate));
    if (best) addFact(this.facts, "lowest validation loss", lossText(best.best), best.name);
  }

  drawTools() {
    const chosen = [...chosenRuns].filter((path) => this.data.runs.some((r) => r.run === path));
    this.compare.textContent = chosen.length ? `Compare ${chosen.length} chosen` : "Compare all";
    this.compare.href = "#/compare/" + chosen.map(encodeURIComponent).join("/");
    this.keep.href = "report.html?" + new URLSearchParams(chosen.map((path) => ["run", path]));
    this.compare.hidden = this.keep.hidden = this.data.runs.length === 0;
  }

  columns() {
    const known = ["optimizer", "lr"];
    const own = this.data.differ.filter((name) => name !== "optimizer").map((name) => (
      { name, value: (r) => numeric(r.options[name]), option: true }));
    return [...COLUMNS, ...own.sort((a, b) => known.includes(b.name) - known.includes(a.name))];
  }

  drawTable(runs) {
    this.scroll.replaceChildren();
    if (!runs.length) {
      element("p", this.scroll, this.data.runs.length ? "No run fits the filter."
        : "No runs yet. They appear here as soon as 'mousse train' starts one below this directory.", "nothing");
      return;
    }
    const columns = this.columns(), table = element("table", this.scroll, undefined, "runs");
    const head = element("tr", element("thead", table)), body = element("tbody", table);
    const corner = element("th", head);
    element("span", corner, "Chosen", "unseen");
    columns.forEach((column, i) => this.addHeader(head, column, i));
    this.sorted(runs, columns).forEach((run) => this.addRow(body, run, columns));
  }

  addHeader(head, column, index) {
    const header = element("th", head, undefined, column.number ? "number" : "");
    header.scope = "col";
    const button = element("button", header, column.name);
    button.type = "button";
    button.dataset.key = "sort " + column.name;
    if (this.sort.column === index) header.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
    button.addEventListener("click", () => {
      this.sort = { column: index, down: this.sort.column === index && !this.sort.down };
      this.draw();
    });
  }

  sorted(runs, columns) {
    const { value } = columns[Math.min(this.sort.column, columns.length - 1)], sign = this.sort.down ? -1 : 1;
    return [...runs].sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null || x === undefined || y === undefined) return (x == null) - (y == null);
      return sign * (typeof x === "number" && typeof y === "number" ? x - y
        : String(x).localeCompare(String(y), "en", { numeric: true }));
    });
  }

  addRow(body, run, columns) {
    const row = element("tr", body);
    row.dataset.run = run.run;
    const cell = element("td", row), box = element("input", cell);
    box.type = "checkbox";
    box.checked = chosenRuns.has(run.run);
    box.dataset.key = "choose " + run.run;
    box.setAttribute("aria-label", `Compare ${run.name}`);
    box.addEventListener("change", () => {
      if (box.checked) chosenRuns.add(run.run); else chosenRuns.delete(run.run);
      this.drawTools();
    });
    columns.forEach((column) => this.addCell(row, run, column));
  }

  addCell(row, run, column) {
    const cell = element("td", row, undefined, column.number ? "number" : "");
    cell.dataset.label = column.name;
    const write = this.writers[column.name];
    if (write) write(cell, run);
    else cell.append(column.option ? run.options[column.name] || "\u2013" : column.value(run) ?? "\u2013");
  }

  writers = {
    run: (cell, run) => {
      cell.classList.add("name");
      const link = element("a", cell, run.name);
      link.href = addressOf("run", run.run);
      link.dataset.key = "run " + run.run;
      if (run.problem) element("small", cell, run.problem, "problem");
    },
    curve: (cell, run) => cell.append(sparkline(run.spark)),
    state: (cell, run) => addState(cell, run.state),
    progress: (cell, run) => {
      addProgress(cell, run);
      element("small", cell, `${shown(run.step)} / ${run.steps ? shown(run.steps) : "?"}`);
    },
    left: (cell, run) => cell.append(duration(run.left)),
    loss: (cell, run) => cell.append(lossText(run.loss)),
    validation: (cell, run) => cell.append(lossText(run.last)),
    best: (cell, run) => {
      cell.append(lossText(run.best));
      if (run.best !== null) cell.title = `at step ${shown(run.best_step)}`;
    },
    "tokens/s": (cell, run) => cell.append(short(run.rate)),
  };
}

/* Numbers sort as numbers. */
function numeric(text) {
  return text !== undefined && text !== "" && !isNaN(text) ? Number(text) : text;
}

/* The report on chosen runs, drawn by the code that draws the pages of 'mousse report'. */
class ComparePage {
  constructor(parent, paths) {
    this.paths = paths;
    const head = element("div", parent, undefined, "page-head");
    element("h1", head, paths.length ? `Comparison of ${paths.length} ${paths.length === 1 ? "run" : "runs"}`
      : "Comparison of all runs");
    this.notes = element("ul", head, undefined, "notes");
    const tools = element("div", parent, undefined, "toolbar");
    const keep = element("a", tools, "Save as report", "button primary");
    keep.href = "report.html?" + new URLSearchParams(this.query());
    keep.download = "report.html";
    this.parent = element("div", parent, undefined, "figures");
    this.signature = "";
  }

  query() {
    return this.paths.map((path) => ["run", path]);
  }

  async update() {
    const results = await ask("api/report", this.query());
    const signature = JSON.stringify(results);
    if (signature === this.signature) return;
    this.signature = signature;
    this.draw(results);
  }

  draw(results) {
    const place = window.scrollY, colors = colorsOf(results);
    this.destroy();
    this.notes.replaceChildren();
    results.notes.forEach((note) => element("li", this.notes, note));
    this.parent.style.minHeight = `${this.parent.offsetHeight}px`; // no jump while it is empty
    this.parent.replaceChildren();
    results.figures.forEach((figure) => addFigure(this.parent, figure, colors));
    redraw();
    this.parent.style.minHeight = "";
    window.scrollTo(0, place);
  }

  destroy() {
    drawn.forEach(({ chart }) => chart.destroy());
    drawn.length = 0;
  }
}
