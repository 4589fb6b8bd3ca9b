// What lanes share: what calls may be refused with, how they are ended and compared.

/** Codes that errors are documented to have, but for the engine's own death. */
export const CODES = ["index-out-of-range", "data-length", "non-finite", "empty-term", "no-residual", "foreign-variable", "foreign-expression", "foreign-tensor", "untraceable", "shape", "dtype", "aliased",
  "bounds", "invalid-option", "tape", "limits", "rank-deficient", "disposed", "busy", "stopped", "out-of-memory", "no-adapter", "no-step", "file-format", "file-version", "file-truncated", "file-corrupt",
  "checkpoint-mismatch", "load"];

/** Codes that a solve of a random definition with random options may be refused with. */
export const SOLVE_CODES = ["invalid-option", "non-finite", "limits", "empty-term", "no-step", "busy", "stopped"];

/** So many turns of the event loop. */
export const turns = async (count) => { for (let k = 0; k < count; k++) await new Promise((resolve) => setImmediate(resolve)); };

/** Options as plans have them, with tables for their names. */
export const withTables = ({ tables }, { eliminate, ...options } = {}) => ({ ...options, ...(eliminate && { eliminate: eliminate.map((name) => tables[name]) }) });

/** How a solve is to end before its time: options, and what its promise may then reject with. */
export function ending(end) {
  if (!end) return { options: {}, begin: () => {} };
  const controller = new AbortController(), reason = new Error("the session's abort");
  const abort = () => controller.abort(reason);
  switch (end.by) {
    case "aborted before": abort(); return { options: { signal: controller.signal }, reason, begin: () => {} };
    case "abort": return { options: { signal: controller.signal }, reason, begin: () => { if (end.ms === undefined) void turns(end.turns).then(abort); else setTimeout(abort, end.ms); } };
    case "limit": return { options: { timeLimitMs: end.ms }, begin: () => {} };
    case "stop": return { options: { onIteration: ({ index }) => (index >= end.iteration ? "stop" : undefined) }, begin: () => {} };
    case "throw": return { options: { onIteration: ({ index }) => { if (index >= end.iteration) throw reason; } }, reason, begin: () => {} };
    default: throw new Error(`no end by ${end.by}`);
  }
}

/** A call that ends, by a value or an error, as something that can be compared. */
export async function outcome(work) {
  try {
    return { value: await work() };
  } catch (thrown) {
    if (thrown?.name !== "LeastwiseError" || ["engine-dead", "device-lost", "disposed"].includes(thrown.code)) throw thrown;
    return { refused: `${thrown.code}: ${thrown.message}` };
  }
}
