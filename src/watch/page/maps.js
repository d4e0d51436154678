/* maps.js - heat maps: final losses of a sweep over two options, and the curvature of every
 * matrix over time, which opens to curves.
 *
 * The colours are those of viridis, which stay apart with any colour vision and in grey; every
 * cell also tells its number.
 */
"use strict";

const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137],
                 [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37]];

/* The colour at a share from 0 to 1. */
function viridis(share) {
  const at = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1), i = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[i].map((low, c) => Math.round(low + (at - i) * (VIRIDIS[i + 1][c] - low)));
}

function cssColor([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

/* Black or white, whichever has more contrast to a colour; 0.179 has the same to both. */
function inkOn(rgb) {
  const [red, green, blue] = rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}

/* Shares of values between their extremes, of their logarithms where all are above 0. */
function scaleFor(values, isLog) {
  const there = values.filter((v) => v !== null && isFinite(v) && (!isLog || v > 0));
  const place = (v) => (isLog ? Math.log(v) : v);
  const [low, high] = extent(there.map(place));
  return {
    low: isLog ? Math.exp(low) : low, high: isLog ? Math.exp(high) : high, any: there.length > 0,
    share: (v) => (v === null || !isFinite(v) || (isLog && v <= 0) ? null
      : high > low ? (place(v) - low) / (high - low) : 0.5),
  };
}

function addLegend(parent, scale, reversed) {
  const box = element("div", parent, undefined, "legend");
  element("span", box, shown(Number(scale.low.toPrecision(4))));
  const bar = element("i", box);
  bar.style.background = `linear-gradient(90deg, ${VIRIDIS.map((c, i) =>
    cssColor(viridis(reversed ? 1 - i / (VIRIDIS.length - 1) : i / (VIRIDIS.length - 1)))).join(", ")})`;
  element("span", box, shown(Number(scale.high.toPrecision(4))));
}

/* ---- sweeps ---- */

/* Options with several values, but for the seed: the axes of a sweep. */
function sweptOptions(data) {
  return data.differ.filter((name) => name !== "seed" &&
    new Set(data.runs.map((r) => r.options[name])).size > 1);
}

const sweepAxes = { x: null, y: null };

function drawSweep(parent, data) {
  const options = sweptOptions(data);
  parent.replaceChildren();
  if (!options.length || data.runs.filter((r) => r.last !== null).length < 3) return;
  const x = options.includes(sweepAxes.x) ? sweepAxes.x : options.includes("lr") ? "lr" : options[0];
  const y = options.includes(sweepAxes.y) && sweepAxes.y !== x ? sweepAxes.y
    : options.find((name) => name === "optimizer" && name !== x) || options.find((name) => name !== x);
  const card = element("section", parent, undefined, "card sweep");
  const head = element("div", card, undefined, "chart-head");
  element("h2", head, "Sweep: last validation loss");
  const tools = element("span", head, undefined, "tools");
  addAxisChoice(tools, "across", options, x, (name) => { sweepAxes.x = name; drawSweep(parent, data); });
  if (options.length > 1)
    addAxisChoice(tools, "down", options, y, (name) => { sweepAxes.y = name; drawSweep(parent, data); });
  drawSweepTable(card, data, x, y);
}

function addAxisChoice(parent, label, names, chosen, choose) {
  const box = element("label", parent, label + " ", "axis-choice"), select = element("select", box);
  names.forEach((name) => { element("option", select, name).value = name; });
  select.value = chosen;
  select.dataset.key = "sweep " + label;
  select.addEventListener("change", () => choose(select.value));
}

function ordered(values) {
  return [...new Set(values)].sort((a, b) => String(a).localeCompare(String(b), "en", { numeric: true }) ||
    Number(a) - Number(b)).sort((a, b) => (isNaN(a) || isNaN(b) || a === "" || b === "" ? 0 : a - b));
}

/* Means over seeds and whatever else differs. */
function drawSweepTable(card, data, x, y) {
  const across = ordered(data.runs.map((r) => r.options[x])), down = y ? ordered(data.runs.map((r) => r.options[y])) : [null];
  const cell = (a, d) => data.runs.filter((r) => r.options[x] === a && (!y || r.options[y] === d));
  const mean = (runs) => {
    const losses = runs.map((r) => (r.state === "diverged" ? null : r.last)).filter((v) => v !== null);
    return losses.length ? losses.reduce((sum, v) => sum + v, 0) / losses.length : null;
  };
  const means = down.map((d) => across.map((a) => mean(cell(a, d))));
  const there = means.flat().filter((v) => v !== null).sort((a, b) => a - b);
  const limit = there.length ? there[Math.floor(0.9 * (there.length - 1))] : 0; // what blew up is dark as well
  const scale = scaleFor(there.filter((v) => v <= limit), false);
  const table = element("table", element("div", card, undefined, "scroll"), undefined, "map");
  const head = element("tr", element("thead", table)), body = element("tbody", table);
  element("th", head, y ? `${y} \u2193  ${x} \u2192` : x);
  across.forEach((a) => { element("th", head, a === "" ? "(default)" : a).scope = "col"; });
  down.forEach((d, i) => {
    const row = element("tr", body);
    element("th", row, d === null ? "loss" : d === "" ? "(default)" : d).scope = "row";
    across.forEach((a, j) => addSweepCell(row, means[i][j], cell(a, d), scale, means[i][j] === there[0]));
  });
  addLegend(card, scale, true);
}

function addSweepCell(row, value, runs, scale, isBest) {
  const cell = element("td", row, value === null ? (runs.length ? runs[0].state : "") : value.toFixed(4));
  cell.title = runs.map((r) => `${r.name}: ${lossText(r.last)}`).join("\n");
  if (value === null) return;
  const share = scale.share(value), rgb = viridis(1 - Math.min(1, share === null ? 1 : share));
  cell.style.background = cssColor(rgb);
  cell.style.color = inkOn(rgb);
  if (isBest) cell.classList.add("best");
}

/* ---- curvature ---- */

/* What the heat map of a run can show: a quantity of telemetry, its name for people, and whether
 * its logarithm is shown. The first that a run has is shown first. */
const CURVATURE = [
  ["left_condition", "condition of L", true], ["right_condition", "condition of R", true],
  ["left_effective_rank", "effective rank of L", false], ["right_effective_rank", "effective rank of R", false],
  ["momentum_condition", "condition of the momentum's Gram matrix", true],
  ["momentum_effective_rank", "effective rank of the momentum", false],
  ["update_rms", "update RMS", true], ["ns_residual", "orthogonality residual", true],
  ["grad_norm", "gradient norm", true], ["fallbacks", "fall-backs", false], ["retries", "retries", false],
];

/* Curves that are drawn together when a matrix is opened. */
const SPECTRA = [
  ["L: spectrum", "left_", ["min", "q10", "q50", "q90", "max"]],
  ["R: spectrum", "right_", ["min", "q10", "q50", "q90", "max"]],
  ["Momentum's Gram matrix: spectrum", "momentum_", ["min", "q10", "q50", "q90", "max"]],
];
const SPECTRUM_COLORS = ["#8a63d2", "#2f7ed8", "#2a9d6f", "#e08e0b", "#d6336c"];
const ROW = 18; // pixels of a matrix

/* "h.0.attn.c_q" of "transformer.h.0.attn.c_q.weight" */
function shortName(matrix) {
  return matrix.replace(/^transformer\./, "").replace(/\.weight$/, "");
}

class CurvatureMap {
  constructor(parent, path) {
    this.path = path;
    this.card = element("section", parent, undefined, "card curvature");
    this.head = element("div", this.card, undefined, "chart-head");
    element("h2", this.head, "Curvature");
    this.tools = element("span", this.head, undefined, "tools");
    this.body = element("div", this.card);
    this.quantity = this.opened = null; // names
    this.charts = [];
  }

  /* Long files are read by the server in parts. Meanwhile something else may have been chosen, of which the answer
   * may come first: then this one is not drawn under its name. */
  async update() {
    const { quantity, opened } = this, query = { run: this.path };
    if (quantity) query.quantity = quantity;
    if (opened) query.matrix = opened;
    let data = null;
    do data = await ask("api/curvature", query);
    while (data.more);
    if (quantity !== this.quantity || opened !== this.opened) return;
    const known = CURVATURE.filter(([name]) => data.quantities.includes(name));
    if (known.length && !known.some(([name]) => name === this.quantity)) {
      this.quantity = known[0][0];
      await this.update();
    } else {
      this.draw(data, known);
    }
  }

  draw(data, known) {
    this.data = data;
    this.card.dataset.drawn = known.length && data.steps.length ? "true" : "empty";
    if (!known.length || !data.steps.length) {
      this.body.replaceChildren();
      element("p", this.body, "No telemetry: 'mousse train --telemetry-every 10' writes it, and it " +
        "may be set for a run that is continued.", "nothing");
      return;
    }
    this.drawChoice(known);
    this.drawMap(known.find(([name]) => name === this.quantity));
    this.drawCurves();
  }

  drawChoice(known) {
    if (this.select && this.select.length === known.length) return;
    this.tools.replaceChildren();
    const label = element("label", this.tools, undefined, "axis-choice");
    element("span", label, "Quantity", "unseen");
    this.select = element("select", label);
    known.forEach(([name, text]) => { element("option", this.select, text).value = name; });
    this.select.value = this.quantity;
    this.select.addEventListener("change", () => {
      this.quantity = this.select.value;
      this.update();
    });
  }

  drawMap([, text, isLog]) {
    const { steps } = this.data, scale = scaleFor(this.data.rows.flat(), isLog);
    const there = this.data.rows.map((row, i) => i).filter((i) => this.data.rows[i].some((v) => v !== null));
    const matrices = there.map((i) => this.data.matrices[i]), rows = there.map((i) => this.data.rows[i]);
    const focused = document.activeElement && document.activeElement.dataset.matrix;
    const height = this.body.offsetHeight; // no jump while it is empty
    this.body.style.minHeight = `${height}px`;
    this.body.replaceChildren();
    const grid = element("div", this.body, undefined, "heat"), names = element("div", grid, undefined, "rows");
    const area = element("div", grid, undefined, "cells"), canvas = element("canvas", area);
    matrices.forEach((matrix, i) => this.addRowName(names, matrix, text, rows[i], focused));
    canvas.width = steps.length;
    canvas.height = matrices.length;
    canvas.style.height = `${ROW * matrices.length}px`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${text}, a row for each matrix, from step ${steps[0]} to ${steps[steps.length - 1]}`);
    this.paint(canvas, rows, scale);
    this.addPointer(canvas, matrices, rows, text);
    const axis = element("div", area, undefined, "axis");
    [steps[0], steps[Math.floor((steps.length - 1) / 2)], steps[steps.length - 1]]
      .forEach((step) => element("span", axis, shown(step)));
    this.tip = element("p", this.body, "Steps run from left to right. Choose a matrix for its curves.", "tip");
    if (scale.any) addLegend(this.body, scale, false);
    this.curves = element("div", this.body, undefined, "grid");
  }

  addRowName(names, matrix, text, values, focused) {
    const last = values.filter((v) => v !== null).pop();
    const button = element("button", names, shortName(matrix));
    button.type = "button";
    button.dataset.matrix = matrix;
    button.title = `${matrix}: ${text} ${last === undefined ? "not known" : shown(last)}`;
    button.setAttribute("aria-pressed", String(this.opened === matrix));
    button.addEventListener("click", () => this.open(this.opened === matrix ? null : matrix));
    if (focused === matrix) button.focus();
  }

  open(matrix) {
    this.opened = matrix;
    return this.update();
  }

  paint(canvas, rows, scale) {
    const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
    rows.forEach((values, y) => values.forEach((value, x) => {
      const share = scale.share(value), at = 4 * (y * canvas.width + x);
      const rgb = share === null ? [128, 128, 128] : viridis(share);
      image.data.set([...rgb, share === null ? 30 : 255], at);
    }));
    context.putImageData(image, 0, 0);
  }

  addPointer(canvas, matrices, rows, text) {
    const cellAt = (event) => {
      const box = canvas.getBoundingClientRect();
      const x = Math.floor((event.clientX - box.left) / box.width * canvas.width);
      const y = Math.floor((event.clientY - box.top) / box.height * canvas.height);
      return [Math.max(0, Math.min(canvas.width - 1, x)), Math.max(0, Math.min(canvas.height - 1, y))];
    };
    canvas.addEventListener("mousemove", (event) => {
      const [x, y] = cellAt(event), value = rows[y][x];
      this.tip.textContent = `${matrices[y]}, step ${shown(this.data.steps[x])}: ${text} ` +
        (value === null ? "not known" : shown(Number(value.toPrecision(5))));
    });
    canvas.addEventListener("click", (event) => this.open(matrices[cellAt(event)[1]]));
  }

  drawCurves() {
    this.destroy();
    if (this.opened && this.data.curves && Object.keys(this.data.curves).length) {
      SPECTRA.forEach(([title, prefix, names]) => this.addCurves(title, prefix, names, true));
      CURVATURE.forEach(([name, text, isLog]) => this.addCurves(text, "", [name], isLog));
    }
    this.body.style.minHeight = "";
  }

  addCurves(title, prefix, names, isLog) {
    const { steps, curves } = this.data;
    const drawable = (value) => (value === null || (isLog && value <= 0) ? null : value);
    const series = names.filter((name) => curves[prefix + name]).map((name) => ({
      name: prefix ? name : title, style: "line", dash: prefix ? names.indexOf(name) % 4 : 0,
      color: SPECTRUM_COLORS[prefix ? names.indexOf(name) : 1],
      points: curves[prefix + name].map((value, i) => [steps[i], drawable(value)]),
    }));
    if (!series.some((s) => s.points.some(([, y]) => y !== null))) return;
    const chart = new LiveChart(this.curves, `${shortName(this.opened)}: ${title}`);
    chart.isSmall = series.length < 2;
    chart.set({ x: { label: "step", scale: "linear" }, y: { label: "", scale: isLog ? "log" : "linear" }, series });
    this.charts.push(chart);
  }

  destroy() {
    this.charts.forEach((chart) => chart.destroy());
    this.charts = [];
  }
}
