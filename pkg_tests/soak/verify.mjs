// Comparing what was found with what is found again.

/** Says where two values differ, to the bit: numbers, strings, arrays and objects of them. */
export function sameBits(a, b, where = "") {
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) {
    if (a.length !== b.length) return `${where}: ${a.length} and ${b.length} values`;
    for (let k = 0; k < a.length; k++) if (!Object.is(a[k], b[k])) return `${where}[${k}]: ${a[k]} and ${b[k]}`;
    return undefined;
  }
  if (typeof a === "object" && a !== null && typeof b === "object" && b !== null) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const differs = sameBits(a[key], b[key], where ? `${where}.${key}` : key);
      if (differs) return differs;
    }
    return undefined;
  }
  return Object.is(a, b) ? undefined : `${where}: ${a} and ${b}`;
}

/** What of a report does not depend on clocks, nor on what the engine did before. */
export function essence({ termination, initialCost, cost, iterations, method, linear, preconditioner, movedIntoBounds, nonFinite, refinement }) {
  return {
    termination, initialCost, cost, method, linear, preconditioner, movedIntoBounds, nonFinite, refinement: refinement.state,
    iterations: iterations.map(({ ms: _, ...numbers }) => numbers),
  };
}

export const isOfDoubles = (precision) => precision === "f32x2" || precision === "mixed";

/** All variables' values, as f64 has them. */
export async function valuesOf({ model, tables }) {
  const found = {};
  for (const name of Object.keys(tables)) found[name] = await tables[name].read(new Float64Array(model.tables[name].count * model.tables[name].width));
  return found;
}

const TERMINATIONS = ["converged", "max-iterations", "time-limit", "stopped", "no-progress", "precision", "singular", "infeasible", "unbounded"];

/** What no report may say, whatever was solved. */
export function nonsense(report, { method, mayClimb, precision }) {
  const { termination, converged, cost, initialCost, costByTerm, iterations } = report;
  if (!TERMINATIONS.includes(termination)) return `termination: "${termination}"`;
  if (converged !== (termination === "converged")) return `converged: ${converged}, but termination: "${termination}"`;
  if (!Number.isFinite(cost) || !Number.isFinite(initialCost)) return `costs ${initialCost} → ${cost} (${termination})`;
  if (iterations.some((it) => !Number.isFinite(it.cost))) return "an iteration's cost is not finite";
  // Multipliers' steps may climb, and Adam's do.
  if (method !== "adam" && !mayClimb && cost > initialCost) return `the cost rose: ${initialCost} → ${cost} (${termination})`;
  const sum = Object.values(costByTerm).reduce((total, each) => total + each, 0);
  const size = Object.values(costByTerm).reduce((total, each) => total + Math.abs(each), 0);
  if (Math.abs(sum - cost) > (precision === "f64" ? 1e-9 : 1e-3) * (size + 1e-6)) return `costByTerm adds up to ${sum}, not ${cost}`;
  if (typeof report.toString() !== "string" || typeof JSON.stringify(report) !== "string") return "it can't be printed";
  return undefined;
}
