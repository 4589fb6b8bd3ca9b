/** The parts of the engine's module: they share its memory and its table, and each loads when something first needs it. */
import { isOurs, LeastwiseError, wordsOf } from "./errors.js";
import { failed } from "./load-errors.js";
import { compiled, type WasmSource } from "./source.js";

/** Names of the parts, in the order of their numbers: those of xtask/split/parts.mjs. @internal */
export const PARTS = ["webgpu", "cpu", "direct", "levels", "descent", "tensors", "vectors", "rare", "seldom", "single", "doubles", "normals", "reduced", "fits", "graph"] as const;

/** A part; `core` is the module that they are parts of. @internal */
export type Part = (typeof PARTS)[number];

/** Source of each, where an entry of the package has them apart. @internal */
export type LocatePart = (part: Part | "core") => WasmSource;

/** The same at once, for what can't wait: its bytes. @internal */
export type ReadPart = (part: Part) => BufferSource;

/** Parts that features need. What is not a solve on the device may compute on the CPU beside a GPU. @internal */
export const NEEDS = {
  costs: ["rare", "seldom"],
  tuning: ["rare", "seldom"],
  covariance: ["direct", "cpu", "seldom"],
  rare: ["rare", "direct", "cpu", "single", "seldom"],
  graduated: ["rare", "direct", "levels", "reduced", "descent", "cpu", "single", "seldom"],
  tensors: ["tensors", "cpu", "single"],
  vectors: ["vectors", "cpu", "single", "seldom"],
  graph: ["graph", "vectors", "cpu", "single", "seldom"],
  normals: ["normals"],
  fits: ["fits", "cpu", "single"],
} satisfies { readonly [feature: string]: readonly Part[] };

/** Parts of what `NativeEngine.reach` tells of a solve, in its order. */
const REACHED: readonly (readonly Part[])[] = [["direct"], ["levels"], ["descent"], ["rare", "seldom"], ["seldom"], ["reduced"]];

/** Section of a module that says of which build's split it is. */
const SECTION = "leastwise-split";

/** What the primary module exports besides what the whole does. */
interface Exports extends WebAssembly.Exports { readonly absent: WebAssembly.Global }

/** Which build's split a module is of; undefined for a whole one. @internal */
export function splitOf(module: WebAssembly.Module): string | undefined {
  const [section] = WebAssembly.Module.customSections(module, SECTION);
  return section && new TextDecoder().decode(section);
}

/** The parts of one module. @internal */
export class Parts {
  readonly #there = new Set<Part>();
  readonly #compiling = new Map<Part, Promise<WebAssembly.Module>>();
  readonly #loading = new Map<Part, Promise<void>>();
  /** Why a part could not be loaded while the engine waited. */
  #why: string | undefined;
  #core: { readonly exports: Exports; readonly split: string } | undefined;

  /** Without a place to load from there are no parts: the module is whole. */
  constructor(private readonly locate?: LocatePart, private readonly read?: ReadPart) {}

  /** Begins to load a part that is needed in any case, before the module is there. What goes wrong is told to whoever needs it. */
  begin(part: Part): void {
    if (this.locate) this.#compile(part, this.locate).catch(() => undefined);
  }

  /** The module is there, of this split. */
  join(exports: WebAssembly.Exports, split: string): void {
    this.#core = { exports: exports as Exports, split };
  }

  /** What to wait for until all of these are there; undefined if they are, so that what then follows follows at once. Rejects with `load`. */
  need(parts: readonly Part[]): Promise<void> | undefined {
    const { locate } = this;
    if (!locate) return undefined;
    const absent = parts.filter((part) => this.#isAbsent(part));
    if (absent.length === 0) return undefined;
    return Promise.all(absent.map((part) => this.#load(part, locate))).then(() => undefined);
  }

  /** The parts of a solve, of which the engine tells what it may come to. Without parts nobody asks it. */
  forSolve(reach: () => Uint32Array): readonly Part[] {
    if (REACHED.flat().every((part) => this.has(part))) return [];
    const reached = reach();
    return REACHED.filter((_, k) => reached[k] !== 0).flat();
  }

  /** Loads the part of this number while the engine waits, which has called into it; gives 1 where that is done. */
  loadNow(number: number): number {
    try {
      this.mustHave([PARTS[number - 1]!]);
      return 1;
    } catch (thrown) {
      this.#why = wordsOf(thrown);
      return 0;
    }
  }

  /** Loads what of these is absent, while the caller waits: for what has no promise to give. Throws `load`. */
  mustHave(parts: readonly Part[]): void {
    for (const part of parts.filter((each) => this.#isAbsent(each))) {
      let module: WebAssembly.Module;
      try {
        module = new WebAssembly.Module(this.read!(part));
      } catch (thrown) {
        throw isOurs(thrown) ? thrown : failed(`the part "${part}" can't be compiled: ${wordsOf(thrown)}`, "changed", undefined, thrown);
      }
      this.#mustFit(part, module);
      void new WebAssembly.Instance(module, { "": this.#joined(part).exports });
      this.#there.add(part);
    }
  }

  /** Whether a part is there, so that something may have been done with it. */
  has(part: Part): boolean { return !this.#isAbsent(part); }

  #isAbsent(part: Part): boolean { return this.locate !== undefined && !this.#there.has(part); }

  /** What a call trapped in that needed a part which is not there. */
  get trapped(): string | undefined {
    const number = this.#core?.exports.absent.value as number | undefined;
    return number ? `it needs its part "${PARTS[number - 1]}", which ${this.#why === undefined ? "was not loaded" : `could not be: ${this.#why}`}` : undefined;
  }

  #compile(part: Part, locate: LocatePart): Promise<WebAssembly.Module> {
    const known = this.#compiling.get(part) ?? compiled(locate(part));
    this.#compiling.set(part, known);
    return known;
  }

  #load(part: Part, locate: LocatePart): Promise<void> {
    const known = this.#loading.get(part) ?? this.#loaded(part, locate).finally(() => {
      // A failed download may be tried again.
      this.#loading.delete(part);
      this.#compiling.delete(part);
    });
    this.#loading.set(part, known);
    return known;
  }

  async #loaded(part: Part, locate: LocatePart): Promise<void> {
    const module = await this.#compile(part, locate);
    this.#mustFit(part, module);
    // It may have been loaded at once meanwhile.
    if (!this.#isAbsent(part)) return;
    await WebAssembly.instantiate(module, { "": this.#joined(part).exports });
    this.#there.add(part);
  }

  #mustFit(part: Part, module: WebAssembly.Module): void {
    if (splitOf(module) !== this.#joined(part).split) throw failed(`its part "${part}" is of another build`, "version");
  }

  #joined(part: Part): { readonly exports: Exports; readonly split: string } {
    if (!this.#core) throw new LeastwiseError("engine-dead", `the part "${part}" was asked for before its module; this is a bug of Leastwise, please report it`);
    return this.#core;
  }
}

/** Of engines that are whole: the addon's, and the module with threads. @internal */
export const WHOLE = new Parts();
