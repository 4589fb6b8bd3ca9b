/** Starts of many small fits: grids, and Latin hypercubes. */
import { taken } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { describe } from "./instruction.js";
import { checked, entriesOf, given as any, whole } from "./options.js";

/** Starts to be tried: rows of all parameters, bits of those that they give, and true where fits are made from every one. @internal */
export interface Candidates { readonly rows: Float64Array; readonly given: number; readonly fitted: boolean }

/** Names of a model's parameters, numbers of those that are fitted, and bounds: a number for all fits, or one for each. */
interface Parameters { readonly names: readonly string[]; readonly free: readonly number[]; readonly lower: readonly unknown[] | undefined; readonly upper: readonly unknown[] | undefined }

/** No starts but the usual one. @internal */
export const NO_STARTS: Candidates = { rows: new Float64Array(0), given: 0, fitted: false };

function refuse(message: string): never {
  throw new LeastwiseError("invalid-option", `fit(): ${message}`);
}

const GRID = { grid: any() } as const, RANDOM = { random: whole(1, 1000), seed: whole(0) } as const;

/** Starts in the engine's terms. @internal */
export function candidatesOf(asked: unknown, { names, free, lower, upper }: Parameters): Candidates {
  if (asked === undefined) return NO_STARTS;
  if (typeof asked !== "object" || asked === null) refuse(`starts must be { grid } or { random }, not ${describe(asked)}`);
  const columns = new Map<number, ArrayLike<number>>(), isGrid = "grid" in asked;
  let rows = 1;
  if (isGrid) {
    for (const [name, given] of entriesOf("fit(): starts: grid", checked("fit(): starts", asked, GRID).grid)) {
      const k = names.indexOf(name);
      if (!free.includes(k)) refuse(`starts: "${name}" is no parameter that is fitted`);
      const { values } = taken(`fit(): starts: "${name}"`, given);
      if (values.length === 0 || !Array.from(values).every(Number.isFinite)) refuse(`starts: "${name}" must list finite values`);
      columns.set(k, values);
      rows *= values.length;
    }
    if (columns.size === 0 || rows > 0x10000) refuse(`starts: a grid has 1 to 65,536 combinations, not ${columns.size === 0 ? 0 : rows}`);
  } else {
    const { random, seed = 0 } = checked("fit(): starts", asked, RANDOM);
    if (random === undefined) refuse("starts must be { grid } or { random }");
    rows = random;
    const uniform = generator(seed);
    for (const k of free) {
      const [low, high] = [lower?.[k], upper?.[k]];
      if (typeof low !== "number" || typeof high !== "number" || !Number.isFinite(high - low)) continue;
      // One start in each of so many strata, in random order.
      const order = Array.from({ length: rows }, (_, i) => i);
      for (let i = rows - 1; i > 0; i--) {
        const j = Math.floor(uniform() * (i + 1));
        [order[i], order[j]] = [order[j]!, order[i]!];
      }
      columns.set(k, order.map((stratum) => low + ((high - low) * (stratum + uniform())) / rows));
    }
    if (columns.size === 0) refuse("starts: random ones are within bounds, so give a fitted parameter a lower and an upper bound that all fits share");
  }
  let given = 0;
  const table = new Float64Array(rows * names.length);
  // The last parameter of a grid changes fastest.
  let after = rows;
  for (const [k, values] of columns) {
    if (k > 31) throw new LeastwiseError("limits", `fit(): starts: "${names[k]}" is parameter ${k}, but starts are of the first 32`);
    given |= 1 << k;
    after /= isGrid ? values.length : 1;
    for (let row = 0; row < rows; row++) table[row * names.length + k] = values[isGrid ? Math.floor(row / after) % values.length : row]!;
  }
  return { rows: table, given: given >>> 0, fitted: !isGrid };
}

/** Uniform numbers in [0, 1) (Mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  };
}
