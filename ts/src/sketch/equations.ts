/** Equations of constraints at a place: residuals, and rows of their Jacobian. */
import type { Evaluation } from "../term.js";
import type { Constraint } from "./constraint.js";
import type { Row } from "./diagnosis.js";
import type { Geometry } from "./geometry.js";
import type { Kind } from "./kinds.js";

/** What the engine says of the constraints of a kind; of angles, the factors that present levers make of it. @internal */
export interface EquationsOfKind extends Evaluation { readonly kind: Kind; readonly of: readonly Constraint[]; readonly scales: Float64Array | undefined }

/** @internal */
export class Equations {
  constructor(private readonly terms: readonly EquationsOfKind[], private readonly unit: number) {}

  /** Largest residual, and the first constraint that has it, of all but some constraints. */
  worst(but: ReadonlyMap<Constraint, unknown>): { readonly residual: number; readonly constraint: Constraint | undefined } {
    let [residual, worst]: [number, Constraint | undefined] = [0, undefined];
    for (const { of, rows, residuals, scales } of this.terms) {
      of.forEach((made, i) => {
        if (but.has(made)) return;
        for (let row = 0; row < rows; row++) {
          const size = Math.abs(residuals[i * rows + row]!) * (scales?.[i] ?? 1) * this.unit;
          if (!worst || size > residual || (size === residual && made.serial < worst.serial)) [residual, worst] = [size, made];
        }
      });
    }
    return { residual, constraint: worst };
  }

  /** Rows of all constraints in their order. */
  rows(constraints: readonly Constraint[], { fixed, places }: Geometry): Row[] {
    const found = new Map<Constraint, Row[]>();
    for (const { kind, of, rows, columns, residuals, jacobian, scales } of this.terms) {
      of.forEach((made, i) => found.set(made, Array.from({ length: rows }, (_, row) => {
        const place = i * rows + row, scale = scales?.[i] ?? 1, entries: [unknown: number, derivative: number][] = [];
        const add = (column: number, unknown: number): void => {
          const derivative = jacobian[place * columns + column]! * scale, known = entries.find(([other]) => other === unknown);
          // A point may be the end of two lines.
          if (known) known[1] += derivative; else entries.push([unknown, derivative]);
        };
        made.points.forEach((point, slot) => { if (!fixed[point]) for (const axis of [0, 1]) add(2 * slot + axis, 2 * point + axis); });
        made.scalars.forEach((scalar, slot) => add(2 * kind.points + slot, places.length + scalar));
        entries.sort(([a], [b]) => a - b);
        return { constraint: made, residual: residuals[place]! * scale * this.unit, unknowns: entries.map(([unknown]) => unknown), derivatives: entries.map(([, derivative]) => derivative) };
      })));
    }
    return constraints.flatMap((made) => found.get(made) ?? []);
  }
}
