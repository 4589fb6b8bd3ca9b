/** What a scope's result has in it, and so is kept. */

/** All that is in a value: itself, elements of arrays, fields of objects, and parameters of modules. @internal */
export function within(value: unknown): ReadonlySet<unknown> {
  const found = new Set<unknown>();
  const open: unknown[] = [value];
  while (open.length) {
    const each = open.pop();
    if (typeof each !== "object" || each === null || found.has(each) || ArrayBuffer.isView(each)) continue;
    found.add(each);
    if (each instanceof Map || each instanceof Set) open.push(...each.keys(), ...each.values());
    else if (Array.isArray(each)) open.push(...each);
    else if (typeof (each as { parameters?: unknown }).parameters === "function") open.push((each as { parameters: () => unknown }).parameters());
    else if (each === value || isPlain(each)) open.push(...Object.values(each));
  }
  return found;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
