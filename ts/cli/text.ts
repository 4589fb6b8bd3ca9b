/** Numbers and tables for people. */

/** Three significant digits, without an exponent where that is short. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7)) return value.toExponential(2);
  return Number.isInteger(value) ? String(value) : Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** A number of things, and their name. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
export const time = (ms: number): string => (ms >= 1000 ? `${short(ms / 1000)} s` : `${short(ms)} ms`);
export const size = (bytes: number): string => (bytes >= 1 << 20 ? `${short(bytes / (1 << 20))} MiB` : bytes >= 1 << 10 ? `${short(bytes / (1 << 10))} KiB` : `${bytes} bytes`);

/** Right-aligned columns, the first left-aligned; at least `widths` wide, so that rows can be printed as they come. */
export function row(cells: readonly string[], widths: readonly number[]): string {
  return cells.map((cell, k) => (k === 0 ? cell.padEnd(widths[k] ?? 0) : cell.padStart(widths[k] ?? 0))).join("  ").trimEnd();
}
