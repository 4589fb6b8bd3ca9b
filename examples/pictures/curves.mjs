// Pictures of the recipes about curves and numbers.
import { around, COLOURS as C, extent, Picture } from "./plot.mjs";

const pairs = (x, y) => Array.from(x, (v, k) => [v, y[k]]);

export function curveFit({ curve, t, truth, y }) {
  const picture = new Picture(), plot = picture.axes({ x: [0, 8], y: [0, 3.8], names: { x: "t", y: "y" } });
  plot.band(curve.map(({ t, y, band }) => [t, y - band, y + band]), C.blue);
  plot.line(curve.map(({ t }) => [t, truth.a * Math.exp(-t / truth.tau) + truth.c]), { colour: C.grey, dash: "5 5" });
  plot.line(curve.map(({ t, y }) => [t, y]), { colour: C.blue, width: 2.5 });
  plot.dots(pairs(t, y), { colour: C.ink, fill: "#fff" });
  return picture.legend([["observed", { colour: C.ink, dot: true }], ["fitted, ± 2 standard errors", { colour: C.blue }], ["truth", { colour: C.grey, dash: "5 5" }]], [400, 50]);
}

export function spots({ found, image, size, truth }) {
  const picture = new Picture(), [columns, rows, scale] = [48, 27, 13], inside = ({ x, y }) => x < columns - 0.5 && y < rows - 0.5;
  const at = ({ x, y }) => [8 + scale * (x + 0.5), 4 + scale * (y + 0.5)];
  picture.rect(8, 4, scale * columns, scale * rows, "#111827");
  for (let y = 0; y < rows; y++) for (let x = 0; x < columns; x++) {
    const count = image[y * size + x];
    if (count < 16) continue;
    const level = Math.min(255, 40 + Math.round(1.2 * count)).toString(16).padStart(2, "0");
    picture.rect(8 + scale * x, 4 + scale * y, scale, scale, `#${level}${level}${level}`);
  }
  for (const spot of truth.filter(inside)) picture.dot(at(spot), { colour: C.orange, fill: "none", radius: 9, width: 2 });
  for (const spot of found.filter(inside)) picture.dot(at(spot), { colour: C.blue, radius: 3.5 });
  return picture;
}

export function nnls({ amounts, b, pure, truth }) {
  const picture = new Picture();
  const spectra = picture.axes({ x: [0, 80], y: [0, 1.6], in: [50, 20, 380, 316], names: { x: "band" } });
  pure.forEach((spectrum, k) => spectra.line(spectrum.map((v, i) => [i, v * (truth[k] ? 1 : 0.6)]), { colour: truth[k] ? C.orange : C.light, width: 1.5 }));
  spectra.line(b.map((v, i) => [i, v]), { colour: C.ink, width: 2.5 });
  const bars = picture.axes({ x: [-0.6, 7.6], y: [0, 1], in: [430, 20, 624, 316], names: { x: "component" } });
  amounts.forEach((v, k) => {
    const [x, y] = bars.at([k, v]), [, zero] = bars.at([k, 0]);
    picture.rect(x - 8, y, 16, zero - y, C.blue).dot(bars.at([k, truth[k]]), { colour: C.ink, fill: "#fff", radius: 4 });
  });
  return picture.legend([["mixture", { colour: C.ink }], ["pure, in it", { colour: C.orange }]], [70, 40]).legend([["found", { colour: C.blue }], ["truth", { colour: C.ink, dot: true }]], [520, 40]);
}

export function sparseRegression({ path, truth }) {
  const lambdas = path.map(({ lambda }) => lambda), all = path.flatMap(({ x }) => x);
  const picture = new Picture(), plot = picture.axes({ x: [0.08, 44], y: around([...all, ...truth]), log: { x: true }, names: { x: "λ", y: "x" } });
  path[0].x.forEach((_, k) => {
    const used = truth[k] !== 0;
    plot.line(path.map(({ x }, i) => [lambdas[i], x[k]]), { colour: used ? C.blue : C.grey, width: used ? 2.5 : 1 });
    if (used) plot.dots([[0.088, truth[k]]], { colour: C.ink, fill: "#fff", radius: 4.5 });
  });
  return picture.legend([["features that matter", { colour: C.blue }], ["all others", { colour: C.grey }], ["truth", { colour: C.ink, dot: true }]], [440, 40]);
}

