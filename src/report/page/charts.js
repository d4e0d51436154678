/* charts.js - one chart of a document of results, drawn with Chart.js: series, axes, legend.
 *
 * Ranges are ours: a loss does not go below 0, an error bar is not cut off, and an axis with a
 * "range" leaves out what blew up. So are the marks on log axes.
 */
"use strict";

const BAND_FROM = 20; // a curve with more points gets a band, with fewer error bars
const MARKS_UP_TO = 40;
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

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

/* Spreads, under the curves as bands or on them as error bars. A point's spread is in `s`, or it
 * reaches from `low` to `high`. */
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
    if (chart.isDatasetVisible(index) && isBand === band && dataset.data.some(hasSpread))
      draw(chart, dataset, chart.getDatasetMeta(index).data);
  });
  ctx.restore();
}

function hasSpread(point) {
  return Boolean(point.s) || (point.high !== undefined && point.high > point.low);
}

/* The upper (sign 1) or lower end of a point's spread. */
function endOf(point, sign) {
  if (point.high !== undefined && point.high !== null) return sign > 0 ? point.high : point.low;
  return point.y + sign * (point.s || 0);
}

/* Its pixel; on a log axis what is not positive lies at the bottom. */
function pixelOf(chart, point, sign) {
  const y = chart.scales.y;
  const value = endOf(point, sign);
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
    if (!hasSpread(point) || point.y === null) return;
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
  const points = pointsOf(series, 0);
  const common = { label: series.name, data: points, borderColor: series.color };
  if (isBars)
    return { ...common, type: "bar", borderWidth: 0, borderRadius: 3, maxBarThickness: 46,
             backgroundColor: series.colors ? points.map((p) => series.colors[p.x]) : series.color };
  const marked = series.style === "points" || points.length <= MARKS_UP_TO;
  return {
    ...common, type: "line", showLine: series.style !== "points", borderWidth: 2, clip: 4,
    borderDash: DASHES[series.dash] || [], backgroundColor: series.color, tension: 0,
    pointRadius: marked ? 3.5 : 0, pointHoverRadius: 5, pointHitRadius: 8,
    pointStyle: ["circle", "rectRot", "triangle", "rect"][series.dash], spanGaps: false,
  };
}

/* The smallest and largest of many numbers; spreading them into Math.min would overflow. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/* Steps of 1, 2, 2.5 or 5 times a power of ten, about six of them, and the range to whole ones. */
function niceRange(low, high) {
  if (high - low <= 1e-9 * Math.abs(high)) { // rounding is no course
    const room = Math.abs(low) / 10 || 1;
    [low, high] = low >= 0 ? [Math.max(0, low - room), high + room] : [low - room, high + room];
  }
  const rough = (high - low) / 6, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].find((digit) => digit * power >= rough) * power;
  return { min: Math.floor(low / step + 1e-9) * step, max: Math.ceil(high / step - 1e-9) * step, step };
}

/* Marks of a log axis: the values themselves where they are few and apart, else 1, 2 and 5 times
 * powers of ten, or only these powers. */
function logMarks(values, min, max) {
  const own = [...new Set(values)].sort((a, b) => a - b);
  const span = Math.log(max / min);
  const apart = own.every((value, i) => i === 0 || Math.log(value / own[i - 1]) > 0.07 * span);
  if (own.length > 1 && own.length <= 10 && apart) return own;
  const digits = span < Math.log(2000) ? [1, 2, 5] : [1], marks = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++)
    for (const digit of digits) {
      const value = digit * Math.pow(10, power);
      if (value >= min * 0.999 && value <= max * 1.001) marks.push(value);
    }
  return marks.length > 1 ? marks.filter((m, i) => marks.length <= 12 || i % Math.ceil(marks.length / 12) === 0) : own;
}

function scaleOf(axis) {
  const isLog = axis.scale === "log";
  const scale = {
    type: axis.categories ? "category" : isLog ? "logarithmic" : "linear",
    title: { display: true, text: axis.label + (isLog ? " (log)" : ""), color: color("quiet") },
    grid: { color: color("grid"), borderColor: color("line"), display: !axis.categories },
    ticks: { color: color("quiet"), maxRotation: axis.categories ? 60 : 0, autoSkipPadding: 12 },
  };
  if (axis.categories) scale.labels = axis.categories;
  else scale.ticks.callback = (value) => shown(Number(value.toPrecision(6)));
  return scale;
}

