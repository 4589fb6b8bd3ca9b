/** Seams: shortest paths over edges between vertices that were chosen. */
import { edges, type Mesh } from "leastwise/mesh";

/** Neighbours of every vertex, with the lengths of the edges. */
export class Graph {
  readonly #start: Uint32Array;
  readonly #to: Uint32Array;
  readonly #length: Float64Array;

  constructor(private readonly mesh: Mesh) {
    const table = edges(mesh.triangles, { directed: true }), count = mesh.positions.length / 3;
    this.#start = new Uint32Array(count + 1);
    for (let k = 0; k < table.length; k += 2) this.#start[table[k]! + 1]!++;
    for (let v = 0; v < count; v++) this.#start[v + 1]! += this.#start[v]!;
    this.#to = new Uint32Array(table.length / 2);
    this.#length = new Float64Array(table.length / 2);
    const next = this.#start.slice();
    for (let k = 0; k < table.length; k += 2) {
      const at = next[table[k]!]!++, [a, b] = [table[k]!, table[k + 1]!];
      this.#to[at] = b;
      this.#length[at] = Math.hypot(...[0, 1, 2].map((axis) => mesh.positions[3 * a + axis]! - mesh.positions[3 * b + axis]!));
    }
  }

  /** Distances over edges from the nearest of some vertices, and the vertex before each on the way (Dijkstra 1959, with a binary heap). */
  from(sources: readonly number[]): { distance: Float64Array; before: Int32Array } {
    const count = this.mesh.positions.length / 3, distance = new Float64Array(count).fill(Infinity), before = new Int32Array(count).fill(-1);
    const heap: [number, number][] = [];
    const push = (item: [number, number]) => {
      let at = heap.push(item) - 1;
      while (at > 0 && heap[(at - 1) >> 1]![0] > item[0]) { heap[at] = heap[(at - 1) >> 1]!; at = (at - 1) >> 1; }
      heap[at] = item;
    };
    const pop = () => {
      const top = heap[0]!, last = heap.pop()!;
      if (!heap.length) return top;
      let at = 0;
      for (let child = 1; child < heap.length; child = 2 * at + 1) {
        if (child + 1 < heap.length && heap[child + 1]![0] < heap[child]![0]) child++;
        if (heap[child]![0] >= last[0]) break;
        heap[at] = heap[child]!;
        at = child;
      }
      heap[at] = last;
      return top;
    };
    for (const source of sources) { distance[source] = 0; push([0, source]); }
    while (heap.length) {
      const [far, v] = pop();
      if (far > distance[v]!) continue;
      for (let k = this.#start[v]!; k < this.#start[v + 1]!; k++) {
        const w = this.#to[k]!, longer = far + this.#length[k]!;
        if (longer >= distance[w]!) continue;
        distance[w] = longer;
        before[w] = v;
        push([longer, w]);
      }
    }
    return { distance, before };
  }

  /** The edges of the shortest path between two vertices. */
  path(a: number, b: number): [number, number][] {
    const { before } = this.from([a]), found: [number, number][] = [];
    for (let v = b; before[v]! >= 0; v = before[v]!) found.push([v, before[v]!]);
    return found;
  }

  /** A tree of seams to the vertices that are farthest from each other: the first path, and branches that join it. */
  tree(tips: number): number[][] {
    const farthest = (distance: Float64Array) => distance.reduce((best, far, v) => (Number.isFinite(far) && far > distance[best]! ? v : best), 0);
    const a = farthest(this.from([0]).distance), b = farthest(this.from([a]).distance), seams = [[a, b]];
    const on = new Set([a, ...this.path(a, b).flat()]);
    for (let k = 2; k < tips; k++) {
      const { distance, before } = this.from([...on]), tip = farthest(distance);
      let root = tip;
      while (before[root]! >= 0) { on.add(root); root = before[root]!; }
      seams.push([root, tip]);
    }
    return seams;
  }
}

/** Edges of all seams, each once. */
export function edgesOf(graph: Graph, seams: readonly (readonly number[])[]): [number, number][] {
  const found = new Map<string, [number, number]>();
  for (const seam of seams) {
    for (let k = 1; k < seam.length; k++) for (const [a, b] of graph.path(seam[k - 1]!, seam[k]!)) found.set(`${Math.min(a, b)}-${Math.max(a, b)}`, [a, b]);
  }
  return [...found.values()];
}
