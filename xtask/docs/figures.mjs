// Drawings of the documents: how a term gathers its instances, and plots of what benches/results has. `node xtask/docs/figures.mjs` writes
// them into docs/; a test compares.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COLOURS as C, Picture } from "../../examples/pictures/plot.mjs";
import { entry, root } from "../lib/run.mjs";

const result = (name) => readFileSync(join(root, "benches/results", name), "utf8");

/** Tables of variables, an index table, data, and the instances that they make. */
function gather() {
  const picture = new Picture(680, 330);
  const cells = (left, top, rows, { width = 52, height = 26, colour = C.light } = {}) => rows.forEach((row, i) => row.forEach((words, j) => {
    picture.line([[left + width * j, top + height * i], [left + width * (j + 1), top + height * i], [left + width * (j + 1), top + height * (i + 1)], [left + width * j, top + height * (i + 1)]], { colour: C.grey, width: 1, fill: Array.isArray(colour) ? colour[i] : colour, close: true })
      .text(words, [left + width * (j + 0.5), top + height * i + 18], { size: 12 });
  }));
  const tints = ["#dbeafe", "#ffedd5", "#d1fae5", "#ede9fe"];
  picture.text("x: a table of 4 instances", [20, 30], { anchor: "start" });
  cells(20, 42, [["x[0]"], ["x[1]"], ["x[2]"], ["x[3]"]], { width: 80, colour: tints });
  picture.text("k: one instance, shared", [20, 190], { anchor: "start" });
  cells(20, 202, [["k[0]"]], { width: 80, colour: "#fee2e2" });
  picture.text("over: a row an instance", [236, 30], { anchor: "start" });
  cells(236, 42, [["0", "1"], ["1", "2"], ["2", "3"]]);
  picture.text("data: length", [236, 154], { anchor: "start" });
  cells(236, 166, [["1.0"], ["0.8"], ["1.2"]], { width: 104, colour: "#f3f4f6" });
  picture.text("the term: 3 instances of one function", [420, 30], { anchor: "start" });
  [[0, 1, "1.0"], [1, 2, "0.8"], [2, 3, "1.2"]].forEach(([a, b, length], row) => {
    const top = 42 + 70 * row;
    cells(420, top, [[`x[${a}]`]], { width: 58, colour: tints[a] });
    cells(480, top, [[`x[${b}]`]], { width: 58, colour: tints[b] });
    cells(540, top, [["k[0]"]], { width: 52, colour: "#fee2e2" });
    cells(594, top, [[length]], { width: 48, colour: "#f3f4f6" });
    picture.text(`r${["₀", "₁", "₂"][row]} = k · (‖x[${a}] − x[${b}]‖ − ${length})`, [420, top + 48], { anchor: "start" });
    picture.line([[344, 55 + 26 * row], [410, top + 13]], { colour: C.grey, width: 1.2, dash: "3 3" });
  });
  return picture.text("of: [x, x, k]   →   slot 0 is column 0 of over, slot 1 is column 1, slot 2 has no column: it is shared", [340, 296], { size: 13 }).svg("How a term gathers its instances from tables, an index table and data");
}

/** Groups of bars, each from 0 to the largest of its group, with values. */
function bars(title, unit, ...groups) {
  const count = groups.reduce((sum, rows) => sum + rows.length, 0), picture = new Picture(680, 52 + 34 * count + 16 * (groups.length - 1));
  picture.text(title, [20, 28], { anchor: "start", size: 14 });
  let top = 44;
  for (const rows of groups) {
    const most = Math.max(...rows.map(([, value]) => value));
    for (const [words, value, colour] of rows) {
      const length = (330 * value) / most;
      picture.rect(260, top, length, 20, colour).text(words, [250, top + 15], { anchor: "end" }).text(`${Number(value.toPrecision(3))} ${unit}`, [268 + length, top + 15], { anchor: "start" });
      top += 34;
    }
    top += 16;
  }
  return picture.svg(title);
}

const found = (text, pattern) => {
  const match = text.match(pattern);
  if (!match) throw new Error(`no result of benches/results matches ${pattern}`);
  return match.slice(1).map(Number);
};

