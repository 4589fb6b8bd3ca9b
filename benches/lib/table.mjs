// The table on the terminal: a line a row, as soon as the row is complete.

/** A number in about four characters. */
export function short(value) {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3);
}

/** GB/s of an operation, and its share of the copy's. */
function bandwidth(operation, copy) {
  if (!operation) return ["–", "–"];
  const rate = operation.bytes / operation.ms / 1e6;
  return [short(rate), copy ? `${((100 * rate) / copy.gbPerSecond).toFixed(0)} %${copy.software ? "*" : ""}` : "–"];
}

const mega = (operation) => (operation ? short(operation.bytes / 1e6) : "–");

const COLUMNS = [
  ["problem", 8, ({ what }) => what],
  ["vertices", 8, ({ vertices }) => String(vertices)],
  ["residuals", 9, ({ residuals }) => String(residuals ?? "–")],
  ["backend", 10, ({ backend, precision }) => `${backend} ${precision}`],
  ["trace", 7, ({ traceMs }) => short(traceMs)],
  ["pipel.", 7, ({ backend, pipelineMs }) => (backend === "cpu" ? "–" : short(pipelineMs))],
  ["r+J ms", 7, ({ evaluation }) => short(evaluation?.ms)],
  ["MB", 6, ({ evaluation }) => mega(evaluation)],
  ["GB/s", 6, ({ evaluation, copy }) => bandwidth(evaluation, copy)[0]],
  ["share", 6, ({ evaluation, copy }) => bandwidth(evaluation, copy)[1]],
  ["PCG ms", 7, ({ product }) => short(product?.ms)],
  ["MB", 6, ({ product }) => mega(product)],
  ["GB/s", 6, ({ product, copy }) => bandwidth(product, copy)[0]],
  ["share", 6, ({ product, copy }) => bandwidth(product, copy)[1]],
  ["LM ms", 7, ({ iteration }) => short(iteration?.ms)],
  ["inner", 5, ({ iteration }) => String(iteration?.inner ?? "–")],
  ["GB/s", 6, ({ iteration, copy }) => bandwidth(iteration, copy)[0]],
  ["share", 6, ({ iteration, copy }) => bandwidth(iteration, copy)[1]],
  ["B/res.", 6, ({ memory }) => short(memory?.perResidual)],
];

const line = (cells) => cells.map((cell, k) => (k === 0 || k === 3 ? cell.padEnd(COLUMNS[k][1]) : cell.padStart(COLUMNS[k][1]))).join(" ");

export const head = () => line(COLUMNS.map(([name]) => name));
export const tableRow = (row) => line(COLUMNS.map(([, , cell]) => cell(row))) + (row.cut ? `  ← ${row.cut}` : "");

export const LEGEND = `trace: problem.residuals() — tracing, differentiating, writing kernels, structure — without creating pipelines (pipel.); both cold, in ms (up to 10242 vertices the median of three processes).
r+J: one evaluation of residual and Jacobian. PCG: one product (JᵀWJ + λD)p. LM: one step() with its inner iterations. Medians, warm.
MB: compulsory bytes: each buffer that the operation reads once, and once more if it writes it. share: of our copy kernel's bandwidth.
B/res.: bytes alive per residual row beyond r and J.`;
