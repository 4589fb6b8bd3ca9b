/**
 * Sparse Cholesky factorization of JᵀJ + λI in f64. The symbolic analysis is made once a pattern: elimination order,
 * elimination tree, supernodes. The numeric factor is up-looking (Davis, Direct Methods for Sparse Linear Systems, 2006,
 * chapter 4), by supernodes: columns of the same pattern are one dense panel, row by row.
 */
import type { SparseJacobian } from "./compiled.js";
import { eliminationOrder, type Pattern } from "./ordering.js";
import { columnCounts, eliminationTree, postorder, supernodes, transposed } from "./symbolic.js";
import { compileElimination, type Eliminate } from "./elimination-module.js";
import { newMemory } from "./module-memory.js";

/** Rows that are factorized at a time. */
const LANES = 4;
/** Columns of a supernode, at most: wider ones are cut. */
const WIDEST = 32;

/** @internal */
export class SparseNormal {
  /** Columns of J: rows, and the place of every entry in J. */
  private readonly columnStarts: Int32Array;
  private readonly columnRows: Int32Array;
  private readonly columnEntries: Int32Array;
  /** Elimination order and its inverse. */
  private readonly order: Int32Array;
  private readonly rank: Int32Array;
  /** Upper triangle of the permuted matrix by columns, without the diagonal, which is apart. */
  private readonly upperStarts: Int32Array;
  private readonly upperRows: Int32Array;
  private readonly upper: Float64Array;
  private readonly diagonal: Float64Array;
  /** Supernode of a column; first columns of supernodes; their parents. */
  private readonly supernode: Int32Array;
  private readonly firsts: Int32Array;
  private readonly parents: Int32Array;
  /** Where panels begin among the factor's entries, and among the rows below their diagonal blocks. */
  private readonly panelStarts: Int32Array;
  private readonly rowStarts: Int32Array;
  private readonly rows: Int32Array;
  private readonly factor: Float64Array;
  /** Rows of the matrix that are being factorized, column by column, `LANES` each; and their entries in one supernode. */
  private readonly work: Float64Array;
  private readonly lane4: Float64Array;
  /** The inner loops as WebAssembly, if the host has it: all of these arrays are in its memory then. */
  private readonly compiled: Eliminate | undefined;

  constructor(private readonly size: number, private readonly jacobian: Pick<SparseJacobian, "starts" | "columns">) {
    [this.columnStarts, this.columnRows, this.columnEntries] = transposed(size, jacobian);
    const pattern = this.normalPattern(), dissected = eliminationOrder(pattern), [starts, rows] = upperPattern(pattern, dissected);
    // Columns of a supernode follow each other in a postorder of the tree, which changes nothing else.
    const post = postorder(eliminationTree(starts, rows));
    this.order = post.map((column) => dissected[column]!);
    this.rank = inverse(this.order);
    [this.upperStarts, this.upperRows] = upperPattern(pattern, this.order);
    this.upper = new Float64Array(this.upperRows.length);
    this.diagonal = new Float64Array(size);
    const parent = eliminationTree(this.upperStarts, this.upperRows), counts = columnCounts(this.upperStarts, this.upperRows, parent);
    ({ of: this.supernode, firsts: this.firsts, parents: this.parents } = supernodes(parent, counts, WIDEST));
    const count = this.firsts.length - 1;
    this.panelStarts = new Int32Array(count + 1);
    this.rowStarts = new Int32Array(count + 1);
    for (let s = 0; s < count; s++) {
      const width = this.firsts[s + 1]! - this.firsts[s]!, height = counts[this.firsts[s]!]!;
      this.panelStarts[s + 1] = this.panelStarts[s]! + width * height;
      this.rowStarts[s + 1] = this.rowStarts[s]! + height - width;
    }
    const lengths = [LANES * WIDEST, LANES * size, this.panelStarts[count]!], numbers = lengths.reduce((sum, length) => sum + length, 0);
    const memory = newMemory(8 * numbers + 4 * this.rowStarts[count]!), buffer = memory?.buffer ?? new ArrayBuffer(8 * numbers + 4 * this.rowStarts[count]!);
    let end = 0;
    [this.lane4, this.work, this.factor] = lengths.map((length) => new Float64Array(buffer, 8 * ((end += length) - length), length)) as [Float64Array, Float64Array, Float64Array];
    this.rows = new Int32Array(buffer, 8 * numbers, this.rowStarts[count]!);
    this.compiled = memory && compileElimination(memory, this.work.byteOffset);
  }

  /** True if a Jacobian has the pattern that this was made for. */
  fits({ starts, columns }: SparseJacobian): boolean {
    const own = this.jacobian;
    if (own.starts === starts && own.columns === columns) return true;
    return own.starts.length === starts.length && own.columns.length === columns.length && starts.every((start, k) => start === own.starts[k]) && columns.every((column, k) => column === own.columns[k]);
  }

  /** Entries of the factor. */
  get entries(): number { return this.factor.length; }

