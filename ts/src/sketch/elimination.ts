/**
 * Sparse Gaussian elimination of a Jacobian's rows, with pivots by Markowitz's rule: rank, and of each dependent row the
 * combination of independent rows that it is.
 */

/** A sparse row: unknowns in ascending order, each once, and derivatives. @internal */
export interface SparseRow { readonly unknowns: readonly number[]; readonly derivatives: readonly number[] }

/** A dependent row, of rows scaled to length 1: row = Σ factor · other + a remainder below the tolerance. @internal */
export interface Combination { readonly row: number; readonly factors: ReadonlyMap<number, number> }

/** @internal */
export interface Eliminated {
  readonly rank: number;
  readonly dependent: readonly Combination[];
  /** Rows whose derivatives are all 0 although unknowns enter them, as at the kink of a distance 0. */
  readonly stationary: readonly number[];
  /** Euclidean lengths of the rows. */
  readonly lengths: Float64Array;
  /** Multiply–adds. */
  readonly operations: number;
}

/** Entries that count as 0: rounding of rows of length 1. */
const ROUNDING = 1e-13;
/** Threshold pivoting: a pivot relative to the largest entry of its column, and of its row. */
const OF_COLUMN = 0.1, OF_ROW = 0.01;
/** Factor of a combination that counts as none, relative to the largest one. */
const NEGLIGIBLE = 1e-5;

/**
 * Independent rows are chosen as a greedy pass in the rows' order would: each dependent row is a combination of rows before it.
 * Elimination finds any such set, by sparsity alone; exchanges along the combinations then make it that one.
 *
 * @param tolerance the largest entry that is left of a dependent row, relative to the row's length
 * @internal
 */
export function eliminate(rows: readonly SparseRow[], unknowns: number, tolerance: number): Eliminated {
  const work = new Elimination(rows, unknowns, tolerance);
  work.run();
  return { rank: work.rank, dependent: makeFirst(work.dependent), stationary: work.stationary, lengths: work.lengths, operations: work.operations };
}

class Elimination {
  rank = 0;
  operations = 0;
  readonly dependent: Combination[] = [];
  readonly stationary: number[] = [];
  private readonly columns: number[][] = [];
  private readonly values: number[][] = [];
  readonly lengths: Float64Array;
  private readonly isActive: Uint8Array;
  private readonly rowsOf: number[][];
  private readonly count: Int32Array;
  /** Columns by their number of active rows; out of date where that has changed since. */
  private readonly buckets: number[][] = [];
  private least = 0;
  /** For each row, pivot rows and factors that were subtracted from it, in their order. */
  private readonly steps: { pivots: number[]; factors: number[] }[] = [];
  /** Rank of a row among pivots. */
  private readonly pivotOf: Int32Array;

  constructor(rows: readonly SparseRow[], unknowns: number, private readonly tolerance: number) {
    this.lengths = new Float64Array(rows.length);
    this.isActive = new Uint8Array(rows.length);
    this.pivotOf = new Int32Array(rows.length).fill(-1);
    this.rowsOf = Array.from({ length: unknowns }, () => []);
    this.count = new Int32Array(unknowns);
    rows.forEach((row, k) => this.enter(row, k));
    for (let column = 0; column < unknowns; column++) this.file(column);
  }

  private enter(row: SparseRow, k: number): void {
    let squares = 0;
    for (const value of row.derivatives) squares += value * value;
    const length = (this.lengths[k] = Math.sqrt(squares));
    this.steps.push({ pivots: [], factors: [] });
    const [columns, values]: [number[], number[]] = [[], []];
    this.columns.push(columns);
    this.values.push(values);
    if (length === 0) {
      if (row.unknowns.length > 0) this.stationary.push(k);
      else this.dependent.push({ row: k, factors: new Map() });
      return;
    }
    this.isActive[k] = 1;
    row.derivatives.forEach((value, entry) => {
      if (Math.abs(value) <= ROUNDING * length) return;
      const column = row.unknowns[entry]!;
      columns.push(column);
      values.push(value / length);
      this.rowsOf[column]!.push(k);
      this.count[column]!++;
    });
  }

  private file(column: number): void {
    const count = this.count[column]!;
    if (count === 0) return;
    (this.buckets[count] ??= []).push(column);
    if (count < this.least) this.least = count;
  }

  run(): void {
    for (;;) {
      const found = this.sparsest() ?? this.largest();
      if (!found) return;
      this.eliminate(found.row, found.column);
    }
  }

