/** Parameters of a solve: their data as one vector, and gradients of graphs with respect to them. */
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { CompiledSet, type SparseJacobian } from "./compiled.js";
import type { SparseNormal } from "./sparse.js";
import { gradientOf } from "./sweep.js";
import { read, valuesOf, type Value } from "./value.js";

/** Residuals that a solver evaluates at the parameters' data. @internal */
export interface ResidualModel {
  residuals(): Float64Array;
  /** Residuals and Jacobian; after `residuals()` at the same data. */
  linearize(): { residuals: Float64Array; jacobian: SparseJacobian };
  /** Sparse factor of the last solve, whose symbolic analysis the next one uses if the pattern is still the same. */
  normal: SparseNormal | undefined;
}

/** Checks the parameters of a solve, and gives residuals as a set has them, or as a function builds them anew at every evaluation. @internal */
export function residualModel(params: readonly Value[], given: unknown): ResidualModel {
  mustBeParameters(params);
  if (given instanceof CompiledSet) return ordered(given, params);
  if (typeof given !== "function") throw new LeastwiseError("no-residual", `residuals must be a function of the parameters, CompiledResiduals or CompiledFunctions, not ${describe(given)}`);
  return new FunctionModel(params, given as (params: Value[]) => Value[]);
}

/** A set evaluates with its own parameters, in its own order. */
function ordered(set: CompiledSet, params: readonly Value[]): ResidualModel {
  mustBeOf(set, params);
  return set;
}

/** @internal */
export function mustBeOf(set: CompiledSet, params: readonly Value[]): void {
  set.mustKnow("the solve", params);
}

/** @internal */
export function mustBeParameters(params: readonly Value[]): void {
  valuesOf("params", params);
  const seen = new Map<Value, number>();
  params.forEach((param, k) => {
    if (!param.requiresGrad) throw new LeastwiseError("invalid-option", `params[${k}] is a constant${param.label && ` (${param.label})`}, which no step changes: make parameters with V.W(${param.data})`);
    if (seen.has(param)) throw new LeastwiseError("invalid-option", `params[${k}] and params[${seen.get(param)}] are the same Value: list it once`);
    seen.set(param, k);
  });
}

class FunctionModel implements ResidualModel {
  private readonly columns = new Map<Value, number>();
  private graphs: readonly Value[] = [];
  normal: SparseNormal | undefined;

  constructor(private readonly params: readonly Value[], private readonly build: (params: Value[]) => Value[]) {
    params.forEach((param, k) => this.columns.set(param, k));
  }

  residuals(): Float64Array {
    const returned: unknown = this.build([...this.params]);
    this.graphs = valuesOf("what the residual function returned", returned);
    return read(this.graphs);
  }

  linearize(): { residuals: Float64Array; jacobian: SparseJacobian } {
    const { graphs } = this, starts = new Int32Array(graphs.length + 1), columns: number[] = [], values: number[] = [];
    graphs.forEach((root, row) => {
      for (const { leaf, slope } of gradientOf<Value>(root)) {
        const column = this.columns.get(leaf);
        if (column === undefined) continue;
        columns.push(column);
        values.push(slope);
      }
      starts[row + 1] = columns.length;
    });
    return { residuals: read(graphs), jacobian: { starts, columns: Int32Array.from(columns), values: Float64Array.from(values) } };
  }
}
