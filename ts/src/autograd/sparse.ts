/**
 * Sparse Cholesky factorization of JᵀJ + λI in f64: elimination tree, symbolic analysis once a pattern, and an up-looking
 * numeric factor (Davis, Direct Methods for Sparse Linear Systems, 2006, chapter 4).
 */
import type { SparseJacobian } from "./compiled.js";
import { eliminationOrder, type Pattern } from "./ordering.js";

/** @internal */
export class SparseNormal {
  /** Rows of J by column: its transpose's pattern, with the place of every entry in J. */
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
  private readonly parent: Int32Array;
  /** The factor L by columns, each diagonal entry first. */
  private readonly factorStarts: Int32Array;
  private readonly factorRows: Int32Array;
  private readonly factor: Float64Array;
  private readonly work: Float64Array;

  constructor(private readonly size: number, private readonly jacobian: Pick<SparseJacobian, "starts" | "columns">) {
    [this.columnStarts, this.columnRows, this.columnEntries] = transposed(size, jacobian);
    const pattern = this.normalPattern();
    this.order = eliminationOrder(pattern);
    this.rank = new Int32Array(size);
    this.order.forEach((column, k) => { this.rank[column] = k; });
    [this.upperStarts, this.upperRows] = this.upperPattern(pattern);
    this.upper = new Float64Array(this.upperRows.length);
    this.diagonal = new Float64Array(size);
    this.parent = eliminationTree(this.upperStarts, this.upperRows);
    this.factorStarts = this.count();
    this.factorRows = new Int32Array(this.factorStarts[size]!);
    this.factor = new Float64Array(this.factorStarts[size]!);
    this.work = new Float64Array(size);
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

  private upperPattern({ starts, neighbors }: Pattern): [Int32Array, Int32Array] {
    const { size, order, rank } = this, first = new Int32Array(size + 1), rows = new Int32Array(neighbors.length / 2);
    let length = 0;
    for (let k = 0; k < size; k++) {
      const column = order[k]!, from = length;
      for (let entry = starts[column]!; entry < starts[column + 1]!; entry++) if (rank[neighbors[entry]!]! < k) rows[length++] = rank[neighbors[entry]!]!;
      rows.subarray(from, length).sort();
      first[k + 1] = length;
    }
    return [first, rows];
  }

  /** Where the factor's columns begin: every row k has entries on the paths from its upper entries towards k. */
  private count(): Int32Array {
    const { size, parent, upperStarts, upperRows } = this, counts = new Int32Array(size).fill(1), seen = new Int32Array(size).fill(-1);
    for (let k = 0; k < size; k++) {
      seen[k] = k;
      for (let entry = upperStarts[k]!; entry < upperStarts[k + 1]!; entry++) {
        for (let node = upperRows[entry]!; seen[node] !== k; node = parent[node]!) {
          seen[node] = k;
          counts[node] = counts[node]! + 1;
        }
      }
    }
    const starts = new Int32Array(size + 1);
    for (let k = 0; k < size; k++) starts[k + 1] = starts[k]! + counts[k]!;
    return starts;
  }

  /** Computes JᵀJ. */
  assemble({ starts, columns, values }: SparseJacobian): void {
    const { size, order, rank, columnStarts, columnRows, columnEntries, upperStarts, upperRows, upper, diagonal, work } = this;
    work.fill(0);
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

  /** Factorizes JᵀJ + λI. False where it is not positive definite. */
  factorize(damping: number): boolean {
    const { size, parent, upperStarts, upperRows, upper, diagonal, factorStarts, factorRows, factor, work } = this;
    const ends = factorStarts.slice(0, size), seen = new Int32Array(size).fill(-1), path = new Int32Array(size), reach = new Int32Array(size);
    work.fill(0);
    for (let k = 0; k < size; k++) {
      let top = size;
      seen[k] = k;
      for (let entry = upperStarts[k]!; entry < upperStarts[k + 1]!; entry++) {
        work[upperRows[entry]!] = upper[entry]!;
        let length = 0;
        for (let node = upperRows[entry]!; seen[node] !== k; node = parent[node]!) {
          path[length++] = node;
          seen[node] = k;
        }
        while (length > 0) reach[--top] = path[--length]!;
      }
      let d = diagonal[k]! + damping;
      for (; top < size; top++) {
        const node = reach[top]!, start = factorStarts[node]!, end = ends[node]!, l = work[node]! / factor[start]!;
        work[node] = 0;
        for (let at = start + 1; at < end; at++) { const row = factorRows[at]!; work[row] = work[row]! - factor[at]! * l; }
        d -= l * l;
        factorRows[end] = k;
        factor[end] = l;
        ends[node] = end + 1;
      }
      if (!(d > 0)) {
        work.fill(0);
        return false;
      }
      factorRows[ends[k]!] = k;
      factor[ends[k]!] = Math.sqrt(d);
      ends[k] = ends[k]! + 1;
    }
    return true;
  }

  /** Solves with the factor. */
  solve(right: Float64Array): Float64Array {
    const { size, order, factorStarts, factorRows, factor } = this, x = new Float64Array(size), solution = new Float64Array(size);
    for (let k = 0; k < size; k++) x[k] = right[order[k]!]!;
    for (let k = 0; k < size; k++) {
      const y = (x[k] = x[k]! / factor[factorStarts[k]!]!);
      for (let at = factorStarts[k]! + 1; at < factorStarts[k + 1]!; at++) { const row = factorRows[at]!; x[row] = x[row]! - factor[at]! * y; }
    }
    for (let k = size - 1; k >= 0; k--) {
      let sum = x[k]!;
      for (let at = factorStarts[k]! + 1; at < factorStarts[k + 1]!; at++) sum -= factor[at]! * x[factorRows[at]!]!;
      x[k] = sum / factor[factorStarts[k]!]!;
    }
    for (let k = 0; k < size; k++) solution[order[k]!] = x[k]!;
    return solution;
  }
}

function transposed(size: number, { starts, columns }: Pick<SparseJacobian, "starts" | "columns">): [Int32Array, Int32Array, Int32Array] {
  const first = new Int32Array(size + 1), rows = new Int32Array(columns.length), entries = new Int32Array(columns.length);
  for (const column of columns) first[column + 1] = first[column + 1]! + 1;
  for (let k = 0; k < size; k++) first[k + 1] = first[k + 1]! + first[k]!;
  const next = first.slice(0, size);
  for (let row = 0; row + 1 < starts.length; row++) {
    for (let entry = starts[row]!; entry < starts[row + 1]!; entry++) {
      const at = next[columns[entry]!]!;
      next[columns[entry]!] = at + 1;
      rows[at] = row;
      entries[at] = entry;
    }
  }
  return [first, rows, entries];
}

/** Parent of every column in the elimination tree; −1 of roots. */
function eliminationTree(starts: Int32Array, rows: Int32Array): Int32Array {
  const size = starts.length - 1, parent = new Int32Array(size).fill(-1), ancestor = new Int32Array(size).fill(-1);
  for (let k = 0; k < size; k++) {
    for (let entry = starts[k]!; entry < starts[k + 1]!; entry++) {
      for (let node = rows[entry]!; node !== -1 && node < k;) {
        const next = ancestor[node]!;
        ancestor[node] = k;
        if (next === -1) parent[node] = k;
        node = next;
      }
    }
  }
  return parent;
}
