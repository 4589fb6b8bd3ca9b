// What each function of an optimised module mentions, by what the linker knew of those that it was made of.

// Bytes that a function has at most which an optimiser may have put into its callers; of larger ones each that is there is called still.
const INLINED = 400;

/** What a function has in the linker's module and in the optimised one: the hash of its symbol, which copies of it in several crates share, or the name of what is exported. */
const keyOf = (name) => /h[0-9a-f]{16}(?=E|\[|$)/.exec(name)?.[0] ?? (/^\w+$/.test(name) && !name.startsWith("_R") ? name : undefined);

/**
 * `of`: for functions of the module by number, `{ data, taken }`: symbols of data that one may read, through others too, and functions whose
 * addresses it may have. Undefined for those that the linker's module does not have by name: `loose` is all that these may mention.
 */
export function mentionsOf(module, { functions, data }) {
  const first = module.imported.length, byKey = new Map();
  module.bodies.forEach((_, at) => {
    const key = keyOf(module.names.get(first + at) ?? "");
    if (key !== undefined) byKey.set(key, [...(byKey.get(key) ?? []), first + at]);
  });
  const indicesOf = functions.map(({ name }) => byKey.get(keyOf(name) ?? "") ?? []);
  const taken = new Set([...functions, ...data.values()].flatMap((each) => [...each.taken]));
  const collect = (number) => {
    const found = { data: new Set(), taken: new Set() }, seen = new Set([number]), left = [number];
    const take = (each) => {
      for (const function_ of each.taken) for (const index of indicesOf[function_]) found.taken.add(index);
      for (const symbol of each.data) {
        if (found.data.has(symbol)) continue;
        found.data.add(symbol);
        take(data.get(symbol));
      }
    };
    while (left.length > 0) {
      const each = functions[left.pop()];
      take(each);
      for (const next of each.calls) {
        const isApart = indicesOf[next].length > 0 && functions[next].size > INLINED;
        if (seen.has(next) || isApart) continue;
        seen.add(next);
        left.push(next);
      }
    }
    return found;
  };
  const of = new Map(), loose = { data: new Set(), taken: new Set() };
  functions.forEach(({ name }, number) => {
    // What has no name of its own counts as part of what calls it, which runs before it does; unless it is called through the table.
    // Which copy is which is not known: each counts as all of them.
    if (indicesOf[number].length > 0) {
      const { data: its, taken: theirs } = collect(number);
      for (const index of indicesOf[number]) {
        const known = of.get(index) ?? { data: new Set(), taken: new Set() };
        its.forEach((symbol) => known.data.add(symbol));
        theirs.forEach((each) => known.taken.add(each));
        of.set(index, known);
      }
    } else if (keyOf(name) === undefined && taken.has(number)) for (const [kind, all] of Object.entries(collect(number))) for (const each of all) loose[kind].add(each);
  });
  return { of, loose };
}
