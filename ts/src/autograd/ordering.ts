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
  const { representative, members } = grouped(pattern), count = pattern.starts.length - 1;
  const quotient = quotientOf(pattern, representative), order = new Int32Array(count);
  let end = count;
  const part = new Int32Array(count).fill(-1), level = new Int32Array(count);
  let parts = 0;
  /** Puts nodes at the end of what is still free, which is eliminated last. */
  const place = (nodes: readonly number[]) => {
    for (let k = nodes.length - 1; k >= 0; k--) for (const member of members.get(nodes[k]!)!) order[--end] = member;
  };
  const pending: number[][] = [quotient.keys];
  while (pending.length > 0) {
    const nodes = pending.pop()!, own = ++parts;
    for (const node of nodes) part[node] = own;
    if (nodes.length <= SMALL) {
      place(nodes);
      continue;
    }
    const found = levelsFrom(quotient.of, farthest(quotient.of, nodes[0]!, part, own, level, ++parts), part, own, level, ++parts);
    if (found.nodes.length < nodes.length) {
      // Several components, which are ordered one by one.
      const inside = new Set(found.nodes);
      pending.push(nodes.filter((node) => !inside.has(node)), found.nodes);
      continue;
    }
    const middle = middleLevel(found.counts);
    if (middle < 0) {
      place(nodes);
      continue;
    }
    place(found.nodes.filter((node) => level[node] === middle));
    pending.push(found.nodes.filter((node) => level[node]! < middle), found.nodes.filter((node) => level[node]! > middle));
  }
  return order;
}

/** Columns of the same closed neighbourhood: for each the first of them. */
function grouped({ starts, neighbors }: Pattern): { representative: Int32Array; members: Map<number, number[]> } {
  const count = starts.length - 1, representative = new Int32Array(count), members = new Map<number, number[]>(), bySum = new Map<string, number[]>();
  const closed = (column: number) => Int32Array.from([column, ...neighbors.subarray(starts[column]!, starts[column + 1]!)]).sort();
  for (let column = 0; column < count; column++) {
    let sum = column;
    for (let k = starts[column]!; k < starts[column + 1]!; k++) sum += neighbors[k]!;
    const key = `${starts[column + 1]! - starts[column]!},${sum}`, alike = bySum.get(key) ?? [];
    const own = alike.length > 0 ? closed(column) : undefined;
    const first = alike.find((other) => { const theirs = closed(other); return theirs.every((node, k) => node === own![k]); });
    representative[column] = first ?? column;
    if (first !== undefined) members.get(first)!.push(column);
    else {
      members.set(column, [column]);
      bySum.set(key, [...alike, column]);
    }
  }
  return { representative, members };
}

/** Neighbours of representatives, among representatives. */
function quotientOf({ starts, neighbors }: Pattern, representative: Int32Array): { keys: number[]; of: Map<number, readonly number[]> } {
  const keys = Array.from(representative.keys()).filter((column) => representative[column] === column), of = new Map<number, readonly number[]>();
  for (const key of keys) {
    const seen = new Set<number>();
    for (let k = starts[key]!; k < starts[key + 1]!; k++) {
      const other = representative[neighbors[k]!]!;
      if (other !== key) seen.add(other);
    }
    of.set(key, [...seen]);
  }
  return { keys, of };
}

/** A node at the end of a long path: the last of a search from the last of a search. */
function farthest(of: Map<number, readonly number[]>, from: number, part: Int32Array, own: number, level: Int32Array, mark: number): number {
  const { nodes } = levelsFrom(of, from, part, own, level, mark);
  for (const node of nodes) part[node] = own;
  return nodes[nodes.length - 1]!;
}

/** Breadth-first search within a part; nodes it has met are of part `mark`, unless they are put back. */
function levelsFrom(of: Map<number, readonly number[]>, from: number, part: Int32Array, own: number, level: Int32Array, mark: number): { nodes: number[]; counts: number[] } {
  const nodes = [from], counts = [1];
  part[from] = mark;
  level[from] = 0;
  for (let k = 0; k < nodes.length; k++) {
    const next = level[nodes[k]!]! + 1;
    for (const other of of.get(nodes[k]!)!) {
      if (part[other] !== own) continue;
      part[other] = mark;
      level[other] = next;
      counts[next] = (counts[next] ?? 0) + 1;
      nodes.push(other);
    }
  }
  return { nodes, counts };
}

/** The smallest level that leaves at least a third on both sides; −1 if there is none. */
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
