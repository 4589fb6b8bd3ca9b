/**
 * Data of a term: a typed array is one scalar an instance, a number or an array literal is shared by all instances,
 * {@link column} is one vector, quaternion or record an instance, {@link perEntry} one scalar for every entry of a ragged slot.
 */
import { isArrayLike, isFloats, isList, numbersOf, type Floats, type Rows } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { describe, type Scalar, type Value } from "./expression.js";
import { form, formOf, type Element, type Form, type Shape } from "./shape.js";
import type { Slot } from "./slots.js";
import type { Each } from "./sums.js";
import { isTensor } from "./tensor/apply.js";
import type { AnyTensor } from "./tensor/tensor.js";

/**
 * A data column whose elements are `V`s in the residual function.
 *
 * @example
 * const target: Data<Vec3> = column(new Float64Array(150), 3);
 */
export interface Data<V> { readonly data: V }

/** @internal */
export class ColumnData<V> implements Data<V> {
  declare readonly data: V;
  constructor(readonly values: Floats | AnyTensor, readonly form: Form) {}
}

/**
 * One vector of `each` scalars an instance, from a flat array (x₀ y₀ z₀ x₁ …) or rows (`[[x₀, y₀, z₀], …]`), or whatever the shape says: `column(frames,
 * quaternion)`, `column(edges, { q: quaternion, t: 3 })`. The numbers are taken as they are: quaternions and directions must be
 * of unit length where the residual relies on it. A tensor, [count, scalars of an instance], stays on the device.
 *
 * @throws `shape` for values that are no array of numbers
 * @example
 * problem.residuals("handles", { of: [x.at([0, 3])], data: { target: column([0, 0, 0, 1, 1, 0], 3) } },
 *   ([p], { target }) => p.sub(target));
 */
export function column<const S extends Shape>(values: ArrayLike<number> | Rows | AnyTensor, each: S): Data<Element<S>> {
  const shape = form("column(values, shape)", each);
  if (isTensor(values)) return new ColumnData<Element<S>>(values, shape);
  return new ColumnData<Element<S>>(numbersOf("column(values, shape): values", values, { code: "shape", width: shape.width }), shape);
}

declare const perEntryTag: unique symbol;

/**
 * A data column with a value an entry: an array in the residual function with slots of `.rows(…)`, an {@link Each} with those of `.each(…)`.
 *
 * @example
 * const weights: PerEntry = perEntry(new Float64Array(7));
 */
export interface PerEntry extends Data<readonly Scalar[]> { readonly [perEntryTag]: true }

/** @internal */
export class EntryData implements PerEntry {
  declare readonly data: readonly Scalar[];
  declare readonly [perEntryTag]: true;
  constructor(readonly values: Floats | AnyTensor) {}
}

/**
 * One value for every entry of the term's ragged slots ({@link Table.rows}, {@link Table.each}), row after row; the
 * function gets what it gets for the slots: an array as long as the row, or something to give to {@link sumOver}.
 *
 * @throws `shape` unless `values` is a `Float32Array`, a `Float64Array` or a tensor
 * @example
 * const ragged = { offsets: [0, 2, 3], indices: [1, 2, 0] };
 * problem.residuals("laplacian", { of: [x.at([0, 1]), x.rows(ragged)], data: { w: perEntry(Float64Array.of(0.5, 0.5, 1)) } },
 *   ([p, around], { w }) => around.reduce((sum, q, k) => sum.sub(q.mul(w[k]!)), p));
 */
export function perEntry(values: Floats | AnyTensor): PerEntry {
  if (isTensor(values)) return new EntryData(values);
  if (!isFloats(values)) throw new LeastwiseError("shape", "perEntry(values): values must be a Float32Array or a Float64Array, one value an entry");
  return new EntryData(numbersOf("perEntry(values): values", values));
}

/**
 * Values of a data column; a tensor of one axis is one number an instance, one of a single number is shared.
 *
 * @example
 * const seen: Column = new Float64Array(50);  // one number an instance
 * const target: Column = column(new Float64Array(150), 3); // three
 */
