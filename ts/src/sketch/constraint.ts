/** A constraint as a sketch keeps it. */
import type { Kind } from "./kinds.js";

/** @internal */
export interface Constraint {
  readonly name: string;
  /** What it is called by its caller; a kind may be compiled as another one, a distance of 0 as coincidence. */
  readonly called: string;
  /** Name of the method that makes it, and references to what it was given, for JSON. */
  readonly method: string;
  readonly of: readonly object[];
  kind: Kind;
  /** Indices of points and of scalars. */
  points: readonly number[];
  readonly scalars: readonly number[];
  value: number | undefined;
  side: number;
  /** Of a point on a spline, all control points and the segment that it is on. */
  readonly curve?: { readonly controls: readonly number[]; segment: number };
  /** Changes of the value. */
  version: number;
  readonly serial: number;
}
