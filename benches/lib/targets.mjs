// What the benchmark must show (on the CPU, in wasm).
import { short } from "./table.mjs";

const TRACE_MS = 200, STEP_MS = 100, BYTES = 200, VERTICES = 10242;

/** Checks every target on every row that says something about it. `ok` is undefined where nothing does. */
export function targets(rows) {
  const checks = [];
  const check = (name, row, value, limit, unit) => {
    checks.push({ name: `${name}, ${row.what} ${row.vertices} on ${row.backend} ${row.precision}`, value, limit, unit, ok: value === undefined ? undefined : value < limit });
  };
  for (const row of rows.filter(({ vertices }) => vertices === VERTICES)) {
    check("trace", row, row.traceMs, TRACE_MS, "ms");
    if (row.backend === "cpu") check("one LM step", row, row.iteration?.ms, STEP_MS, "ms");
  }
  const measured = rows.filter(({ memory }) => memory);
  if (measured.length) {
    const worst = measured.reduce((a, b) => (b.memory.perResidual > a.memory.perResidual ? b : a));
    check("memory beyond J a residual, the most:", worst, worst.memory.perResidual, BYTES, "B");
  }
  // Linear: what a residual needs does not grow from the smallest problem to the largest.
  for (const what of new Set(measured.map((row) => row.what))) {
    for (const kind of new Set(measured.map((row) => `${row.backend} ${row.precision}`))) {
      const series = measured.filter((row) => row.what === what && `${row.backend} ${row.precision}` === kind);
      const [first, last] = [series[0], series.at(-1)];
      if (!first || first === last) continue;
      check(`memory a residual over that of ${first.vertices} vertices`, last, last.memory.perResidual / first.memory.perResidual, 1.1, "");
    }
  }
  return checks;
}

export const targetLine = ({ name, value, limit, unit, ok }) =>
  `${ok === undefined ? "not measured" : ok ? "pass" : "MISS"}  ${name}: ${short(value)}${unit && ` ${unit}`} (target: below ${limit}${unit && ` ${unit}`})`;
