/** Queue of edges, the cheapest first; of equal ones that of the smaller vertices, so that the order is the same everywhere. @internal */
export class Heap {
  private readonly costs: number[] = [];
  private readonly as: number[] = [];
  private readonly bs: number[] = [];
  private readonly versions: number[] = [];
  /** What `pop` took. */
  cost = 0;
  a = 0;
  b = 0;
  version = 0;

  push(cost: number, a: number, b: number, version: number): void {
    let k = this.costs.length;
    while (k > 0) {
      const parent = (k - 1) >> 1;
      if (!this.isBefore(cost, a, b, parent)) break;
      this.copy(parent, k);
      k = parent;
    }
    this.set(k, cost, a, b, version);
  }

  /** Takes the first edge out; false if there is none. */
  pop(): boolean {
    const last = this.costs.length - 1;
    if (last < 0) return false;
    [this.cost, this.a, this.b, this.version] = [this.costs[0]!, this.as[0]!, this.bs[0]!, this.versions[0]!];
    const [cost, a, b, version] = [this.costs.pop()!, this.as.pop()!, this.bs.pop()!, this.versions.pop()!];
    if (last === 0) return true;
    let k = 0;
    for (;;) {
      let child = 2 * k + 1;
      if (child >= last) break;
      if (child + 1 < last && this.isBefore(this.costs[child + 1]!, this.as[child + 1]!, this.bs[child + 1]!, child)) child++;
      if (this.isBefore(cost, a, b, child)) break;
      this.copy(child, k);
      k = child;
    }
    this.set(k, cost, a, b, version);
    return true;
  }

  private isBefore(cost: number, a: number, b: number, k: number): boolean {
    const other = this.costs[k]!;
    return cost !== other ? cost < other : a !== this.as[k] ? a < this.as[k]! : b < this.bs[k]!;
  }

  private copy(from: number, to: number): void { this.set(to, this.costs[from]!, this.as[from]!, this.bs[from]!, this.versions[from]!); }

  private set(k: number, cost: number, a: number, b: number, version: number): void {
    this.costs[k] = cost;
    this.as[k] = a;
    this.bs[k] = b;
    this.versions[k] = version;
  }
}