export function timeSeries({ errors, found, pattern, seen, trendAt }) {
  const picture = new Picture(), plot = picture.axes({ x: [0, 84], y: [2.5, 12], names: { x: "day" } });
  plot.band(found.map((v, day) => [day, v - 2 * errors[day], v + 2 * errors[day]]), C.blue);
  plot.line(found.map((v, day) => [day, v + pattern[day % 7]]), { colour: C.orange, width: 1.2 });
  plot.line(found.map((_, day) => [day, trendAt(day)]), { colour: C.grey, dash: "5 5" });
  plot.line(found.map((v, day) => [day, v]), { colour: C.blue, width: 2.5 });
  for (const { day, value, isWrong } of seen) plot.dots([[day, value]], { colour: isWrong ? C.red : C.ink, fill: "#fff" });
  return picture.legend([["trend, ± 2 standard errors", { colour: C.blue }], ["trend + season", { colour: C.orange }], ["observed", { colour: C.ink, dot: true }], ["wrong", { colour: C.red, dot: true }]], [70, 42]);
}

export function odeFit({ fitted, gap, path, seen }) {
  const picture = new Picture(), plot = picture.axes({ x: [0, 20], y: [0, 15], names: { x: "years" } });
  for (const [axis, colour] of [[0, C.blue], [1, C.orange]]) {
    plot.line(path.map((at, k) => [k * gap, at[axis]]), { colour: C.light, width: 6 });
    plot.line(path.map((_, k) => [k * gap, fitted[2 * k + axis]]), { colour, width: 2.2 });
    plot.dots(seen.map((at, k) => [k * gap, at[axis]]), { colour, fill: "#fff" });
  }
  return picture.legend([["hares", { colour: C.blue }], ["lynxes", { colour: C.orange }], ["truth", { colour: C.light }]], [540, 44]);
}

export function gradients({ isHeldOut, steps, y }) {
  const picture = new Picture(), all = [...y.keys()];
  const plot = picture.axes({ x: [0, 80], y: around([...y]), in: [46, 20, 400, 316], names: { x: "k" } });
  plot.line(pairs(all, steps[0].curve), { colour: C.grey, width: 1.5 });
  plot.line(pairs(all, steps.at(-1).curve), { colour: C.blue, width: 2.5 });
  for (const k of all) plot.dots([[k, y[k]]], { colour: isHeldOut(k) ? C.orange : C.ink, fill: "#fff", radius: 2.5 });
  const s = steps.map(({ s }) => s), descent = picture.axes({ x: around(s, 0.15), y: around(steps.map(({ error }) => error), 0.15), in: [462, 20, 626, 316], names: { x: "ln weight" } });
  const ordered = [...steps].sort((a, b) => a.s - b.s);
  descent.line(ordered.map(({ s, error }) => [s, error]), { colour: C.light });
  for (const { s, error, slope } of steps) {
    const wide = 0.35;
    descent.line([[s - wide / 2, error - (slope * wide) / 2], [s + wide / 2, error + (slope * wide) / 2]], { colour: C.blue });
    descent.dots([[s, error]], { colour: C.blue, radius: 3.5 });
  }
  return picture.text("held-out error, and its slope", [544, 14], { size: 12 })
    .legend([["held out", { colour: C.orange, dot: true }], ["first weight", { colour: C.grey }], ["learned weight", { colour: C.blue }]], [60, 270]);
}

