/** Solutions of problems as tensors, whose gradients are those of the implicit function theorem. */
import { isList, listOf } from "../arrays.js";
import { isA, LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { entriesOf, given as any, checked } from "../options.js";
import { NEEDS } from "../parts.js";
import { ProblemOf, type Problem } from "../problem.js";
import type { Report } from "../report.js";
import { SOLVE, type SolveOptions } from "../solver.js";
import { TableOf, type Variables } from "../table.js";
import { TermOf, type Term } from "../term.js";
import { joined } from "../wire.js";
import { isTensor, mustGoTogether, computedWith } from "./apply.js";
import type { TensorContext } from "./context.js";
import { borrow, NO_VALUES, NO_WORDS, type Loan } from "./lending.js";
import type { AnyTensor, DType, Kept, Tensor } from "./tensor.js";

/**
 * A term and the tensors that its data columns, or its weight, get.
 *
 * @example
 * const given: TensorData = [term, { seen: lw.tensor([1, 2]) }];
 */
export type TensorData<D extends DType = DType> = readonly [term: Term<any>, tensors: { readonly [column: string]: Kept<D> }];

/**
 * Options of {@link solveAsTensors}: those of a solve, the data, and the variables that are asked for.
 *
 * @example
 * const options: SolveAsTensorsOptions<[typeof scale]> = { variables: [scale], data: [[term, { seen: weights.reshape(-1).slice([0, 2]) }]], costTolerance: 1e-12 };
 */
export interface SolveAsTensorsOptions<V extends readonly Variables<any>[] = readonly Variables<any>[], D extends DType = DType> extends SolveOptions {
  /** Variables whose values are asked for. */
  readonly variables: V;
  /** Tensors that terms get as data columns (or as `weight`) before the solve, as by {@link Term.set}; gradients go to these. @defaultValue none */
  readonly data?: readonly TensorData<D>[];
}

/**
 * Result of {@link solveAsTensors}.
 *
 * @example
 * const { tensors: [x], report }: TensorSolution<[typeof scale], "f32"> = await solveAsTensors(problem, { variables: [scale], data: [[term, { seen: lw.tensor([1, 2]) }]] });
 */
export interface TensorSolution<V extends readonly Variables<any>[], D extends DType> {
  /** Values of each variable, [count, width]. */
  readonly tensors: { readonly [K in keyof V]: Tensor<D> };
  readonly report: Report;
}

/** A solve whose gradients may be asked for: the last one of its problem. */
interface Solved {
  readonly number: number;
  readonly problem: ProblemOf;
  readonly epoch: string;
  /** Columns in the order of the data. */
  readonly columns: readonly (readonly [term: TermOf<any>, column: string])[];
  /** Variables by the engine's number. */
  readonly tables: ReadonlyMap<number, TableOf<unknown, boolean>>;
}

let last = 0;

const OPTIONS = { ...SOLVE, variables: any(), data: any() } as const;

/**
 * Solves a problem, and gives its solution as tensors through which gradients go, by the implicit function theorem (docs/GRADIENTS.md): to the tensors that its
 * terms got as data here. It is what Theseus calls a layer, and JAXopt implicit differentiation. Neither data nor values leave the device; an evaluation of
 * gradients reads the cotangent, and what {@link Problem.backward} does in f64 on the CPU.
 *
 * Gradients are those at this solution. They are evaluated before the problem is edited or solved again.
 *
 * @throws `foreign-variable` for terms and variables of another problem; `shape`, `dtype` and `foreign-tensor` for tensors that do not fit
 * @example
 * const seen = lw.tensor(Float32Array.of(2, 4), [2], { dtype: "f32" });
 * const { tensors: [x] } = await solveAsTensors(problem, { variables: [scale], data: [[term, { seen: seen }]], costTolerance: 1e-12 });
 * const [slope] = grad(x.square().sum(), [seen]);
 */
export async function solveAsTensors<const V extends readonly [Variables<any>, ...Variables<any>[]], D extends DType = "f32">(problem: Problem, options: SolveAsTensorsOptions<V, D>): Promise<TensorSolution<V, D>> {
  const what = "solveAsTensors(problem, options)";
  if (!isA(problem, ProblemOf)) throw new LeastwiseError("invalid-option", `${what}: problem must be one of lw.problem(), not ${describe(problem)}`);
  const { variables, data = [], ...solve } = checked(`${what}: options`, options, OPTIONS);
  const tables = listOf(`${what}: variables`, variables, "must be a list of variables").map((each, k) => ownTable(problem, `${what}: variables[${k}]`, each));
  if (tables.length === 0) throw new LeastwiseError("invalid-option", `${what}: variables is empty: name those whose values are asked for`);
  const { loans, columns, tensors } = takeData(problem, what, data);
  const first = tensors[0];
  if (!first) throw new LeastwiseError("invalid-option", `${what}: no tensor is given as data: solve with problem.solve(), and read the variables`);
  mustGoTogether(what, first, tensors);
  const { context } = first, { tasks, evaluations } = context, number = ++last;
  const borrowed = borrow(tasks, problem.handle, loans), letGo = evaluations.hold(tensors);
  try {
    borrowed.give();
    const report = await problem.solve(solve as SolveOptions), handle = problem.handle;
    const dtype = computedWith(first) as D, words = Uint32Array.of(number, tables.length, ...tables.map((table) => table.handle), ...tensors.map((tensor) => tensor.id));
    const made = context.call((native) => native.tensorMeet("solution", handle, words, NO_VALUES));
    evaluations.pull ??= pullerOf(context);
    const solved: Solved = { number, problem, epoch: epochOf(context, handle), columns, tables: new Map(tables.map((table) => [table.handle, table])) };
    tasks.solved.set(handle, solved);
    forgetSolves(context);
    return { tensors: made.map((each) => new context.Tensor(context, each, dtype)) as unknown as TensorSolution<V, D>["tensors"], report };
  } finally {
    letGo();
  }
}

/** A function of its own, so that it has no problem in reach. */
const pullerOf = (context: TensorContext) => (needed: Uint32Array) => pull(context, needed);

/** Lets go of the problems of solves that no tensor leads to any more. */
function forgetSolves({ tasks }: TensorContext): void {
  const reached = new Set(tasks.call((native) => native.tensorMeet("solves", 0, NO_WORDS, NO_VALUES)));
  for (const [problem, solved] of tasks.solved) if (!reached.has((solved as Solved).number)) tasks.solved.delete(problem);
}

const epochOf = ({ tasks }: TensorContext, problem: number) => tasks.call((native) => native.tensorMeet("epoch", problem, NO_WORDS, NO_VALUES)).join();

function ownTable(problem: ProblemOf, what: string, table: unknown): TableOf<unknown, boolean> {
  if (!isA(table, TableOf<unknown, boolean>) || table.constant) throw new LeastwiseError("invalid-option", `${what} must be variables of this problem, not ${describe(table)}`);
  if (table.problem !== problem) throw new LeastwiseError("foreign-variable", `${what} is "${table.name}" of another problem`);
  return table;
}

/** Data, checked: loans, and columns and tensors in one order. */
function takeData(problem: ProblemOf, what: string, data: unknown): { loans: Loan[]; columns: (readonly [TermOf<any>, string])[]; tensors: AnyTensor[] } {
  const columns: (readonly [TermOf<any>, string])[] = [], tensors: AnyTensor[] = [];
  const loans = listOf(`${what}: data`, data, "must be a list of [term, tensors]").flatMap((pair, k) => {
    const [term, changes, ...more] = isList(pair) ? pair : [];
    if (!isA(term, TermOf) || changes === undefined || more.length) throw new LeastwiseError("invalid-option", `${what}: data[${k}] must be [term, { column: tensor }], not ${describe(pair)}`);
    if (term.problem !== problem) throw new LeastwiseError("foreign-variable", `${what}: data[${k}] is term "${term.name}" of another problem`, { term: term.name });
    const all = entriesOf(`${what}: data[${k}]`, changes);
    for (const [column, tensor] of all) {
      if (!isTensor(tensor)) throw new LeastwiseError("invalid-option", `${what}: data[${k}].${column} must be a tensor, not ${describe(tensor)}: term.set({ ${column} }) sets what no gradient is wanted of`, { term: term.name });
      if (columns.some(([other, known]) => other === term && known === column)) throw new LeastwiseError("invalid-option", `${what}: data[${k}].${column} was given a tensor before: a column has one`, { term: term.name });
      columns.push([term, column]);
      tensors.push(tensor);
    }
    return term.loans(Object.fromEntries(all));
  });
  return { loans, columns, tensors };
}

/** A gradient through a solve that is to be computed. */
interface Pull { readonly target: number; readonly cotangent: number; readonly problem: number; readonly solve: number; readonly table: number }

/** Those that tensors need, in an order in which they can be computed. */
function pullsOf({ tasks }: TensorContext, ids: Uint32Array): readonly Pull[] {
  const words = ids.length ? tasks.call((native) => native.tensorMeet("pulls", 0, ids, NO_VALUES)) : ids;
  return Array.from({ length: words.length / 5 }, (_, k) => {
    const [target, cotangent, problem, solve, table] = words.subarray(5 * k);
    return { target: target!, cotangent: cotangent!, problem: problem!, solve: solve!, table: table! };
  });
}

/** Computes the gradients through solves that tensors need, one after the other. */
async function pull(context: TensorContext, ids: Uint32Array): Promise<void> {
  const { tasks } = context;
  for (const { target, cotangent, problem, solve, table } of pullsOf(context, ids)) {
    const { values } = await tasks.begin(undefined, NEEDS.tensors, (native) => native.tensorEvaluate(NO_WORDS, Uint32Array.of(cotangent)));
    const solved = tasks.solved.get(problem) as Solved | undefined;
    // What is on its way into the problem may wait for this evaluation.
    if (solved?.number !== solve || tasks.lent.get(problem)?.isOpen || solved.epoch !== epochOf(context, problem)) {
      throw new LeastwiseError("invalid-option", "a gradient through a solve is evaluated after its problem was edited or solved again, or disposed, so that the solution is gone: evaluate gradients first, or give every solve of one loss a problem of its own");
    }
    const gradients = await solved.problem.backward([[solved.tables.get(table)! as never, values!]]);
    if (!gradients.stationary) {
      throw new LeastwiseError("invalid-option", `the solution has no gradient: it is not stationary, since ‖H⁻¹g‖ / ‖x‖ is ${gradients.distance.toPrecision(2)} (docs/GRADIENTS.md): solve with smaller tolerances`);
    }
    const found = joined("gradients", solved.columns.map(([term, column]) => (gradients.of(term) as { readonly [column: string]: Float64Array })[column]!));
    tasks.call((native) => native.tensorMeet("fill", problem, Uint32Array.of(target), found));
  }
}
