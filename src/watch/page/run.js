/* run.js - the page of one run: curves, events, samples, options. */
"use strict";

const AXES = [["step", "step"], ["tokens", "tokens"], ["seconds", "seconds of training"]];
const TRAINING = "#2f7ed8", VALIDATION = "#d6336c", OTHER = "#2a9d6f";

/* Chosen once for all runs, and remembered as long as the page is open. */
const look = { axis: 0, log: false, smooth: 0.6 };

/* A series that the server sends in parts: the last bucket may come again, fuller. */
class Series {
  constructor() {
    this.layout = null;
    this.places = { step: [], tokens: [], seconds: [] };
    this.columns = {};
  }

  /* What to ask for: everything, or from the last bucket on. */
  request() {
    return this.layout === null ? "" : `${this.layout},${Math.max(0, this.places.step.length - 1)}`;
  }

  take(part) {
    const from = part.layout === this.layout ? part.from : 0, size = from + part.step.length;
    this.layout = part.layout;
    Object.keys(this.places).forEach((name) => {
      this.places[name].length = from;
      this.places[name].push(...part[name]);
    });
    Object.entries(part.columns).forEach(([name, column]) => {
      const own = this.columns[name] || (this.columns[name] = { mean: [], low: [], high: [] });
      ["mean", "low", "high"].forEach((kind) => {
        const values = column[kind] || column.mean || [];
        own[kind].length = Math.min(own[kind].length, from);
        while (own[kind].length < from) own[kind].push(null);
        own[kind].push(...values);
        while (own[kind].length < size) own[kind].push(null);
      });
    });
  }

  /* Points of a chart; a band where a bucket has several values. */
  points(name, factor = 1) {
    const x = this.places[AXES[look.axis][0]], column = this.columns[name];
    if (!column) return [];
    const times = (value) => (value === null ? null : value * factor);
    return column.mean.map((y, i) => (y === null ? [x[i], null]
      : [x[i], times(y), undefined, times(column.low[i]), times(column.high[i])]));
  }
}

/* An exponential average that starts at the first value; gaps stay. */
function smoothed(points, weight) {
  let sum = 0, total = 0;
  return points.map(([x, y]) => {
    if (y === null) return [x, null];
    sum = weight * sum + (1 - weight) * y;
    total = weight * total + (1 - weight);
    return [x, sum / total];
  });
}

/* A faint curve for what was measured, a strong one for its average. */
function withAverage(name, color, points) {
  if (look.smooth === 0 || points.length < 8) return [{ name, color, dash: 0, style: "line", points }];
  return [{ name, color, dash: 0, style: "line", points: smoothed(points, look.smooth) }, // on top
          { name: `${name}, as measured`, color: paler(color), dash: 0, style: "line", points }];
}

/* Halfway to the background: as a colour of its own, as charts look for it. */
function paler(hex) {
  const back = color("card"), part = (text, at) => parseInt(text.slice(at, at + 2), 16);
  return "#" + [1, 3, 5].map((at) => Math.round(0.4 * part(hex, at) + 0.6 * part(back, at)).toString(16).padStart(2, "0")).join("");
}

class RunPage {
  constructor(parent, path) {
    this.path = path;
    this.steps = new Series();
    this.validations = new Series();
    this.addHead(parent);
    this.addTools(parent);
    const grid = element("div", parent, undefined, "grid");
    this.charts = {
      loss: new LiveChart(grid, "Loss", "wide"), lr: new LiveChart(grid, "Learning rate"),
      grad: new LiveChart(grid, "Gradient norm"), speed: new LiveChart(grid, "Tokens per second"),
      peak: new LiveChart(grid, "Share of peak"), memory: new LiveChart(grid, "Memory"),
      skipped: new LiveChart(grid, "Skipped steps"),
    };
    this.curvature = new CurvatureMap(parent, path);
    this.samples = this.addCard(parent, "Samples", "samples");
    this.events = this.addCard(parent, "What happened", "events");
    this.options = this.addCard(parent, "Options", "options");
    this.shownSamples = this.shownOptions = this.shownEvents = "";
  }

  addCard(parent, title, className) {
    const card = element("section", parent, undefined, "card " + className);
    element("h2", card, title);
    return element("div", card);
  }

  addHead(parent) {
    const head = element("div", parent, undefined, "page-head");
    const title = element("h1", head);
    this.name = element("span", title);
    this.state = element("span", title);
    this.progress = element("div", head);
    this.where = element("p", head, undefined, "quiet");
    this.facts = element("dl", parent, undefined, "facts");
  }

