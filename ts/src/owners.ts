/** What lives in an engine, and who owns it: freed when the owner is disposed, or when the garbage collector finds it forgotten. */
import type { NativeEngine } from "./native.js";

const FREE = {
  tensors: (native: NativeEngine, handle: number) => native.tensorRelease(Uint32Array.of(handle)),
  problems: (native: NativeEngine, handle: number) => native.freeProblem(handle),
  solvers: (native: NativeEngine, handle: number) => native.freeSolver(handle),
  indices: (native: NativeEngine, handle: number) => native.freeIndex(handle),
  covariances: (native: NativeEngine, handle: number) => native.freeCovariance(handle),
  fits: (native: NativeEngine, handle: number) => native.freeFits(handle),
  bits: (native: NativeEngine, handle: number) => native.freeBitIndex(handle),
};

/** @internal */
export type Owned = keyof typeof FREE;

/** The safety net of all engines: nothing says when, or whether, a garbage collector calls. What it calls must not hold the owner. */
const forgotten = new FinalizationRegistry<() => void>((free) => free());

/** Has `free` called when nobody can reach `owner` any more. @internal */
export function whenForgotten(owner: object, free: () => void): void {
  forgotten.register(owner, free, owner);
}

/** Undoes {@link whenForgotten}. @internal */
export function remember(owner: object): void {
  forgotten.unregister(owner);
}

/** The handles of one engine that have owners. @internal */
export class Owners {
  /** Handles by kind, in the order in which they were made. */
  readonly live: { readonly [kind in Owned]: Set<number> } = { tensors: new Set(), problems: new Set(), solvers: new Set(), indices: new Set(), covariances: new Set(), fits: new Set(), bits: new Set() };
  /** Further owners of tensors that are live already: what changes nothing, such as a reshape to the same shape, gives the same tensor, which the engine counts. */
  readonly #further = new Map<number, number>();
  /** The solvers of each problem, which the engine frees with it. */
  readonly #solvers = new Map<number, Set<number>>();
  /** Owners that were never disposed, and that the garbage collector found. */
  finalized = 0;

  /** `onProblem` is told of every problem that ends. */
  constructor(private readonly release: (work: (native: NativeEngine) => void) => void, private readonly onProblem: (handle: number) => void) {}

  /** An owner begins; of a solver, `problem` is the handle of its problem. */
  adopt(owner: object, kind: Owned, handle: number, problem?: number): void {
    if (kind === "tensors" && this.live.tensors.has(handle)) this.#further.set(handle, (this.#further.get(handle) ?? 0) + 1);
    this.live[kind].add(handle);
    if (kind === "problems") this.#solvers.set(handle, new Set());
    if (problem !== undefined) this.#solvers.get(problem)?.add(handle);
    whenForgotten(owner, this.#finalizer(kind, handle, problem));
  }

  /** A function of its own, so that what is called has nothing of its maker's in reach. */
  #finalizer(kind: Owned, handle: number, problem: number | undefined): () => void {
    return () => {
      // What its problem took along is gone already.
      if (!this.live[kind].has(handle)) return;
      this.finalized++;
      this.#free(kind, handle, problem);
    };
  }

  /** An owner ends, and with it what it owns. */
  dispose(owner: object, kind: Owned, handle: number, problem?: number): void {
    remember(owner);
    this.#free(kind, handle, problem);
  }

  /** An owner ends, and somebody else frees what it owned. */
  leave(owner: object, kind: Owned, handle: number): void {
    remember(owner);
    this.#end(kind, handle);
  }

  /** One owner less. */
  #end(kind: Owned, handle: number): void {
    const further = kind === "tensors" ? this.#further.get(handle) : undefined;
    if (further === undefined) this.live[kind].delete(handle);
    else if (further > 1) this.#further.set(handle, further - 1);
    else this.#further.delete(handle);
  }

  /** Tensors that owners have, one for each of them. */
  get tensors(): number { return [...this.#further.values()].reduce((sum, count) => sum + count, this.live.tensors.size); }

  #free(kind: Owned, handle: number, problem: number | undefined): void {
    this.#end(kind, handle);
    if (problem !== undefined) this.#solvers.get(problem)?.delete(handle);
    if (kind === "problems") {
      for (const solver of this.#solvers.get(handle) ?? []) this.live.solvers.delete(solver);
      this.#solvers.delete(handle);
      this.onProblem(handle);
    }
    this.release((native) => FREE[kind](native, handle));
  }
}
