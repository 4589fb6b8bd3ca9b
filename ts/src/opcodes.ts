/**
 * The instructions of a tape: a Uint32Array in which each instruction is `opcode | words << 16`, followed by that many
 * words. The k-th instruction's result is value k. `src/expr/tape.rs` reads tapes and has the same table.
 */
export const Opcode = {
  Literal: 0,        // low, high word of an f64
  Input: 1,          // source: slots first, then data columns
  Component: 2,      // value, index
  Pack: 3,           // values…
  Neg: 4,
  Add: 5,
  Sub: 6,
  Mul: 7,
  Div: 8,
  Square: 9,
  Sqrt: 10,
  Sin: 11,
  Cos: 12,
  Dot: 13,
  Cross: 14,
  Norm: 15,
  NormSq: 16,
  Normalize: 17,
  RotateXYZ: 18,     // angles, v
  Sum: 19,           // values…
  Lt: 20,
  Le: 21,
  And: 22,
  Or: 23,
  Not: 24,
  Select: 25,        // condition, then, otherwise
  MatVec: 26,        // matrix row by row, v
} as const;

export type Opcode = (typeof Opcode)[keyof typeof Opcode];