  addTools(parent) {
    const tools = element("div", parent, undefined, "toolbar");
    addChoice(tools, "Along the axis", ["step", "tokens", "time"], look.axis, (axis) => { look.axis = axis; this.draw(); });
    addChoice(tools, "Scale of the loss", ["linear", "log"], Number(look.log), (log) => { look.log = log === 1; this.draw(); });
    const label = element("label", tools, "smoothing ", "smooth"), slider = element("input", label);
    Object.assign(slider, { type: "range", min: "0", max: "0.98", step: "0.02", value: String(look.smooth) });
    slider.addEventListener("input", () => { look.smooth = Number(slider.value); this.draw(); });
    const keep = element("a", tools, "Save as report", "button");
    keep.href = "report.html?" + new URLSearchParams([["run", this.path]]);
    keep.download = "report.html";
  }

  async update() {
    const run = await ask("api/run", { run: this.path, steps: this.steps.request(),
                                       validations: this.validations.request() });
    this.steps.take(run.series);
    this.validations.take(run.validations);
    this.run = run;
    this.draw();
    await this.updateCurvature();
  }

  /* Many numbers that change slowly: not more often than every three seconds. */
  async updateCurvature() {
    const now = Date.now();
    if (this.curvatureAt && now - this.curvatureAt < 3000) return;
    this.curvatureAt = now;
    await this.curvature.update();
  }

  draw() {
    if (!this.run) return;
    const run = this.run;
    document.title = `${run.name} \u00b7 mousse watch`;
    this.name.textContent = run.name;
    this.state.replaceChildren();
    addState(this.state, run.state);
    this.drawProgress(run);
    this.drawFacts(run);
    this.drawCharts(run);
    this.drawSamples(run.samples);
    this.drawEvents(run);
    this.drawOptions(run);
  }

  drawProgress(run) {
    this.progress.replaceChildren();
    addProgress(this.progress, run);
    const left = run.left !== null ? ` \u00b7 ${duration(run.left)} left` : "";
    element("p", this.progress, `step ${shown(run.step)} of ${run.steps ? shown(run.steps) : "?"} \u00b7 ` +
      `${Math.round(100 * progressOf(run))}%${left}`, "quiet");
    this.where.textContent = run.problem || "";
  }

  /* Of the speed of plain matrix products, as measured when the run started. */
  peakFactor(run) {
    const { flops_per_token: work, flops_per_second: speed } = run.started || {};
    return work > 0 && speed > 0 ? 100 * work / speed : null;
  }

  drawFacts(run) {
    const last = (name) => (this.steps.columns[name] ? [...this.steps.columns[name].mean].reverse().find((v) => v !== null) : undefined);
    const factor = this.peakFactor(run), memory = last("memory") ?? run.peak_bytes;
    this.facts.replaceChildren();
    addFact(this.facts, "training loss", lossText(run.loss), "an average over about 20 steps");
    addFact(this.facts, "validation loss", lossText(run.last));
    addFact(this.facts, "best", lossText(run.best), run.best !== null ? `at step ${shown(run.best_step)}` : "");
    addFact(this.facts, "tokens/s", short(run.rate));
    if (factor !== null && run.rate !== null) addFact(this.facts, "of peak", `${Math.round(factor * run.rate)}%`);
    addFact(this.facts, "tokens", short(run.tokens));
    if (memory !== undefined && memory !== null) addFact(this.facts, "memory", bytesText(memory));
    addFact(this.facts, "trained for", duration(run.seconds));
    if (run.skipped > 0) addFact(this.facts, "skipped steps", shown(run.skipped), "their loss or gradient was not finite");
  }

  describe(label, series, scale = "linear") {
    return { x: { label: AXES[look.axis][1], scale: "linear" }, y: { label, scale }, series };
  }