  /** Neighbours of every unknown in JᵀJ. */
  private normalPattern(): Pattern {
    const { size, columnStarts, columnRows, jacobian: { starts, columns } } = this, seen = new Int32Array(size).fill(-1);
    const first = new Int32Array(size + 1);
    let all = new Int32Array(Math.max(16, 4 * columns.length)), length = 0;
    for (let column = 0; column < size; column++) {
      seen[column] = column;
      for (let k = columnStarts[column]!; k < columnStarts[column + 1]!; k++) {
        const row = columnRows[k]!;
        for (let entry = starts[row]!; entry < starts[row + 1]!; entry++) {
          const other = columns[entry]!;
          if (seen[other] === column) continue;
          seen[other] = column;
          if (length === all.length) { const twice = new Int32Array(2 * length); twice.set(all); all = twice; }
          all[length++] = other;
        }
      }
      first[column + 1] = length;
    }
    return { starts: first, neighbors: all.subarray(0, length) };
  }

  /** Computes JᵀJ. */
  assemble({ starts, columns, values }: SparseJacobian): void {
    const { size, order, rank, columnStarts, columnRows, columnEntries, upperStarts, upperRows, upper, diagonal, work } = this;
    work.fill(0, 0, size);
    for (let k = 0; k < size; k++) {
      const column = order[k]!;
      for (let at = columnStarts[column]!; at < columnStarts[column + 1]!; at++) {
        const row = columnRows[at]!, value = values[columnEntries[at]!]!;
        if (value === 0) continue;
        for (let entry = starts[row]!; entry < starts[row + 1]!; entry++) {
          const other = rank[columns[entry]!]!;
          if (other <= k) work[other] = work[other]! + value * values[entry]!;
        }
      }
      diagonal[k] = work[k]!;
      work[k] = 0;
      for (let entry = upperStarts[k]!; entry < upperStarts[k + 1]!; entry++) {
        upper[entry] = work[upperRows[entry]!]!;
        work[upperRows[entry]!] = 0;
      }
    }
  }

  /**
   * Factorizes JᵀJ + λI, four rows at a time: entries of a panel are loaded once for them, and their sums do not wait for each
   * other. False where the matrix is not positive definite.
   */
  factorize(damping: number): boolean {
    const { firsts, panelStarts, rowStarts, rows, factor, compiled } = this, count = firsts.length - 1, filled = new Int32Array(count), masks = new Uint8Array(count), reach = new Int32Array(count);
    this.work.fill(0);
    for (let own = 0; own < count; own++) {
      for (let k = firsts[own]!; k < firsts[own + 1]!; k += LANES) {
        const lanes = Math.min(LANES, firsts[own + 1]! - k), reached = this.load(k, lanes, own, damping, masks, reach);
        for (let at = 0; at < reached; at++) {
          const s = reach[at]!;
          if (compiled) filled[s] = compiled(factor.byteOffset + 8 * panelStarts[s]!, firsts[s + 1]! - firsts[s]!, firsts[s]!, rows.byteOffset + 4 * rowStarts[s]!, filled[s]!, k, masks[s]!);
          else this.eliminate(s, k, lanes, masks[s]!, filled);
          masks[s] = 0;
        }
        for (let lane = 0; lane < lanes; lane++) if (!this.finish(own, k + lane, lane)) return false;
        this.work.fill(0, LANES * k, LANES * (k + lanes));
      }
    }
    return true;
  }

  /** Puts rows of the matrix into lanes; gives the number of supernodes whose columns have entries in them, ascending in `reach`. */
  private load(first: number, lanes: number, own: number, damping: number, masks: Uint8Array, reach: Int32Array): number {
    const { supernode, parents, upperStarts, upperRows, upper, diagonal, work } = this;
    let count = 0;
    for (let lane = 0; lane < lanes; lane++) {
      const k = first + lane, bit = 1 << lane;
      work[LANES * k + lane] = diagonal[k]! + damping;
      for (let entry = upperStarts[k]!; entry < upperStarts[k + 1]!; entry++) {
        work[LANES * upperRows[entry]! + lane] = upper[entry]!;
        for (let s = supernode[upperRows[entry]!]!; s !== own && (masks[s]! & bit) === 0; s = parents[s]!) {
          if (masks[s] === 0) reach[count++] = s;
          masks[s] = masks[s]! | bit;
        }
      }
    }
    reach.subarray(0, count).sort();
    return count;
  }

