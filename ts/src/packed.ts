// Written by `npm run generate` from src/session/surface.idl. Do not edit.
/** What packs terms, shapes and losses into words: `src/session/wire/packed.rs` reads them. */
import type { Words } from "./words.js";

/** What is packed by itself: words, and the reals that they speak of. @internal */
export interface Packed {
  readonly words: readonly number[];
  readonly reals: readonly number[];
}

/** Kind of a term: a residual, an energy, a constraint c = 0, c ≤ 0 or c ≥ 0, or a residual with full curvature. @internal */
export type TermKind = "residual" | "energy" | "=0" | "<=0" | ">=0" | "curved";

const TERM_KIND: readonly TermKind[] = ["residual", "energy", "=0", "<=0", ">=0", "curved"];

/** Slot of a term: a table, gathered through a column of the term's index table. @internal */
export interface PackedSlot {
  readonly table: number;
  readonly column: number;
}

/** @internal */
export function packSlot(words: Words, given: PackedSlot): void {
  words.push2(given.table, given.column);
}

/** Data column: one value for each instance, or one that all share. @internal */
export interface PackedColumn {
  readonly name: string;
  readonly width: number;
  readonly shared: boolean;
  readonly values: ArrayLike<number>;
}

/** @internal */
export function packColumn(words: Words, given: PackedColumn): void {
  words.names.push(given.name);
  words.push3(given.width, given.shared ? 1 : 0, given.values.length);
  words.reals.push(given.values);
}

/** Data column with a value for each entry of the rows. @internal */
export interface PackedEntryColumn {
  readonly name: string;
  readonly values: ArrayLike<number>;
}

/** @internal */
export function packEntryColumn(words: Words, given: PackedEntryColumn): void {
  words.names.push(given.name);
  words.push(given.values.length);
  words.reals.push(given.values);
}

/** Slot with rows of entries. @internal */
export interface PackedRaggedSlot {
  readonly table: number;
  readonly rows: ArrayLike<number>;
}

/** @internal */
export function packRaggedSlot(words: Words, given: PackedRaggedSlot): void {
  words.push2(given.table, given.rows.length);
  words.append(given.rows);
}

/** Term. Its traces follow it. @internal */
export interface PackedTerm {
  readonly count: number;
  readonly kind: TermKind;
  /** True if the entries of a row are summed over. */
  readonly summed: boolean;
  readonly loss: Packed | undefined;
  /** True if every instance has a weight of its own. */
  readonly weighted: boolean;
  /** One for each instance, one that all share, or none where all weigh 1. */
  readonly weights: ArrayLike<number>;
  readonly slots: readonly PackedSlot[];
  readonly columns: readonly PackedColumn[];
  readonly entries: readonly PackedEntryColumn[];
  /** Index columns, each with an index for each instance; empty where it is a column of an index table that crosses by itself. */
  readonly indices: readonly ArrayLike<number>[];
  /** Columns of that table, one for each empty list. */
  readonly over: ArrayLike<number>;
  readonly ragged: readonly PackedRaggedSlot[];
  /** Where the rows begin, and where the last one ends; empty where there are none. */
  readonly offsets: ArrayLike<number>;
  readonly traces: number;
}

/** @internal */
export function packTerm(words: Words, given: PackedTerm): void {
  words.push3(given.count, TERM_KIND.indexOf(given.kind), given.summed ? 1 : 0);
  words.push(given.loss ? 1 : 0);
  if (given.loss) words.appendPacked(given.loss);
  words.push2(given.weighted ? 1 : 0, given.weights.length);
  words.reals.push(given.weights);
  words.push(given.slots.length);
  for (const item of given.slots) packSlot(words, item);
  words.push(given.columns.length);
  for (const item of given.columns) packColumn(words, item);
  words.push(given.entries.length);
  for (const item of given.entries) packEntryColumn(words, item);
  words.push(given.indices.length);
  for (const list of given.indices) {
    words.push(list.length);
    words.append(list);
  }
  words.push(given.over.length);
  words.append(given.over);
  words.push(given.ragged.length);
  for (const item of given.ragged) packRaggedSlot(words, item);
  words.push(given.offsets.length);
  words.append(given.offsets);
  words.push(given.traces);
}

/** Trace of a function for rows of a length. @internal */
export interface PackedTrace {
  readonly length: number;
  readonly tape: (words: Words) => void;
  readonly outputs: (words: Words) => void;
}