  /** A pivot in the column with the fewest rows that has a good one, in its shortest row. */
  private sparsest(): { row: number; column: number } | undefined {
    for (; this.least < this.buckets.length; this.least++) {
      const bucket = this.buckets[this.least];
      while (bucket?.length) {
        const column = bucket.pop()!;
        if (this.count[column] !== this.least) continue;
        const row = this.pivotIn(column);
        // A column without one is filed again when its rows change.
        if (row !== undefined) return { row, column };
      }
    }
    return undefined;
  }

  private pivotIn(column: number): number | undefined {
    const rows = (this.rowsOf[column] = this.rowsOf[column]!.filter((row) => this.isActive[row] && this.columns[row]!.includes(column)));
    let largest = 0;
    for (const row of rows) largest = Math.max(largest, Math.abs(this.entry(row, column)));
    let best: number | undefined;
    for (const row of rows) {
      const value = Math.abs(this.entry(row, column));
      if (value < OF_COLUMN * largest || value < OF_ROW * this.greatest(row)) continue;
      if (best === undefined || this.columns[row]!.length < this.columns[best]!.length) best = row;
    }
    return best;
  }

  private entry(row: number, column: number): number { return this.values[row]![this.columns[row]!.indexOf(column)] ?? 0; }

  private greatest(row: number): number { return this.values[row]!.reduce((most, value) => Math.max(most, Math.abs(value)), 0); }

  /** The largest entry that is left: a pivot where no sparse one is good. */
  private largest(): { row: number; column: number } | undefined {
    let [best, found]: [number, { row: number; column: number } | undefined] = [0, undefined];
    this.columns.forEach((columns, row) => {
      if (!this.isActive[row]) return;
      columns.forEach((column, k) => {
        const value = Math.abs(this.values[row]![k]!);
        if (value > best) [best, found] = [value, { row, column }];
      });
    });
    return found;
  }

  private eliminate(pivot: number, column: number): void {
    this.isActive[pivot] = 0;
    this.pivotOf[pivot] = this.rank++;
    const value = this.entry(pivot, column), changed = new Set<number>();
    for (const other of this.columns[pivot]!) { this.count[other]!--; changed.add(other); }
    for (const row of this.rowsOf[column]!) {
      if (!this.isActive[row]) continue;
      const entry = this.entry(row, column);
      if (entry === 0) continue;
      this.subtract(row, pivot, column, entry / value, changed);
    }
    this.rowsOf[column] = [];
    this.count[column] = 0;
    for (const other of changed) this.file(other);
  }

  /** row −= factor · pivot, by merging; the pivot's column goes. */
  private subtract(row: number, pivot: number, gone: number, factor: number, changed: Set<number>): void {
    const [a, x, b, y] = [this.columns[row]!, this.values[row]!, this.columns[pivot]!, this.values[pivot]!];
    const [columns, values]: [number[], number[]] = [[], []];
    let greatest = 0;
    for (let i = 0, j = 0; i < a.length || j < b.length;) {
      const isMine = j === b.length || (i < a.length && a[i]! <= b[j]!), isBoth = isMine && j < b.length && a[i] === b[j];
      const column = isMine ? a[i]! : b[j]!;
      const value = (isMine ? x[i++]! : 0) - (isBoth || !isMine ? factor * y[j++]! : 0);
      if (column === gone || Math.abs(value) <= ROUNDING) {
        if (isMine) { this.count[column]!--; changed.add(column); }
        continue;
      }
      if (!isMine) { this.count[column]!++; this.rowsOf[column]!.push(row); changed.add(column); }
      columns.push(column);
      values.push(value);
      greatest = Math.max(greatest, Math.abs(value));
    }
    this.operations += b.length;
    this.columns[row] = columns;
    this.values[row] = values;
    const { pivots, factors } = this.steps[row]!;
    pivots.push(pivot);
    factors.push(factor);
    if (greatest > this.tolerance) return;
    this.isActive[row] = 0;
    for (const column of columns) { this.count[column]!--; changed.add(column); }
    this.dependent.push({ row, factors: this.combination(row) });
  }

