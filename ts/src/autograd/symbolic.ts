/** Symbolic analysis of sparse symmetric matrices: elimination tree, counts of the factor's columns, supernodes. */
import type { SparseJacobian } from "./compiled.js";

/** A Jacobian by columns: starts, rows, and the place of every entry among the rows'. @internal */
export function transposed(size: number, { starts, columns }: Pick<SparseJacobian, "starts" | "columns">): [Int32Array, Int32Array, Int32Array] {
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

/** Parent of every column in the elimination tree; −1 of roots. @internal */
export function eliminationTree(starts: Int32Array, rows: Int32Array): Int32Array {
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

/** Columns with children before parents, subtree by subtree. @internal */
export function postorder(parent: Int32Array): Int32Array {
  const size = parent.length, child = new Int32Array(size).fill(-1), sibling = new Int32Array(size).fill(-1), post = new Int32Array(size), pending: number[] = [];
  for (let k = size - 1; k >= 0; k--) {
    if (parent[k]! < 0) continue;
    sibling[k] = child[parent[k]!]!;
    child[parent[k]!] = k;
  }
  let length = 0;
  for (let root = 0; root < size; root++) {
    if (parent[root]! >= 0) continue;
    pending.push(root);
    while (pending.length > 0) {
      const node = pending[pending.length - 1]!, next = child[node]!;
      if (next < 0) post[length++] = pending.pop()!;
      else {
        child[node] = sibling[next]!;
        pending.push(next);
      }
    }
  }
  return post;
}

/** Entries of the factor's columns: row k has one on the paths from its upper entries towards k. @internal */
export function columnCounts(starts: Int32Array, rows: Int32Array, parent: Int32Array): Int32Array {
  const size = parent.length, counts = new Int32Array(size).fill(1), seen = new Int32Array(size).fill(-1);
  for (let k = 0; k < size; k++) {
    seen[k] = k;
    for (let entry = starts[k]!; entry < starts[k + 1]!; entry++) {
      for (let node = rows[entry]!; seen[node] !== k; node = parent[node]!) {
        seen[node] = k;
        counts[node] = counts[node]! + 1;
      }
    }
  }
  return counts;
}

/** Fundamental supernodes of at most `widest` columns: runs of columns, each with the pattern of the next and itself. @internal */
export function supernodes(parent: Int32Array, counts: Int32Array, widest: number): { of: Int32Array; firsts: Int32Array; parents: Int32Array } {
  const size = parent.length, of = new Int32Array(size), firsts: number[] = [], children = new Int32Array(size);
  for (let k = 0; k < size; k++) if (parent[k]! >= 0) children[parent[k]!] = children[parent[k]!]! + 1;
  for (let k = 0; k < size; k++) {
    if (k === 0 || parent[k - 1] !== k || counts[k - 1] !== counts[k]! + 1 || children[k] !== 1 || k - firsts[firsts.length - 1]! === widest) firsts.push(k);
    of[k] = firsts.length - 1;
  }
  const parents = firsts.map((_, s) => { const up = parent[(firsts[s + 1] ?? size) - 1]!; return up < 0 ? -1 : of[up]!; });
  return { of, firsts: Int32Array.from([...firsts, size]), parents: Int32Array.from(parents) };
}