/** Whole solves beside Ceres on one machine. */
function againstCeres() {
  const groups = JSON.parse(result("2026-11-21-ceres.json")).results.map(({ rows }) => rows.filter(({ solver, reached }) => reached && !solver.includes("auto")).map(({ problem, solver, seconds }) => {
    const [who, ...how] = solver.split(", ");
    return [`${{ arap: "ARAP", bundle: "BAL" }[problem]}: ${who}, ${how[0].toLowerCase().replaceAll("_", " ")}`, seconds, who === "Ceres" ? C.grey : C.blue];
  }));
  return bars("Whole solves in f64, two cores of one machine; less is better", "s", ...groups);
}

/** One product of two matrices on an H200. */
function products() {
  const text = result("2026-11-22-h200-products.txt");
  const [library, torch] = found(text, /matmul 4096³ +([\d.]+) ms +([\d.]+) ms/), [webgpu, tfjs, jax] = found(text, /matmul 4096³ +([\d.]+) ms +([\d.]+) ms +([\d.]+) ms\n/);
  return bars("A product of two 4096 × 4096 matrices in f32 on an NVIDIA H200; less is better", "ms", [["leastwise, CUDA", library, C.blue], ["PyTorch 2.11", torch, C.grey], ["leastwise, WebGPU (Dawn)", webgpu, C.blue], ["TensorFlow.js 4.22", tfjs, C.grey], ["jax-js 0.1.25", jax, C.grey]]);
}

/** One iteration of clustering on an H200. */
function clustering() {
  const text = result("2026-11-22-h200-codebooks.txt"), [cuda, webgpu] = [...text.matchAll(/1000000 × 128, 2048 anchors: ([\d.]+) ms an iteration/g)].map(([, ms]) => Number(ms));
  const [fp32] = found(text, /torch fp32 1000000x128x2048: ([\d.]+) ms/), [tf32] = found(text, /torch tf32 1000000x128x2048: ([\d.]+) ms/);
  return bars("An iteration of clustering: a million vectors of 128, 2,048 centroids, H200", "ms", [["leastwise, CUDA", cuda, C.blue], ["PyTorch, TF32", tf32, C.grey], ["PyTorch, f32", fp32, C.grey], ["leastwise, WebGPU (Dawn)", webgpu, C.blue]]);
}

/** Value and gradient of energies in wasm beside C++. */
function elements() {
  const rows = [...result("2026-11-22-elements.txt").matchAll(/^(springs|arap|dirichlet) +\d+ +f64 +[\d.]+ +([\d.]+) +([\d.]+)/gm)]
    .map(([, name, ours, cpp]) => [[`${name}: leastwise, wasm`, Number(ours), C.blue], [`${name}: C++, g++ 12 -O3`, Number(cpp), C.grey]]);
  return bars("Value and gradient of one element in f64, one core; less is better", "ns", ...rows);
}

/** Time of a step by the number of instances. */
function scaling() {
  const rows = [...result("2026-11-21-scaling.txt").matchAll(/^(chain|one parameter) +cpu (f32|f64) +(\d+) instances: +([\d.]+) ms/gm)].map(([, name, precision, count, ms]) => ({ name: `${name}, ${precision}`, at: [Number(count), Number(ms)] }));
  const picture = new Picture(680, 360), plot = picture.axes({ x: [900, 1.2e6], y: [0.05, 2000], log: { x: true, y: true }, in: [70, 40, 650, 310], names: { x: "instances", y: "ms" } });
  picture.text("A step of Levenberg–Marquardt in wasm, one of two shared cores", [20, 24], { anchor: "start", size: 14 });
  const styles = { "chain, f64": { colour: C.blue }, "chain, f32": { colour: C.blue, dash: "5 5" }, "one parameter, f64": { colour: C.orange }, "one parameter, f32": { colour: C.orange, dash: "5 5" } };
  for (const [name, style] of Object.entries(styles)) plot.line(rows.filter((row) => row.name === name).map(({ at }) => at), style);
  return picture.legend(Object.entries(styles), [90, 62]).svg("Time of a step by the number of instances");
}

export const FIGURES = {
  "gather.svg": gather, "performance-ceres.svg": againstCeres, "performance-clustering.svg": clustering, "performance-elements.svg": elements,
  "performance-products.svg": products, "performance-scaling.svg": scaling,
};

await entry(import.meta, async () => {
  for (const [name, draw] of Object.entries(FIGURES)) writeFileSync(join(root, "docs", name), draw());
});
