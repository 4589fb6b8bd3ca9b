// Measurements of benches/results beside which the benchmark page draws the visitor's: lines of `[size, ms]` by problem.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../lib/run.mjs";

const result = (name) => readFileSync(join(root, "benches/results", name), "utf8");

function found(text, pattern) {
  const match = text.match(pattern);
  if (!match) throw new Error(`no result of benches/results matches ${pattern}`);
  return Number(match[1]);
}

const unit = { ms: 1, s: 1000 };

/** Lines of the machines that we measured: `{ problem, who, machine, file, points }`. */
export function recorded() {
  const lines = [];
  const meshes = "2026-11-21-h200.json", { machine, rows } = JSON.parse(result(meshes));
  for (const { what, backend, precision, vertices, iteration } of rows) {
    if (!iteration) continue;
    const who = `leastwise, ${backend} ${precision}`;
    let line = lines.find((each) => each.problem === what && each.who === who);
    if (!line) lines.push(line = { problem: what, who, machine: backend === "cpu" ? `${machine.cpu}, one thread, Node ${machine.node}` : "NVIDIA H200, Dawn in Node", file: meshes, points: [] });
    line.points.push([vertices, iteration.ms]);
  }
  const codebooks = "2026-11-22-h200-codebooks.txt", text = result(codebooks);
  const table = text.slice(text.indexOf("64 normal clusters, 20,000 × 16, 64 centroids"));
  for (const [who, name] of [["leastwise, cpu", "leastwise cpu, lloyd"], ["ml-kmeans", "npm ml-kmeans"]]) {
    const [, value, of] = table.match(new RegExp(`^${name} +([\\d.]+) (ms|s)`, "m")) ?? [];
    if (!value) throw new Error(`${codebooks} has no row "${name}"`);
    lines.push({ problem: "clustering", who, machine: "Intel Xeon, one thread, Node", file: codebooks, points: [[20_000, Number(value) * unit[of]]] });
  }
  const products = "2026-11-22-h200-products.txt", dawn = result(products).slice(result(products).indexOf("(Dawn)"));
  const number = "([\\d.]+) ms";
  for (const [k, who] of ["leastwise, webgpu", "TensorFlow.js, webgpu", "jax-js, webgpu"].entries()) {
    lines.push({ problem: "product", who, machine: "NVIDIA H200, Dawn in Node", file: products, points: [[4096, found(dawn, new RegExp(`matmul 4096³ +(?:[\\d.]+ ms +){${k}}${number}`))]] });
  }
  lines.push({ problem: "product", who: "leastwise, cpu", machine: "AMD EPYC, one core, Node", file: products, points: [[512, found(result(products), new RegExp(`512³ in ${number}`))]] });
  return lines;
}
