/** The inner loops of the sparse Cholesky factorization (`sparse.ts`), on two lanes of f64 at a time; bits are those of the loops there. */
import { Code, I32, moduleOf, V128 } from "./assembly.js";

/** Bytes of a column in the scratch, which is at the beginning of the memory, and in the rows in work: four numbers. */
const LANE_BYTES = 32;

/**
 * Rows of the factor in the columns of a supernode, and what they take from the columns after it: the supernode's panel in
 * bytes, its width and first column, its list of rows in bytes and how many are filled, the first of the rows in work, and the mask of
 * those that have entries here. Gives how many are filled then.
 *
 * @internal
 */
export type Eliminate = (panel: number, width: number, column: number, rows: number, filled: number, first: number, mask: number) => number;

const PANEL = 0, WIDTH = 1, COLUMN = 2, ROWS = 3, FILLED = 4, FIRST = 5, MASK = 6;
const AT = 7, X = 8, LIMIT = 9, ALL = 10, FROM = 11, OTHER = 12, LAST = 13, A = 14, B = 15, C = 16, D = 17, L = 18;

/** Compiles it; undefined where the host compiles none. `work` is where the rows in work are. @internal */
export function compileElimination(memory: WebAssembly.Memory, work: number): Eliminate | undefined {
  const code = new Code();
  substitute(code, work);
  append(code);
  subtract(code, work);
  const module = moduleOf([], new Array<number>(7).fill(I32), [I32], [{ type: I32, count: 7 }, { type: V128, count: 5 }], code);
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(module), { e: { memory } }).exports["run"] as unknown as Eliminate;
  } catch (thrown) {
    if (thrown instanceof WebAssembly.CompileError || thrown instanceof EvalError || thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

/** Forward substitution with the diagonal block: the scratch has the rows' entries, FROM ends below the block. */
function substitute(code: Code, work: number): void {
  const accumulate = (into: number, offset: number) => code.get(into).get(L).get(X).memory("v128.load", offset).put("f64x2.mul", "f64x2.sub").set(into);
  code.get(WIDTH).i32(5).put("i32.shl").set(ALL);
  code.get(COLUMN).i32(5).put("i32.shl").set(AT);
  code.get(PANEL).set(FROM);
  code.i32(0).set(LIMIT);
  code.repeat(LIMIT, ALL, () => {
    code.get(AT).memory("v128.load", work).set(A).get(AT).memory("v128.load", work + 16).set(B);
    for (const half of [0, 16]) code.get(AT).f64x2(0).memory("v128.store", work + half);
    code.get(FROM).set(OTHER).i32(0).set(X);
    code.get(X).get(LIMIT).put("i32.lt_s").if();
    code.repeat(X, LIMIT, () => {
      code.get(OTHER).memory("v128.load64_splat", 0).set(L);
      accumulate(A, 0);
      accumulate(B, 16);
      code.increment(OTHER, 8).increment(X, LANE_BYTES);
    }).put("end");
    // OTHER is at the pivot, and X at this column.
    code.get(OTHER).memory("v128.load64_splat", 0).set(L);
    code.get(X).get(A).get(L).put("f64x2.div").memory("v128.store", 0);
    code.get(X).get(B).get(L).put("f64x2.div").memory("v128.store", 16);
    code.get(FROM).get(WIDTH).i32(3).put("i32.shl", "i32.add").set(FROM);
    code.increment(AT, LANE_BYTES).increment(LIMIT, LANE_BYTES);
  });
}

/** Appends the rows of the mask to the panel. */
function append(code: Code): void {
  code.get(FROM).get(FILLED).get(WIDTH).put("i32.mul").i32(3).put("i32.shl", "i32.add").set(AT);
  for (let lane = 0; lane < 4; lane++) {
    code.get(MASK).i32(1 << lane).put("i32.and").if();
    code.i32(0).set(X);
    code.repeat(X, ALL, () => {
      code.get(AT).get(X).memory("f64.load", 8 * lane).memory("f64.store", 0);
      code.increment(AT, 8).increment(X, LANE_BYTES);
    });
    code.get(ROWS).get(FILLED).i32(2).put("i32.shl", "i32.add").get(FIRST).i32(lane).put("i32.add").memory("i32.store", 0);
    code.increment(FILLED, 1).put("end");
  }
}

/** Subtracts products of the panel's rows with the scratch from the rows in work: two rows at a time, and the last. */
function subtract(code: Code, work: number): void {
  const multiply = (into: number, offset: number) => code.get(into).get(L).get(X).memory("v128.load", offset).put("f64x2.mul", "f64x2.add").set(into);
  const takeFrom = (row: number, low: number, high: number) => {
    code.get(AT).memory("i32.load", row).i32(5).put("i32.shl").set(X);
    for (const [half, sum] of [[0, low], [16, high]] as const) code.get(X).get(X).memory("v128.load", work + half).get(sum).put("f64x2.sub").memory("v128.store", work + half);
  };
  code.get(ROWS).set(AT);
  code.get(ROWS).get(FILLED).i32(2).put("i32.shl", "i32.add").set(LIMIT);
  code.get(LIMIT).i32(-4).put("i32.add").set(LAST);
  code.get(AT).get(LAST).put("i32.lt_s").if();
  code.repeat(AT, LAST, () => {
    code.get(FROM).get(WIDTH).i32(3).put("i32.shl", "i32.add").set(OTHER);
    for (const sum of [A, B, C, D]) code.f64x2(0).set(sum);
    code.i32(0).set(X);
    code.repeat(X, ALL, () => {
      code.get(FROM).memory("v128.load64_splat", 0).set(L);
      multiply(A, 0);
      multiply(B, 16);
      code.get(OTHER).memory("v128.load64_splat", 0).set(L);
      multiply(C, 0);
      multiply(D, 16);
      code.increment(FROM, 8).increment(OTHER, 8).increment(X, LANE_BYTES);
    });
    takeFrom(0, A, B);
    takeFrom(4, C, D);
    code.get(OTHER).set(FROM).increment(AT, 8);
  }).put("end");
  code.get(AT).get(LIMIT).put("i32.lt_s").if();
  for (const sum of [A, B]) code.f64x2(0).set(sum);
  code.i32(0).set(X);
  code.repeat(X, ALL, () => {
    code.get(FROM).memory("v128.load64_splat", 0).set(L);
    multiply(A, 0);
    multiply(B, 16);
    code.increment(FROM, 8).increment(X, LANE_BYTES);
  });
  takeFrom(0, A, B);
  code.put("end").get(FILLED);
}
