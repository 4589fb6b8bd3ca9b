/** Which rows of a Jacobian are combinations of others: what a sketch's constraints say twice, or against each other. */

/** A row of the Jacobian with its residual: unknowns and derivatives; an unknown may come twice. @internal */
export interface Row {
  readonly name: string;
  readonly residual: number;
  readonly entries: readonly (readonly [unknown: number, derivative: number])[];
}

interface Found {
  readonly rank: number;
  readonly redundant: { constraint: string; because: string[] }[];
  readonly conflicting: { constraint: string; because: string[] }[];
}

/** Of a row's length, what is left of it when it depends on others; and of a combination, factors that are none. */
const DEPENDENT = 1e-6, NEGLIGIBLE = 1e-5;

/**
 * Gram–Schmidt with a second pass over the rows in their order, each of length 1, by which rows know how they are made of the
 * ones before. A row of which nothing is left depends on those; whether it conflicts with them, the residuals say: at a
 * least-squares solution Jᵀr = 0, so where they are not met they are not the same combination.
 *
 * @internal
 */
export function dependencies(rows: readonly Row[], unknowns: number, tolerance: number): Found {
  /** Orthonormal, with the combination of independent rows that each is. */
  const basis: { readonly vector: Float64Array; readonly made: Float64Array }[] = [];
  const independent: { readonly row: Row; readonly scale: number }[] = [];
  const found: Found & { rank: number } = { rank: 0, redundant: [], conflicting: [] };
  for (const row of rows) {
    const vector = new Float64Array(unknowns);
    for (const [unknown, derivative] of row.entries) vector[unknown]! += derivative;
    const length = norm(vector);
    const made = new Float64Array(rows.length);
    if (length > 0) {
      scaleBy(vector, 1 / length);
      for (let pass = 0; pass < 2; pass++) {
        for (const other of basis) {
          const along = dot(vector, other.vector);
          addTo(vector, other.vector, -along);
          addTo(made, other.made, -along);
        }
      }
    }
    // Nothing that may move changes it here, as at the kink of a distance between two points in one place: that is no combination.
    if (length === 0 && row.entries.length > 0) continue;
    const left = length > 0 ? norm(vector) : 0;
    if (left > DEPENDENT) {
      made[independent.length] = 1;
      scaleBy(vector, 1 / left);
      scaleBy(made, 1 / left);
      basis.push({ vector, made });
      independent.push({ row, scale: length });
      continue;
    }
    // row / length = −Σ made · others, so the residuals should be the same combination.
    const expected = length * independent.reduce((sum, other, k) => sum - (made[k]! * other.row.residual) / other.scale, 0);
    const because = [...new Set(independent.filter((_, k) => Math.abs(made[k]!) > NEGLIGIBLE).map((other) => other.row.name))].filter((name) => name !== row.name);
    const list = Math.abs(row.residual - expected) > tolerance ? found.conflicting : found.redundant;
    const known = list.find((other) => other.constraint === row.name);
    if (known) known.because = [...new Set([...known.because, ...because])];
    else list.push({ constraint: row.name, because });
  }
  found.rank = basis.length;
  // What conflicts in one row is not to be called redundant for another.
  const conflicts = new Set(found.conflicting.map((other) => other.constraint));
  return { ...found, redundant: found.redundant.filter((other) => !conflicts.has(other.constraint)) };
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

function norm(a: Float64Array): number { return Math.sqrt(dot(a, a)); }

function scaleBy(a: Float64Array, factor: number): void {
  for (let i = 0; i < a.length; i++) a[i]! *= factor;
}

function addTo(a: Float64Array, b: Float64Array, factor: number): void {
  for (let i = 0; i < a.length; i++) a[i]! += factor * b[i]!;
}
