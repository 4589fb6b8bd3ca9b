/** What a scope's result has in it, and so is kept. */

/** All that is in a value: itself, elements of arrays, fields of objects, and parameters of modules. @internal */
export function within(value: unknown): ReadonlySet<unknown> {
  const found = new Set<unknown>();
  const open: unknown[] = [value];
  while (open.length) {
    const each = open.pop();
    if (typeof each !== "object" || each === null || found.has(each) || ArrayBuffer.isView(each)) continue;
    found.add(each);
    try {
      open.push(...partsOf(each, each === value));
    } catch {
      // What can't be read has nothing in it.
    }
  }
  return found;
}

function partsOf(value: object, isWhole: boolean): readonly unknown[] {
  if (value instanceof Map || value instanceof Set) return [...value.keys(), ...value.values()];
  if (Array.isArray(value)) return value;
  if (typeof (value as { parameters?: unknown }).parameters === "function") return [(value as { parameters: () => unknown }).parameters()];
  return isWhole || isPlain(value) ? Object.values(value) : [];
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