  /** Rows of the factor in the columns of a supernode, and what they take from the columns after it. */
  private eliminate(s: number, first: number, lanes: number, mask: number, filled: Int32Array): void {
    const { firsts, panelStarts, rowStarts, rows, factor, work, lane4: x } = this, column = firsts[s]!, width = firsts[s + 1]! - column, panel = panelStarts[s]!, below = panel + width * width;
    for (let i = 0, at = LANES * column, from = panel; i < width; i++, at += LANES, from += width) {
      let x0 = work[at]!, x1 = work[at + 1]!, x2 = work[at + 2]!, x3 = work[at + 3]!;
      work[at] = work[at + 1] = work[at + 2] = work[at + 3] = 0;
      for (let c = 0, of = 0; c < i; c++, of += LANES) {
        const l = factor[from + c]!;
        x0 -= l * x[of]!; x1 -= l * x[of + 1]!; x2 -= l * x[of + 2]!; x3 -= l * x[of + 3]!;
      }
      const pivot = factor[from + i]!, to = LANES * i;
      x[to] = x0 / pivot; x[to + 1] = x1 / pivot; x[to + 2] = x2 / pivot; x[to + 3] = x3 / pivot;
    }
    for (let lane = 0; lane < lanes; lane++) {
      if ((mask & (1 << lane)) === 0) continue;
      const to = below + filled[s]! * width;
      for (let c = 0; c < width; c++) factor[to + c] = x[LANES * c + lane]!;
      rows[rowStarts[s]! + filled[s]!] = first + lane;
      filled[s] = filled[s]! + 1;
    }
    // The last rows are those of this block: with them entries between its rows and their diagonals are complete.
    for (let at = rowStarts[s]!, end = at + filled[s]!, from = below; at < end; at++, from += width) {
      let x0 = 0, x1 = 0, x2 = 0, x3 = 0;
      for (let c = 0, of = 0; c < width; c++, of += LANES) {
        const l = factor[from + c]!;
        x0 += l * x[of]!; x1 += l * x[of + 1]!; x2 += l * x[of + 2]!; x3 += l * x[of + 3]!;
      }
      const to = LANES * rows[at]!;
      work[to] = work[to]! - x0; work[to + 1] = work[to + 1]! - x1; work[to + 2] = work[to + 2]! - x2; work[to + 3] = work[to + 3]! - x3;
    }
  }

  /** The row of the factor in its own supernode, and the diagonal entry. */
  private finish(own: number, k: number, lane: number): boolean {
    const { firsts, panelStarts, factor, work } = this, first = firsts[own]!, width = firsts[own + 1]! - first, panel = panelStarts[own]!, to = panel + (k - first) * width;
    let d = work[LANES * k + lane]!;
    for (let i = 0; i < k - first; i++) {
      const from = panel + i * width, at = LANES * (first + i) + lane, x = (work[at]! - dot(factor, from, factor, to, i)) / factor[from + i]!;
      work[at] = 0;
      factor[to + i] = x;
      d -= x * x;
    }
    factor[to + k - first] = Math.sqrt(d);
    return d > 0;
  }

  /** Solves with the factor. */
  solve(right: Float64Array): Float64Array {
    const { size, order, firsts, panelStarts, rowStarts, rows, factor } = this, x = new Float64Array(size), solution = new Float64Array(size), count = firsts.length - 1;
    for (let k = 0; k < size; k++) x[k] = right[order[k]!]!;
    for (let s = 0; s < count; s++) {
      const first = firsts[s]!, width = firsts[s + 1]! - first, panel = panelStarts[s]!;
      for (let i = 0; i < width; i++) x[first + i] = (x[first + i]! - dot(factor, panel + i * width, x, first, i)) / factor[panel + i * width + i]!;
      for (let at = rowStarts[s]!, from = panel + width * width; at < rowStarts[s + 1]!; at++, from += width) x[rows[at]!] = x[rows[at]!]! - dot(factor, from, x, first, width);
    }
    for (let s = count - 1; s >= 0; s--) {
      const first = firsts[s]!, width = firsts[s + 1]! - first, panel = panelStarts[s]!;
      for (let at = rowStarts[s]!, from = panel + width * width; at < rowStarts[s + 1]!; at++, from += width) {
        const y = x[rows[at]!]!;
        for (let c = 0; c < width; c++) x[first + c] = x[first + c]! - factor[from + c]! * y;
      }
      for (let i = width - 1; i >= 0; i--) {
        const y = (x[first + i] = x[first + i]! / factor[panel + i * width + i]!);
        for (let c = 0; c < i; c++) x[first + c] = x[first + c]! - factor[panel + i * width + c]! * y;
      }
    }
    for (let k = 0; k < size; k++) solution[order[k]!] = x[k]!;
    return solution;
  }
}

function dot(a: Float64Array, i: number, b: Float64Array, j: number, count: number): number {
  let sum = 0;
  for (let k = 0; k < count; k++) sum += a[i + k]! * b[j + k]!;
  return sum;
}

function inverse(order: Int32Array): Int32Array {
  const rank = new Int32Array(order.length);
  for (let k = 0; k < order.length; k++) rank[order[k]!] = k;
  return rank;
}

/** Upper triangle of a symmetric pattern in an order: columns with their rows, ascending. */
function upperPattern({ starts, neighbors }: Pattern, order: Int32Array): [Int32Array, Int32Array] {
  const size = order.length, rank = inverse(order), first = new Int32Array(size + 1), rows = new Int32Array(neighbors.length / 2);
  let length = 0;
  for (let k = 0; k < size; k++) {
    const column = order[k]!, from = length;
    for (let entry = starts[column]!; entry < starts[column + 1]!; entry++) if (rank[neighbors[entry]!]! < k) rows[length++] = rank[neighbors[entry]!]!;
    rows.subarray(from, length).sort();
    first[k + 1] = length;
  }
  return [first, rows];
}
