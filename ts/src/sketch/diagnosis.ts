/** Degrees of freedom, and constraints that say the same or contradict each other, by connected component. */
import type { Constraint } from "./constraint.js";
import { eliminate, type SparseRow } from "./elimination.js";
import type { Dependency, SketchDiagnosis } from "./results.js";

/** An equation of a constraint: its residual, in the sketch's units, and its row of the Jacobian. @internal */
export interface Row extends SparseRow { readonly constraint: Constraint; readonly residual: number }

/** @internal */
export interface Diagnosing {
  /** Unknowns that may move. */
  readonly freedom: number;
  /** Unknowns of all points and scalars, fixed ones included. */
  readonly unknowns: number;
  /** Greatest residual that is none. */
  readonly tolerance: number;
  /** True if the solve ended by itself: then Jᵀr = 0, and residuals tell conflicts. */
  readonly isEnded: boolean;
  /** Constraints with lines whose ends are in one place, and the unknowns of their differences. */
  readonly collapsed: ReadonlyMap<Constraint, readonly SparseRow[]>;
}

/** Remainder of a dependent row where all is met; and at a least-squares solution, to which steps converge linearly. */
const MET = 1e-6, CONTRADICTORY = 1e-5;

/** Verdict on a component. */
interface Verdict { readonly rank: number; readonly redundant: readonly Dependency[]; readonly partly: readonly Dependency[]; readonly conflicting: readonly Dependency[]; readonly operations: number; readonly equations: number }

/** @internal */
export type Counted = SketchDiagnosis & { readonly components: number; readonly eliminated: number; readonly operations: number };

/** Verdicts by component, kept until its constraints, their values, what is fixed, or whether they are met change. @internal */
export class Diagnoses {
  #kept = new Map<string, Verdict>();

  /**
   * At a least-squares solution Jᵀr = 0, so a dependent row whose residual is not the same combination of residuals as the row
   * is of rows belongs to constraints that can't all be met.
   */
  diagnose(rows: readonly Row[], context: Diagnosing): Counted {
    const kept = new Map<string, Verdict>(), verdicts: Verdict[] = [];
    let [components, eliminated, operations] = [0, 0, 0];
    for (const of of componentsOf(rows, context)) {
      const key = keyOf(of, context), known = this.#kept.get(key), verdict = known ?? judge(of, context);
      if (!known) [components, eliminated, operations] = [components + 1, eliminated + verdict.equations, operations + verdict.operations];
      kept.set(key, verdict);
      verdicts.push(verdict);
    }
    this.#kept = kept;
    return {
      degreesOfFreedom: context.freedom - verdicts.reduce((sum, { rank }) => sum + rank, 0),
      redundant: verdicts.flatMap(({ redundant }) => redundant), partly: verdicts.flatMap(({ partly }) => partly), conflicting: verdicts.flatMap(({ conflicting }) => conflicting),
      components, eliminated, operations,
    };
  }
}

const isMet = (row: Row, { tolerance, collapsed }: Diagnosing): boolean => Math.abs(row.residual) <= tolerance && !collapsed.has(row.constraint);

/** What a verdict is about, besides places: constraints, values, free unknowns, and whether all is met. */
function keyOf(rows: readonly Row[], context: Diagnosing): string {
  const isSolved = rows.every((row) => isMet(row, context));
  return `${isSolved ? "solved" : context.isEnded ? "ended" : "open"} ${rows.map(({ constraint: { serial, version, curve }, unknowns }) => `${serial}.${version}.${curve?.segment ?? ""}.${unknowns.length}`).join()}`;
}

/** Rows that are connected by unknowns, in the order of their first rows. */
function componentsOf(rows: readonly Row[], { unknowns, collapsed }: Diagnosing): Row[][] {
  const parent = Int32Array.from({ length: unknowns }, (_, k) => k);
  const root = (k: number): number => { while (parent[k] !== k) k = parent[k] = parent[parent[k]!]!; return k; };
  const join = (of: readonly number[]): void => { for (const unknown of of) parent[root(unknown)] = root(of[0]!); };
  const first = new Map<Constraint, number>();
  for (const { constraint, unknowns: of } of rows) {
    if (of.length === 0) continue;
    join(of);
    // Rows of one constraint belong together, as x and y of points that coincide.
    const known = first.get(constraint);
    if (known === undefined) first.set(constraint, of[0]!); else join([known, of[0]!]);
    for (const { unknowns: more } of collapsed.get(constraint) ?? []) if (more.length) join([of[0]!, ...more]);
  }
  const components = new Map<number | Constraint, Row[]>();
  for (const row of rows) {
    const at = first.get(row.constraint), key = at === undefined ? row.constraint : root(at), component = components.get(key);
    if (component) component.push(row); else components.set(key, [row]);
  }
  return [...components.values()];
}