/** @internal */
export function packTrace(words: Words, given: PackedTrace): void {
  words.push(given.length);
  const atTape = words.length;
  words.push(0);
  given.tape(words);
  words.set(atTape, words.length - atTape - 1);
  const atOutputs = words.length;
  words.push(0);
  given.outputs(words);
  words.set(atOutputs, words.length - atOutputs - 1);
}

// Part of an instance: free scalars, or a manifold.

/** @internal */
export function shapeEuclidean(width: number): Packed {
  return { words: [0, width], reals: [] };
}

/** @internal */
export function shapeSubset(width: number, constant: ArrayLike<number> & Iterable<number>): Packed {
  return { words: [1, width, constant.length, ...constant], reals: [] };
}

/** @internal */
export function shapeSphere(width: number): Packed {
  return { words: [2, width], reals: [] };
}

/** @internal */
export function shapeQuaternion(): Packed {
  return { words: [3], reals: [] };
}

/** @internal */
export function shapeSo2(): Packed {
  return { words: [4], reals: [] };
}

/** @internal */
export function shapeSe2(): Packed {
  return { words: [5], reals: [] };
}

/** @internal */
export function shapeSe3(): Packed {
  return { words: [6], reals: [] };
}

/** @internal */
export function shapeSim3(): Packed {
  return { words: [7], reals: [] };
}

/** @internal */
export function shapeTraced(ambient: number, tangent: number, tape: ArrayLike<number> & Iterable<number>, outputs: ArrayLike<number> & Iterable<number>): Packed {
  return { words: [8, ambient, tangent, tape.length, ...tape, outputs.length, ...outputs], reals: [] };
}

// Robust loss: ρ and its parameters. Those of `src/program/losses/` have numbers that are not here.

/** @internal */
export function lossTrivial(): Packed {
  return { words: [0], reals: [] };
}

/** @internal */
export function lossScaled(factor: number, of: Packed): Packed {
  return { words: [10, ...of.words], reals: [factor, ...of.reals] };
}

/** @internal */
export function lossComposed(outer: Packed, inner: Packed): Packed {
  return { words: [11, ...outer.words, ...inner.words], reals: [...outer.reals, ...inner.reals] };
}

/** @internal */
export function lossTraced(parameters: ArrayLike<number> & Iterable<number>, output: number, tape: ArrayLike<number> & Iterable<number>): Packed {
  return { words: [12, parameters.length, output, tape.length, ...tape], reals: [...parameters] };
}

/** @internal */
export function lossOther(number: number, parameters: readonly number[]): Packed {
  return { words: [number], reals: parameters };
}

/** Weights of fits' points: all 1, one for each point, or one for each point of each fit. @internal */
export type FitWeights = "none" | "shared" | "each";

const FIT_WEIGHTS: readonly FitWeights[] = ["none", "shared", "each"];

/** Model of many small fits. Its function takes parameters, then independent variables. @internal */
export interface PackedFitModel {
  readonly parameters: number;
  /** Numbers of the parameters that are fitted. */
  readonly free: ArrayLike<number>;
  /** Numbers of the parameters that all fits share. */
  readonly common: ArrayLike<number>;
  /** For each independent variable, 1 if all fits share its values. */
  readonly shared: ArrayLike<number>;
  readonly weights: FitWeights;
  /** True if fits differ in how many points they have. */
  readonly ragged: boolean;
  readonly bounded: boolean;
  /** True for Poisson's likelihood. */
  readonly poisson: boolean;
  readonly loss: Packed | undefined;
  readonly tape: ArrayLike<number>;
  readonly output: number;
}

/** @internal */
export function packFitModel(words: Words, given: PackedFitModel): void {
  words.push2(given.parameters, given.free.length);
  words.append(given.free);
  words.push(given.common.length);
  words.append(given.common);
  words.push(given.shared.length);
  words.append(given.shared);
  words.push3(FIT_WEIGHTS.indexOf(given.weights), given.ragged ? 1 : 0, given.bounded ? 1 : 0);
  words.push2(given.poisson ? 1 : 0, given.loss ? 1 : 0);
  if (given.loss) words.appendPacked(given.loss);
  words.push(given.tape.length);
  words.append(given.tape);
  words.push(given.output);
}