function fitLog(scale, values) {
  const positive = values.filter((value) => value > 0);
  const [low, high] = extent(positive);
  if (!positive.length) return;
  const room = high > low ? Math.pow(high / low, 0.05) : 2;
  Object.assign(scale, { min: low / room, max: high * room });
  const marks = logMarks(positive, scale.min, scale.max);
  scale.afterBuildTicks = (axis) => { axis.ticks = marks.map((value) => ({ value })); };
}

function fitY(scale, axis, values, isBars) {
  if (axis.range && scale.type === "linear") values = axis.range;
  if (!values.length) return;
  if (scale.type === "logarithmic") { fitLog(scale, axis.range || values); return; }
  const [low, high] = extent(values);
  const { min, max, step } = niceRange(isBars ? Math.min(0, low) : low, high);
  Object.assign(scale, { min, max });
  scale.ticks.stepSize = step;
}

function fitX(scale, values) {
  if (scale.type === "category" || !values.length) return;
  if (scale.type === "logarithmic") { fitLog(scale, values); return; }
  const [low, high] = extent(values);
  const { min, max } = niceRange(low, high);
  Object.assign(scale, { min: high > low ? low : min, max: high > low ? high : max });
  scale.ticks.includeBounds = false;
}

function tooltipLines(item) {
  const { y, s } = item.raw, ends = [-1, 1].map((sign) => shown(Number(endOf(item.raw, sign).toPrecision(4))));
  const spread = s ? ` \u00b1 ${shown(Number(s.toPrecision(2)))}` : hasSpread(item.raw) ? ` (${ends.join(" to ")})` : "";
  return ` ${item.dataset.label}: ${shown(y)}${spread}`;
}

function tooltipTitle(axis, item) {
  return axis.categories ? item.label : `${axis.label}: ${shown(item.raw.x)}`;
}

/* Lines in the legend look like those in the chart. */
function legendLabels(chart) {
  const labels = Chart.defaults.plugins.legend.labels.generateLabels(chart);
  labels.forEach((label) => {
    const dataset = chart.data.datasets[label.datasetIndex];
    label.pointStyle = dataset.type === "bar" ? "rectRounded"
      : dataset.showLine ? "line" : dataset.pointStyle;
    label.lineWidth = dataset.type === "bar" ? 0 : 2.5;
    label.lineDash = dataset.borderDash || [];
  });
  return labels;
}

/* The x axis that is chosen: the chart's own, or one of its views. */
function axisOf(chart, view) {
  return view > 0 && chart.views ? chart.views[view - 1] : chart.x;
}

function optionsOf(chart, datasets, isBars, view) {
  const axis = axisOf(chart, view);
  const points = datasets.flatMap((d) => d.data).filter((p) => p.y !== null && p.x !== null);
  const scales = { x: scaleOf(axis), y: scaleOf(chart.y) };
  fitX(scales.x, points.map((p) => p.x));
  fitY(scales.y, chart.y, points.flatMap((p) => (hasSpread(p) ? [endOf(p, -1), endOf(p, 1)] : [p.y])), isBars);
  return {
    responsive: true, maintainAspectRatio: false, animation: false, scales, layout: { padding: { right: 10 } },
    interaction: { mode: isBars ? "index" : "nearest", axis: "x", intersect: false },
    plugins: {
      legend: { position: "bottom", display: datasets.length > 1 || !isBars,
                labels: { color: color("text"), usePointStyle: true, boxWidth: 46, pointStyleWidth: 36,
                          padding: 14, generateLabels: legendLabels } },
      tooltip: { callbacks: { label: tooltipLines,
                              title: (items) => items.length ? tooltipTitle(axis, items[0]) : "" } },
    },
  };
}

/* A colour per bar where a chart has one series, else per series; points by the view's x. */
function pointsOf(series, view) {
  const places = view > 0 && series.views ? series.views[view - 1] : null;
  return series.points.map(([x, y, s, low, high], i) => ({ x: places ? places[i] : x, y, s, low, high }));
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