export type Column = number | readonly number[] | Floats | Data<unknown> | AnyTensor;
/**
 * Data of a term: a column for each name.
 *
 * @example
 * const data: Columns = { t: new Float64Array(50), target: [0, 0, 1] };
 */
export type Columns = { readonly [name: string]: Column };
/** True if one of the slots is of entries that are summed over. */
type IsSummed<O> = [Extract<O extends readonly (infer S)[] ? S : O[keyof O], Slot<Each<any>>>] extends [never] ? false : true;
type ColumnValue<C, O> = C extends PerEntry ? (IsSummed<O> extends true ? Each<Scalar> : readonly Scalar[]) : C extends Data<infer V> ? V : C extends number | Floats | AnyTensor ? Scalar : C extends { readonly length: infer N extends number } ? Value<N> : never;
/**
 * Data argument of a residual function with slots `O`.
 *
 * @example
 * const residual = ({ t, seen }: Row<{ t: Float64Array; seen: Float64Array }>) => t.mul(2).sub(seen);
 */
export type Row<D, O = readonly []> = { readonly [K in keyof D]: ColumnValue<D[K], O> };
/**
 * Replacement of a data column.
 *
 * @example
 * const seen: Update<Float64Array> = new Float64Array(term.count);
 * term.set({ seen });
 */
export type Update<C> = AnyTensor | (C extends number ? number : C extends Floats | AnyTensor ? Floats : C extends Data<unknown> ? C | Floats : readonly number[]);

/** A column as the engine takes it. @internal */
export interface PlainColumn { readonly form: Form; readonly shared: boolean; readonly values: Floats; readonly entries?: boolean; /** Tensor in place of the values. */ readonly tensor?: AnyTensor }

/** A column of a tensor, which is given to the term when it is there: zeros until then. @internal */
export const lentColumn = (tensor: AnyTensor, form: Form, shared = false): PlainColumn => ({ form, shared, values: new Float64Array(tensor.size), tensor });

/** Scalars of an instance, at most: `shape.ts` has it. */
const MOST_SHARED = 1024;

/** @internal */
export function plain(given: unknown, term: string, name: string): PlainColumn {
  const what = `term "${term}": data column "${name}"`, place = { term };
  if (isTensor(given)) return lentColumn(given, formOf(1), given.rank === 0);
  if (given instanceof ColumnData && isTensor(given.values)) return lentColumn(given.values, given.form);
  if (typeof given === "number") return { form: formOf(1), shared: true, values: Float64Array.of(given) };
  if (isFloats(given)) return { form: formOf(1), shared: false, values: numbersOf(what, given, place) };
  // Viewed again: its buffer may have been transferred since.
  if (given instanceof ColumnData) return { form: given.form, shared: false, values: numbersOf(what, given.values, place) };
  if (isList(given)) return sharedVector(what, given, place);
  const others = isArrayLike(given) ? `, not ${describe(given)}: Float64Array.from(values) gives one number an instance` : "";
  throw new LeastwiseError("shape", `${what} must be a number, an array literal, a Float32Array or Float64Array, column(values, shape), perEntry(values) or a tensor${others}`, place);
}

/** An array literal: one vector for all instances. */
function sharedVector(what: string, given: readonly unknown[], place: { term: string }): PlainColumn {
  const { length } = given, first = length > 0 ? given[0] : undefined;
  if (isArrayLike(first)) throw new LeastwiseError("shape", `${what} is an array of arrays: for one vector an instance give column(values, ${first.length}), which takes rows`, place);
  if (!(length >= 1 && length <= MOST_SHARED)) {
    throw new LeastwiseError("shape", `${what} is an array literal of ${length} numbers: that is one vector for all instances, of 1 to ${MOST_SHARED} numbers; for one number an instance give new Float64Array(values)`, place);
  }
  return { form: formOf(length), shared: true, values: numbersOf(what, given, place) };
}
