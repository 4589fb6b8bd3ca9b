/**
 * Arrays that a compiled set is evaluated in: data of all leaves, the gradient, residuals, and entries of the Jacobian. Where
 * kernels are large they are in the memory of WebAssembly, and such kernels have modules, whose tables are there, too.
 */
import type { Kernel } from "./kernel.js";
import { compileKernel, HEAD, Mode, varying, type Layout, type Run } from "./kernel-module.js";
import { grow, newMemory } from "./module-memory.js";

/** Operations of all instances, and instances, from which on a module of its own pays. */
const WORTH_COMPILING = 2048, LEAST_INSTANCES = 16;

/** A kernel's module, for the slots of one leaf that it was compiled with; without `run` where there can be none. */
interface Module { readonly run: Run | undefined; readonly uniform: Int32Array; table: number }

/** Pattern of a Jacobian in compressed rows. @internal */
export interface RowPattern { readonly starts: Int32Array; readonly columns: Int32Array }

/** @internal */
export class Workspace {
  values = new Float64Array(0);
  gradient = new Float64Array(0);
  residuals = new Float64Array(0);
  /** Entries of the Jacobian; empty until they are asked for. */
  rows = new Float64Array(0);
  private readonly memory: WebAssembly.Memory | undefined;
  private readonly layout: Layout;
  private readonly modules = new Map<Kernel, Module>();
  private sizes = { leaves: 0, residuals: 0 };
  private atResiduals = 0;
  private atRows = 0;

  constructor(private readonly parameters: number, private readonly hasModules: boolean) {
    this.layout = { gradient: 0, leaves: 8 * parameters };
    this.memory = hasModules ? newMemory(0) : undefined;
  }

  /** True if a set of these kernels has the workspace that it should have. */
  suits(kernels: readonly Kernel[]): boolean { return this.hasModules === Workspace.isWorthwhile(kernels); }

  static isWorthwhile(kernels: readonly Kernel[]): boolean { return kernels.some(isLarge); }

  /** Makes room for a set, and compiles the kernels that are large. */
  layOut(leaves: number, kernels: readonly Kernel[], { starts }: RowPattern): void {
    const { parameters, memory, layout } = this, count = starts.length - 1;
    this.rows = new Float64Array(0);
    this.sizes = { leaves, residuals: count };
    if (!memory) {
      [this.values, this.gradient, this.residuals] = [new Float64Array(leaves), new Float64Array(parameters), new Float64Array(count)];
      return;
    }
    const large = kernels.filter(isLarge);
    let end = this.atResiduals = layout.leaves + 8 * leaves;
    end += 8 * count;
    for (const kernel of large) {
      const module = this.moduleOf(kernel, memory);
      module.table = end;
      if (module.run) end += bytesOf(kernel, module);
    }
    this.atRows = 8 * Math.ceil(end / 8);
    grow(memory, this.atRows);
    for (const kernel of large) {
      const module = this.modules.get(kernel)!;
      if (module.run) writeTable(new Int32Array(memory.buffer, module.table, bytesOf(kernel, module) / 4), kernel, module.uniform, starts);
    }
    this.view();
  }

  /** Makes room for the Jacobian's entries. */
  holdRows(entries: number): void {
    if (this.rows.length === entries) return;
    if (!this.memory) {
      this.rows = new Float64Array(entries);
      return;
    }
    grow(this.memory, this.atRows + 8 * entries);
    this.view();
    this.rows = new Float64Array(this.memory.buffer, this.atRows, entries);
  }

  /** Evaluates a kernel by its module. False where it has none, or where an instance is not defined. */
  run(kernel: Kernel, mode: (typeof Mode)[keyof typeof Mode]): boolean {
    const module = this.modules.get(kernel);
    return module?.run !== undefined && module.run(kernel.count, module.table, this.atResiduals, this.atRows, mode) < 0;
  }

  /** True if a kernel is evaluated by a module. */
  isCompiled(kernel: Kernel): boolean { return this.modules.get(kernel)?.run !== undefined; }

  private moduleOf(kernel: Kernel, memory: WebAssembly.Memory): Module {
    const known = this.modules.get(kernel), uniform = kernel.uniform();
    if (known && known.uniform.every((leaf, slot) => leaf === uniform[slot])) return known;
    const module = { run: compileKernel(kernel.structure, uniform, this.layout, memory), uniform, table: 0 };
    this.modules.set(kernel, module);
    return module;
  }

  /** Arrays over the memory, which are made anew when it has grown. */
  private view(): void {
    const { buffer } = this.memory!, { layout, sizes: { leaves, residuals } } = this;
    this.gradient = new Float64Array(buffer, layout.gradient, this.parameters);
    this.values = new Float64Array(buffer, layout.leaves, leaves);
    this.residuals = new Float64Array(buffer, this.atResiduals, residuals);
  }
}

const isLarge = ({ count, structure: { size } }: Kernel): boolean => count >= LEAST_INSTANCES && count * size >= WORTH_COMPILING;

const bytesOf = (kernel: Kernel, { uniform }: Module): number => 4 * Math.ceil(kernel.count / 2) * (HEAD + 2 * varying(uniform).length);

function writeTable(table: Int32Array, kernel: Kernel, uniform: Int32Array, starts: Int32Array): void {
  const { count } = kernel, slots = varying(uniform), width = HEAD + 2 * slots.length;
  for (let i = 0; i < 2 * Math.ceil(count / 2); i++) {
    const instance = Math.min(i, count - 1), residual = kernel.residual(instance), at = (i >> 1) * width + (i & 1);
    table[at] = 8 * residual;
    table[at + 2] = 8 * starts[residual]!;
    for (let k = 0; k < slots.length; k++) table[at + HEAD + 2 * k] = 8 * kernel.leaf(instance, slots[k]!);
  }
}
