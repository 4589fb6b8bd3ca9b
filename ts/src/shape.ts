/**
 * Shapes: what one instance of a variable, a constant or a data column is. A number is so many free scalars; a
 * {@link Manifold} is scalars that depend on each other, as those of a unit vector do; a record makes a structured
 * instance of them, whose scalars lie one field after the other.
 */
import { LeastwiseError, reading } from "./errors.js";
import { describe, wrap, type Value } from "./expression.js";
import { named } from "./named.js";
import { Opcode } from "./opcodes.js";
import { shapeEuclidean, type Packed } from "./packed.js";
import type { Trace } from "./trace.js";

declare const tag: unique symbol;

/**
 * Manifold on which instances lie, made by {@link sphere} and its like. A solver moves them by steps δ of `tangent` degrees of
 * freedom, x ⊕ δ; `ambient` scalars are stored. `V` is what an instance is in a residual function.
 *
 * @example
 * const group: Manifold<Quat> = quaternion;
 * console.log(group.ambient, group.tangent);  // 4 and 3
 */
export interface Manifold<V> {
  readonly [tag]: V;
  /** Scalars of an instance: what `values`, `read()` and `write()` have of it. */
  readonly ambient: number;
  /** Degrees of freedom of an instance. */
  readonly tangent: number;
  toString(): string;
}

/**
 * Shape of an instance: its number of scalars (1 to 1024 in all), a manifold, or a record of shapes.
 *
 * @example
 * const shape = { q: quaternion, t: 3 } satisfies Shape;  // a record of a rotation and a vector
 * const camera = problem.variables("camera", { shape, values: [0, 0, 0, 1, 0, 0, 0] });
 */
export type Shape = number | Manifold<any> | { readonly [field: string]: Shape };

/**
 * Type of an instance of that shape in a residual function: a scalar, a vector, a quaternion, a record of them.
 *
 * @example
 * const seen = (camera: Element<{ q: typeof quaternion; t: 3 }>, p: Vec3) => camera.q.rotate(p).add(camera.t);
 */
export type Element<S> = S extends Manifold<infer V> ? V : S extends number ? Value<S> : { readonly [K in keyof S]: Element<S[K]> };

/** An instance within a trace: its value, of so many scalars. @internal */
export class Instance {
  constructor(readonly trace: Trace, private readonly value: number, private readonly width: number) {}

  /** The value of some of its scalars. */
  part(first: number, count: number): number {
    if (count === this.width) return this.value;
    const scalar = (k: number): number => this.trace.write2(Opcode.Component, this.value, k);
    return count === 1 ? scalar(first) : this.trace.write(Opcode.Pack, Array.from({ length: count }, (_, k) => scalar(first + k)));
  }
}

/** What is part of an instance, from a scalar on. */
type Take<V> = (of: Instance, first: number) => V;

/** @internal */
export class ManifoldOf<V> implements Manifold<V> {
  declare readonly [tag]: V;
  constructor(private readonly name: string, readonly ambient: number, readonly tangent: number, private readonly packed: Packed, readonly take: Take<V>) {}

  get words(): readonly number[] { return this.packed.words; }

  toString(): string { return this.name; }
}

/** A shape, looked at. @internal */
export class Form {
  constructor(readonly width: number, readonly words: readonly number[], readonly take: Take<unknown>) {}

  /** An instance in a residual function, from its value. */
  element(trace: Trace, value: number): unknown {
    return this.take(new Instance(trace, value, this.width), 0);
  }
}

/** Records inside each other, at most; what has more has itself inside. */
const MAX_DEPTH = 32;
/** Scalars of an instance, at most. */
const MAX_WIDTH = 1024;

const plain = new Map<number, Form>();

/** So many free scalars. @internal */
export function formOf(width: number): Form {
  const known = plain.get(width);
  if (known) return known;
  const form = new Form(width, shapeEuclidean(width).words, (of, first) => wrap(of.trace, of.part(first, width), width));
  plain.set(width, form);
  return form;
}

/** Looks at a shape; `what` it is of is for errors. @internal */
export function form(what: string, shape: unknown): Form {
  const made = reading(`${what}: the shape`, () => within(what, shape, "the shape", 0));
  if (made.width > MAX_WIDTH) throw new LeastwiseError("shape", `${what}: an instance has 1 to ${MAX_WIDTH} scalars, not ${made.width}`);
  return made;
}

function within(what: string, shape: unknown, which: string, depth: number): Form {
  if (typeof shape === "number" && Number.isInteger(shape) && shape >= 1) return formOf(shape);
  if (shape instanceof ManifoldOf) return new Form(shape.ambient, shape.words, shape.take);
  const fields = typeof shape === "object" && shape !== null && !Array.isArray(shape) && !ArrayBuffer.isView(shape) ? Object.entries(shape) : [];
  if (fields.length === 0) {
    const given = typeof shape === "number" ? String(shape) : describe(shape);
    throw new LeastwiseError("shape", `${what}: ${which} is a number of scalars (1, 2, 3, …), a manifold such as quaternion or sphere(3), or a record of these such as { q: quaternion, t: 3 }, not ${given}`);
  }
  if (depth === MAX_DEPTH) throw new LeastwiseError("shape", `${what}: its records are more than ${MAX_DEPTH} inside each other`);
  let width = 0;
  const words: number[] = [];
  const parts = fields.map(([name, field]) => {
    const part = within(what, field, `its field "${name}"`, depth + 1);
    const at = width;
    width += part.width;
    for (const word of part.words) words.push(word);
    return [name, at, part.take] as const;
  });
  return new Form(width, words, (of, first) => {
    const { trace } = of;
    return named(parts.map(([name, at, take]) => [name, take(of, first + at)] as const), { what: () => `${trace.title}: a record`, isPlural: false, term: trace.term });
  });
}