  drawCharts(run) {
    const validation = { name: "validation", color: VALIDATION, dash: 1, style: "line",
                         points: this.validations.points("loss").map(([x, y]) => [x, y]) };
    const line = (name, color, factor) => [{ name, color, dash: 0, style: "line", points: this.steps.points(name, factor) }];
    const factor = this.peakFactor(run), skipped = this.steps.points("skipped");
    this.charts.loss.set(this.describe("nats per token",
      [validation, ...withAverage("training", TRAINING, this.steps.points("loss"))], look.log ? "log" : "linear"));
    this.charts.lr.set(this.describe("", line("lr", OTHER)));
    this.charts.grad.set(this.describe("", withAverage("grad_norm", TRAINING, this.steps.points("grad_norm")), "log"));
    this.charts.speed.set(this.describe("tokens/s", withAverage("speed", OTHER, this.steps.points("speed"))));
    this.charts.peak.set(this.describe("%", factor === null ? []
      : withAverage("% of peak", OTHER, this.steps.points("speed", factor))));
    this.charts.memory.set(this.describe("MB", line("memory", VALIDATION, 1e-6)));
    this.charts.skipped.set(this.describe("share of steps", skipped.some(([, y]) => y > 0)
      ? [{ name: "skipped", color: VALIDATION, dash: 0, style: "line", points: skipped.map(([x, y]) => [x, y]) }] : []));
  }

  drawSamples(samples) {
    const signature = JSON.stringify(samples);
    if (signature === this.shownSamples) return;
    this.shownSamples = signature;
    this.samples.parentElement.hidden = samples.length === 0;
    this.samples.replaceChildren();
    [...samples].reverse().slice(0, 20).forEach((sample) => {
      const box = element("figure", this.samples, undefined, "sample");
      element("figcaption", box, `step ${shown(sample.step)}`);
      element("blockquote", box, String(sample.text));
    });
  }

  eventsOf(run) {
    const changed = run.changes.map(({ step, text }) => ({ step, event: "options", text }));
    const told = run.events.map((e) => ({ step: e.step, time: e.time, event: String(e.event), text: eventText(e) }));
    const recorded = new Set(run.events.filter((e) => e.event === "checkpoint").map((e) => e.step));
    const saved = run.checkpoints.filter((step) => !recorded.has(step))
      .map((step) => ({ step, event: "checkpoint", text: "" }));
    return [...told, ...changed, ...saved].sort((a, b) => b.step - a.step);
  }

  drawEvents(run) {
    const events = this.eventsOf(run), signature = JSON.stringify(events);
    if (signature === this.shownEvents) return;
    this.shownEvents = signature;
    this.events.replaceChildren();
    if (!events.length) element("p", this.events, "Nothing yet.", "nothing");
    const list = element("ol", this.events, undefined, "timeline");
    events.slice(0, 100).forEach((event) => {
      const item = element("li", list);
      element("b", item, `step ${shown(event.step)}`);
      element("span", item, event.event, "kind " + (/^[a-z]+$/.test(event.event) ? event.event : ""));
      item.append(event.text || "");
      if (event.time) element("time", item, new Date(event.time).toLocaleString("en"));
    });
  }

  drawOptions(run) {
    const signature = JSON.stringify([run.all_options, run.command, run.machine]);
    if (signature === this.shownOptions) return;
    this.shownOptions = signature;
    this.options.replaceChildren();
    if (Array.isArray(run.command)) element("p", this.options).append(element("code", null, run.command.join(" ")));
    if (run.machine) element("p", this.options, machineText(run.machine), "quiet");
    const set = run.all_options.filter((o) => o.origin !== "default"), rest = run.all_options.filter((o) => o.origin === "default");
    addOptions(this.options, set);
    const more = element("details", this.options);
    element("summary", more, `${rest.length} more at their defaults`);
    addOptions(more, rest);
  }

  destroy() {
    Object.values(this.charts).forEach((chart) => chart.destroy());
    this.curvature.destroy();
  }
}

function eventText(event) {
  if (event.event === "started") return event.step > 0 ? "continued from its checkpoint" : "from the beginning";
  return typeof event.text === "string" ? event.text : "";
}

function machineText(machine) {
  const { host, processor, ranks, threads, blas } = machine;
  return [host, processor, `${ranks} ${ranks === 1 ? "rank" : "ranks"} of ${threads} ${threads === 1 ? "thread" : "threads"}`, blas]
    .filter((part) => typeof part === "string").join(" \u00b7 ");
}

function addOptions(parent, options) {
  const table = element("table", element("div", parent, undefined, "scroll"), undefined, "plain");
  const head = element("tr", element("thead", table)), body = element("tbody", table);
  ["option", "value", "from"].forEach((name) => { element("th", head, name).scope = "col"; });
  options.forEach(({ name, value, origin }) => {
    const row = element("tr", body);
    element("th", row, name).scope = "row";
    element("td", row, value === "" ? "\u2013" : value);
    element("td", row, origin, "quiet");
  });
}