function judge(rows: readonly Row[], context: Diagnosing): Verdict {
  const local = new Map<number, number>(), isSolved = rows.every((row) => isMet(row, context));
  const numbered = ({ unknowns, derivatives }: SparseRow): SparseRow => {
    for (const unknown of unknowns) if (!local.has(unknown)) local.set(unknown, local.size);
    const order = unknowns.map((unknown, k) => [local.get(unknown)!, derivatives[k]!] as const).sort(([a], [b]) => a - b);
    return { unknowns: order.map(([unknown]) => unknown), derivatives: order.map(([, derivative]) => derivative) };
  };
  // Lines without a direction say nothing; after all others come the differences of their ends, to see what makes them 0.
  const lines = rows.map((row) => numbered(context.collapsed.has(row.constraint) ? { unknowns: [], derivatives: [] } : row));
  const ends = [...new Set(rows.map(({ constraint }) => constraint))].flatMap((constraint) => (context.collapsed.get(constraint) ?? []).map((row) => ({ constraint, row: numbered(row) })));
  const { rank, dependent, stationary, lengths, operations } = eliminate([...lines, ...ends.map(({ row }) => row)], local.size, isSolved ? MET : CONTRADICTORY);

  const because = new Map<Constraint, Set<string>>(), conflicting = new Set<Constraint>(), dependentRows = new Map<Constraint, number>();
  const blame = (constraint: Constraint, factors: Iterable<number>): void => {
    const names = because.get(constraint) ?? new Set<string>();
    for (const k of factors) if (k < rows.length && rows[k]!.constraint !== constraint) names.add(rows[k]!.constraint.name);
    because.set(constraint, names);
  };
  const held = new Map<Constraint, number>();
  for (const { row, factors } of dependent) {
    const end = ends[row - rows.length];
    if (end) { held.set(end.constraint, (held.get(end.constraint) ?? 0) + 1); blame(end.constraint, factors.keys()); continue; }
    const { constraint, residual } = rows[row]!;
    if (context.collapsed.has(constraint)) continue;
    dependentRows.set(constraint, (dependentRows.get(constraint) ?? 0) + 1);
    blame(constraint, factors.keys());
    let expected = 0;
    for (const [k, factor] of factors) expected += lengths[row]! * factor * (rows[k]!.residual / lengths[k]!);
    if (context.isEnded && Math.abs(residual - expected) > context.tolerance) conflicting.add(constraint);
  }
  // Directions that rows of ends took are still free.
  const freed = ends.length - [...held.values()].reduce((sum, count) => sum + count, 0);
  for (const [constraint, pairs] of context.collapsed) if (pairs.length > 0 && held.get(constraint) === pairs.length) conflicting.add(constraint);
  if (context.isEnded) for (const k of stationary) if (k < rows.length && Math.abs(rows[k]!.residual) > context.tolerance) conflicting.add(rows[k]!.constraint);

  const equations = new Map<Constraint, number>();
  for (const { constraint } of rows) equations.set(constraint, (equations.get(constraint) ?? 0) + 1);
  const listed = [...equations].filter(([constraint]) => because.has(constraint) || conflicting.has(constraint));
  const list = (of: (constraint: Constraint, count: number) => boolean): Dependency[] =>
    listed.filter(([constraint, count]) => of(constraint, count)).map(([constraint]) => ({ constraint: constraint.name, because: [...(because.get(constraint) ?? [])] }));
  const isConflict = (constraint: Constraint): boolean => !isSolved && conflicting.has(constraint);
  // Elsewhere than at a solution dependencies are those of a place that nobody asked for.
  if (!isSolved && !context.isEnded) return { rank: rank - freed, redundant: [], partly: [], conflicting: list(isConflict), operations, equations: rows.length };
  return {
    rank: rank - freed,
    redundant: list((constraint, count) => !isConflict(constraint) && dependentRows.get(constraint) === count),
    partly: list((constraint, count) => !isConflict(constraint) && (dependentRows.get(constraint) ?? 0) > 0 && dependentRows.get(constraint) !== count),
    conflicting: list(isConflict),
    operations, equations: rows.length,
  };
}