export function customLoss({ robust, squares, t, y }) {
  const picture = new Picture(), plot = picture.axes({ x: [0, 10], y: [-1, 9], names: { x: "t", y: "y" } });
  for (const [[a, b], colour] of [[squares, C.grey], [robust, C.blue]]) plot.line([0, 10].map((t) => [t, a + b * t]), { colour, width: 2.5 });
  plot.line([0, 10].map((t) => [t, 1 + 0.6 * t]), { colour: C.ink, dash: "5 5", width: 1.5 });
  plot.dots(pairs(t, y).filter(([, y]) => y > -1 && y < 9), { colour: C.ink, fill: "#fff" });
  return picture.legend([["Student's t", { colour: C.blue }], ["least squares", { colour: C.grey }], ["truth", { colour: C.ink, dash: "5 5" }]], [76, 44]);
}

export function multiStart({ amplitude, frequency, phase, starts, t, y }) {
  const picture = new Picture();
  const plot = picture.axes({ x: [0, 10], y: [-2.4, 2.4], in: [46, 20, 624, 186] });
  plot.line(Array.from({ length: 400 }, (_, k) => [k / 40, amplitude * Math.sin((frequency * k) / 40 + phase)]), { colour: C.blue });
  plot.dots(pairs(t, y), { colour: C.ink, fill: "#fff", radius: 2.5 });
  const costs = starts.costs, bars = picture.axes({ x: [-0.6, costs.length - 0.4], y: [0, Math.max(...costs) * 1.05], in: [46, 222, 624, 322], names: { x: "start, and the cost where its solve ended" } });
  costs.forEach((cost, k) => {
    const [x, top] = bars.at([k, cost]), [, zero] = bars.at([k, 0]);
    picture.rect(x - 6, Math.min(top, zero - 1), 12, Math.max(1, zero - top), k === starts.best ? C.blue : C.grey);
  });
  return picture;
}

export function customTensor({ predicted, wave, wide, x, y }) {
  const picture = new Picture(), plot = picture.axes({ x: extent(wide), y: [-2.4, 2.4], names: { x: "x" } });
  plot.line(pairs(wide, wide.map(wave)), { colour: C.light, width: 7 });
  plot.line(pairs(wide, predicted), { colour: C.blue, width: 2.2 });
  plot.dots(pairs(x, y), { colour: C.ink, fill: "#fff", radius: 2.5 });
  return picture.legend([["samples", { colour: C.ink, dot: true }], ["the network", { colour: C.blue }]], [80, 44]);
}

export function checkpoint({ report, start, values }) {
  const picture = new Picture(), points = (flat) => Array.from({ length: flat.length / 2 }, (_, k) => [flat[2 * k], flat[2 * k + 1]]);
  const line = report.iterations.map(({ index, cost }) => [index, cost]), cut = 21;
  const cost = picture.axes({ x: [0, line.length], y: around(line.map(([, cost]) => cost)), in: [56, 20, 300, 316], names: { x: "iteration", y: "cost" } });
  cost.line(line.slice(0, cut), { colour: C.grey, width: 3 });
  cost.line(line.slice(cut - 1), { colour: C.blue, width: 3 });
  const chain = picture.axes({ x: [-0.2, 1.2], y: [-0.9, 0.5], in: [340, 20, 624, 340], equal: true, frame: false });
  chain.line(points(start), { colour: C.grey, width: 1 });
  chain.line(points(values), { colour: C.blue, width: 2.5 });
  return picture.legend([["until it was saved", { colour: C.grey }], ["resumed to the end", { colour: C.blue }]], [470, 40]);
}

export function timeStepping({ frames, full, half, reference }) {
  const picture = new Picture(), plot = picture.axes({ x: [0, frames], y: [-1.25, 0.05], names: { x: "frame", y: "lowest point" } });
  const shown = (lows) => lows.map((low, k) => [k + 1, low]);
  plot.line(shown(reference), { colour: C.grey, width: 5 });
  plot.line(shown(full), { colour: C.blue, width: 2 });
  plot.line(shown(half), { colour: C.orange, width: 2 });
  return picture.legend([["up to 25 steps a frame", { colour: C.grey }], ["2 steps, full curvature", { colour: C.blue }], ["2 steps, JᵀJ", { colour: C.orange }]], [420, 40]);
}
