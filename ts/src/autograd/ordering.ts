/**
 * Fill-reducing order of a sparse symmetric matrix: nested dissection (George 1973) by the levels of a breadth-first
 * search, after columns of equal neighbours, as the components of one point are, have become one.
 */

/** Pattern of a symmetric matrix without its diagonal: both triangles, by rows. @internal */
export interface Pattern { readonly starts: Int32Array; readonly neighbors: Int32Array }

/** Groups that are small enough to be taken as they come. */
const SMALL = 24;

/** Order of the unknowns: `order[k]` is eliminated k-th. @internal */
export function eliminationOrder(pattern: Pattern): Int32Array {
  const { group, starts, members } = grouped(pattern), dissection = new Dissection(quotient(pattern, group, starts, members)), order = new Int32Array(group.length);
  let end = order.length;
  for (const node of dissection.lastFirst()) for (let k = starts[node + 1]! - 1; k >= starts[node]!; k--) order[--end] = members[k]!;
  return order;
}

/** Groups of columns that have the same closed neighbourhood: that of every column, and the columns of each. */
interface Groups { readonly group: Int32Array; readonly starts: Int32Array; readonly members: Int32Array }

function grouped({ starts, neighbors }: Pattern): Groups {
  const count = starts.length - 1, group = new Int32Array(count).fill(-1), mark = new Int32Array(count).fill(-1), firsts: number[] = [], sizes: number[] = [];
  // Groups by number and sum of their columns' closed neighbours, and the one before of the same.
  const byKey = new Map<number, number>(), before: number[] = [];
  for (let column = 0; column < count; column++) {
    const from = starts[column]!, to = starts[column + 1]!;
    let sum = column;
    mark[column] = column;
    for (let k = from; k < to; k++) {
      sum += neighbors[k]!;
      mark[neighbors[k]!] = column;
    }
    const key = sum * 4096 + ((to - from) & 4095), first = byKey.get(key) ?? -1;
    let found = first;
    while (found >= 0 && !isMarked(firsts[found]!, column)) found = before[found]!;
    if (found < 0) {
      found = firsts.push(column) - 1;
      sizes.push(0);
      before.push(first);
      byKey.set(key, found);
    }
    group[column] = found;
    sizes[found] = sizes[found]! + 1;
  }
  /** True if the closed neighbourhood of a column is the one that is marked. */
  function isMarked(other: number, column: number): boolean {
    if (mark[other] !== column || starts[other + 1]! - starts[other]! !== starts[column + 1]! - starts[column]!) return false;
    for (let k = starts[other]!; k < starts[other + 1]!; k++) if (mark[neighbors[k]!] !== column) return false;
    return true;
  }
  const first = new Int32Array(firsts.length + 1), members = new Int32Array(count);
  sizes.forEach((size, k) => { first[k + 1] = first[k]! + size; });
  const next = first.slice();
  for (let column = 0; column < count; column++) {
    const own = group[column]!;
    members[next[own]!] = column;
    next[own] = next[own]! + 1;
  }
  return { group, starts: first, members };
}

/** Neighbours of groups. */
function quotient({ starts, neighbors }: Pattern, group: Int32Array, firsts: Int32Array, members: Int32Array): Pattern {
  const count = firsts.length - 1, first = new Int32Array(count + 1), seen = new Int32Array(count).fill(-1), others: number[] = [];
  for (let own = 0; own < count; own++) {
    const column = members[firsts[own]!]!;
    seen[own] = own;
    for (let k = starts[column]!; k < starts[column + 1]!; k++) {
      const other = group[neighbors[k]!]!;
      if (seen[other] === own) continue;
      seen[other] = own;
      others.push(other);
    }
    first[own + 1] = others.length;
  }
  return { starts: first, neighbors: Int32Array.from(others) };
}

class Dissection {
  /** Part of every node, and its level in the last search. */
  private readonly part: Int32Array;
  private readonly level: Int32Array;
  private parts = 0;

  constructor(private readonly graph: Pattern) {
    this.part = new Int32Array(graph.starts.length - 1);
    this.level = new Int32Array(graph.starts.length - 1);
  }

  /** All nodes, the one that is eliminated last first. */
  lastFirst(): Int32Array {
    const { level } = this, count = level.length, found = new Int32Array(count), pending: Int32Array[] = [Int32Array.from({ length: count }, (_, k) => k)];
    let length = 0;
    const place = (nodes: Int32Array) => { for (let k = nodes.length - 1; k >= 0; k--) found[length++] = nodes[k]!; };
    while (pending.length > 0) {
      const nodes = pending.pop()!;
      if (nodes.length <= SMALL) {
        place(nodes);
        continue;
      }
      const own = this.mark(nodes), ends = this.search(nodes[0]!, own), reached = this.search(ends.nodes[ends.nodes.length - 1]!, this.mark(ends.nodes));
      if (reached.nodes.length < nodes.length) {
        // Several components, which are ordered one by one.
        pending.push(nodes.filter((node) => this.part[node] === own), reached.nodes);
        continue;
      }
      const middle = middleLevel(reached.counts);
      if (middle < 0) {
        place(nodes);
        continue;
      }
      place(reached.nodes.filter((node) => level[node] === middle));
      pending.push(reached.nodes.filter((node) => level[node]! < middle), reached.nodes.filter((node) => level[node]! > middle));
    }
    return found;
  }

  /** Makes nodes a part of their own. */
  private mark(nodes: Int32Array): number {
    const own = ++this.parts;
    for (let k = 0; k < nodes.length; k++) this.part[nodes[k]!] = own;
    return own;
  }

  /** Breadth-first search within a part; the nodes that it meets leave the part. */
  private search(from: number, own: number): { nodes: Int32Array; counts: number[] } {
    const { part, level, graph: { starts, neighbors } } = this, queue = [from], counts = [1], mark = ++this.parts;
    part[from] = mark;
    level[from] = 0;
    for (let k = 0; k < queue.length; k++) {
      const node = queue[k]!, next = level[node]! + 1;
      for (let at = starts[node]!; at < starts[node + 1]!; at++) {
        const other = neighbors[at]!;
        if (part[other] !== own) continue;
        part[other] = mark;
        level[other] = next;
        counts[next] = (counts[next] ?? 0) + 1;
        queue.push(other);
      }
    }
    return { nodes: Int32Array.from(queue), counts };
  }
}

/** The smallest level that leaves at least a quarter on both sides; −1 if there is none. */
function middleLevel(counts: readonly number[]): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  let before = 0, best = -1;
  for (let level = 0; level < counts.length; level++) {
    const after = all - before - counts[level]!;
    if (Math.min(before, after) * 4 >= all && (best < 0 || counts[level]! < counts[best]!)) best = level;
    before += counts[level]!;
  }
  if (best >= 0 || counts.length < 3) return best;
  // Levels are few and uneven: the one that holds the median, unless it is nearly all.
  before = 0;
  for (let level = 0; level < counts.length; level++) {
    if (2 * (before + counts[level]!) >= all) return counts[level]! * 2 > all ? -1 : level;
    before += counts[level]!;
  }
  return -1;
}
