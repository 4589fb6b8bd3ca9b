// Which bytes of a module's data belong to a part: those that nothing but its functions mentions.

/** Fewer bytes are not worth a segment. */
const LEAST = 24;

/**
 * Runs of bytes that are parts', as `{ from, to, part }`; all others are the primary module's. `own` is the part of each function of the module,
 * `mentions` what it mentions, and `data` the symbols.
 */
export function dataOf(module, own, { of, loose }, data) {
  // Modules that mention a symbol, as bits: bit 0 is the primary one.
  const masks = new Map([...data.keys()].map((symbol) => [symbol, loose.data.has(symbol) ? 1 : 0]));
  for (const [index, mentioned] of of) for (const symbol of mentioned.data) masks.set(symbol, masks.get(symbol) | (1 << own[index]));
  const all = module.data.filter(({ bytes }) => bytes.length > 0);
  const low = Math.min(...all.map(({ offset }) => offset)), high = Math.max(...all.map(({ offset, bytes }) => offset + bytes.length));
  const bits = new Uint32Array(high - low);
  for (const [symbol, { from, to }] of data) for (let at = Math.max(from, low); at < Math.min(to, high); at++) bits[at - low] |= masks.get(symbol);
  const found = [];
  for (let at = 0; at < bits.length;) {
    const mask = bits[at];
    let end = at + 1;
    while (end < bits.length && bits[end] === mask) end++;
    const isOne = mask > 1 && (mask & (mask - 1)) === 0;
    if (isOne && end - at >= LEAST) found.push({ from: low + at, to: low + end, part: Math.log2(mask) });
    at = end;
  }
  return found;
}