  /** Of the original rows: what was subtracted, less what had been subtracted from that before. */
  private combination(row: number): Map<number, number> {
    const byPivot = new Map<number, number>(), result = new Map<number, number>();
    const add = (of: number, factor: number): void => {
      const { pivots, factors } = this.steps[of]!;
      pivots.forEach((pivot, k) => byPivot.set(pivot, (byPivot.get(pivot) ?? 0) + factor * factors[k]!));
    };
    add(row, 1);
    // Latest pivots first: what was subtracted from a pivot are pivots before it.
    const heap = new LargestFirst([...byPivot.keys()].map((pivot) => this.pivotOf[pivot]!)), rowOf = new Map([...byPivot.keys()].map((pivot) => [this.pivotOf[pivot]!, pivot]));
    for (let next = heap.pop(); next !== undefined; next = heap.pop()) {
      const pivot = rowOf.get(next)!, factor = byPivot.get(pivot)!;
      for (const earlier of this.steps[pivot]!.pivots) {
        if (byPivot.has(earlier)) continue;
        heap.push(this.pivotOf[earlier]!);
        rowOf.set(this.pivotOf[earlier]!, earlier);
      }
      add(pivot, -factor);
      result.set(pivot, factor);
    }
    return result;
  }
}

/** A binary heap of numbers. */
class LargestFirst {
  private readonly heap: number[] = [];
  constructor(numbers: readonly number[]) { for (const number of numbers) this.push(number); }

  push(number: number): void {
    const { heap } = this;
    let k = heap.push(number) - 1;
    for (let parent = (k - 1) >> 1; k > 0 && heap[parent]! < number; k = parent, parent = (k - 1) >> 1) heap[k] = heap[parent]!;
    heap[k] = number;
  }

  pop(): number | undefined {
    const { heap } = this, [first] = heap, last = heap.pop();
    if (heap.length === 0 || last === undefined) return first;
    let k = 0;
    for (let child = 1; child < heap.length; child = 2 * k + 1) {
      if (child + 1 < heap.length && heap[child + 1]! > heap[child]!) child++;
      if (heap[child]! <= last) break;
      heap[k] = heap[child]!;
      k = child;
    }
    heap[k] = last;
    return first;
  }
}

/**
 * Makes the independent rows those of a greedy pass. From the last row to the first, an independent one is exchanged for an
 * earlier dependent one whose combination it is in (reverse-delete): at most one exchange for each dependent row.
 */
function makeFirst(dependent: readonly Combination[]): readonly Combination[] {
  const involved = [...new Set(dependent.flatMap(({ row, factors }) => [row, ...factors.keys()]))].sort((a, b) => a - b);
  const place = new Map(involved.map((row, k) => [row, k]));
  const own = dependent.map(({ row }) => place.get(row)!);
  const table = dependent.map(({ factors }) => {
    const line = new Float64Array(involved.length);
    for (const [row, factor] of factors) line[place.get(row)!] = factor;
    return line;
  });
  const most = table.map(largestOf), isDependent = new Uint8Array(involved.length);
  for (const k of own) isDependent[k] = 1;
  for (let last = involved.length - 1; last >= 0; last--) {
    if (isDependent[last]) continue;
    let best = -1;
    for (let d = 0; d < own.length; d++) {
      const factor = Math.abs(table[d]![last]!);
      if (own[d]! < last && factor > NEGLIGIBLE * most[d]! && (best < 0 || factor > Math.abs(table[best]![last]!))) best = d;
    }
    if (best < 0) continue;
    // own = … + factor · last, so last = own / factor − ….
    const line = table[best]!, factor = line[last]!;
    for (let k = 0; k < line.length; k++) line[k]! /= -factor;
    line[last] = 0;
    line[own[best]!] = 1 / factor;
    isDependent[own[best]!] = 0;
    isDependent[last] = 1;
    own[best] = last;
    most[best] = largestOf(line);
    const entries: number[] = [];
    for (let k = 0; k < line.length; k++) if (Math.abs(line[k]!) > ROUNDING * most[best]!) entries.push(k);
    for (let d = 0; d < table.length; d++) {
      const other = table[d]!, part = other[last]!;
      if (part === 0 || d === best) continue;
      other[last] = 0;
      for (const k of entries) most[d] = Math.max(most[d]!, Math.abs(other[k]! += part * line[k]!));
    }
  }
  return table.map((line, d) => {
    const factors = new Map<number, number>(), largest = largestOf(line);
    // Without factors that rounding made.
    line.forEach((factor, k) => { if (Math.abs(factor) > NEGLIGIBLE * largest) factors.set(involved[k]!, factor); });
    return { row: involved[own[d]!]!, factors };
  }).sort((a, b) => a.row - b.row);
}

function largestOf(numbers: Float64Array): number {
  let most = 0;
  for (let k = 0; k < numbers.length; k++) most = Math.max(most, Math.abs(numbers[k]!));
  return most;
}
