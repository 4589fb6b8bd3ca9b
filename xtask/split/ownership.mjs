// Which part of a split module each function belongs to.
import { walk } from "./instructions.mjs";

/** Functions that each body calls, and whether it is bound to the primary module: parts have one table, the one of functions. */
function looked(module) {
  const functions = module.elements[0]?.table ?? 0;
  return module.bodies.map(({ bytes, code }) => {
    const calls = new Set();
    let isBound = false;
    walk(bytes, code, (kind, value) => {
      if (kind === "call" || kind === "function") calls.add(value);
      else if (kind === "table" && value !== functions) isBound = true;
    });
    return { calls, isBound };
  });
}

/**
 * The part of each function of the module (imported ones first), 0 for the primary one. `claim(name, size)` is the part, from 1 on, that a
 * function belongs to by its name, 0 for one that is the primary's, and undefined where nothing is claimed: such a function belongs to a
 * part if nothing but that part's functions reaches it; where functions of several do, to the part that `home` tells of their bits. With `mentions` that goes through addresses, too; without them the name of a function
 * in the table has to tell.
 */
export function owners(module, claim, mentions, home = () => 0) {
  const first = module.imported.length;
  const bodies = looked(module);
  const claimed = module.bodies.map(({ bytes }, at) => (bodies[at].isBound ? 0 : claim(module.names.get(first + at) ?? "", bytes.length)));
  // Bits of the parts that reach a function without passing through one that was claimed; bit 0 is the primary.
  const reached = new Uint32Array(module.functionTypes.length);
  const spread = (from, part) => {
    const left = [from];
    while (left.length > 0) {
      const at = left.pop();
      if (reached[at] & (1 << part)) continue;
      reached[at] |= 1 << part;
      const nexts = at < first ? [] : [...bodies[at - first].calls, ...(mentions?.of.get(at)?.taken ?? [])];
      for (const next of nexts) if (next !== undefined && (next < first || claimed[next - first] === undefined)) left.push(next);
    }
  };
  const roots = new Set(module.exports.filter(({ kind }) => kind === 0).map(({ index }) => index));
  const mentioned = new Set([...(mentions?.of.values() ?? [])].flatMap(({ taken }) => [...taken]));
  const isKnown = (index) => mentioned.has(index) && !mentions.loose.taken.has(index);
  for (const { functions } of module.elements) for (const index of functions) if (!isKnown(index)) roots.add(index);
  if (module.start !== undefined) roots.add(module.start);
  for (const root of roots) spread(root, root < first ? 0 : (claimed[root - first] ?? 0));
  claimed.forEach((part, at) => { if (part !== undefined) spread(first + at, part); });
  return Array.from(reached, (bits, index) => {
    const own = index < first ? 0 : claimed[index - first];
    if (own !== undefined) return own;
    if (bits === 0 || bits & 1) return 0;
    return (bits & (bits - 1)) === 0 ? Math.log2(bits) : home(bits);
  });
}
