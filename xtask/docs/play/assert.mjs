// The part of node:assert/strict that recipes use, for browsers.
class AssertionError extends Error {
  constructor(message) {
    super(message);
    this.name = "AssertionError";
  }
}

const same = (a, b) => {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || a.constructor !== b.constructor) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return keys.length === others.length && keys.every((key) => same(a[key], b[key]));
};
const must = (holds, message, otherwise) => { if (!holds) throw message instanceof Error ? message : new AssertionError(message ?? otherwise); };

export const ok = (value, message) => must(value, message, "the value is not true");
export const equal = (a, b, message) => must(Object.is(a, b), message, `${String(a)} is not ${String(b)}`);
export const deepEqual = (a, b, message) => must(same(a, b), message, "the values differ");
export default Object.assign((value, message) => ok(value, message), { ok, equal, deepEqual });
