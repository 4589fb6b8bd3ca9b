/**
 * What an instruction of a tape does. Generated from the table in `src/expr/tape.rs`, and held to it by a test
 * (`LEASTWISE_BLESS=1 cargo test` writes it anew).
 */
export const Opcode = {
  /** low, high word of an f64 → a scalar */
  Literal: 0,
  /** source (slots first, then data columns) → its scalars */
  Input: 1,
  /** value, index → one scalar of it */
  Component: 2,
  /** values… → their scalars, one after the other */
  Pack: 3,
  /** a → −a, elementwise */
  Neg: 4,
  /** a, b → a + b, elementwise; a scalar goes with every element */
  Add: 5,
  /** a, b → a − b */
  Sub: 6,
  /** a, b → a · b */
  Mul: 7,
  /** a, b → a / b */
  Div: 8,
  /** a → a² */
  Square: 9,
  /** a → √a */
  Sqrt: 10,
  /** a → sin a */
  Sin: 11,
  /** a → cos a */
  Cos: 12,
  /** a, b → Σ aᵢbᵢ */
  Dot: 13,
  /** a, b → a × b; a scalar for two 2-vectors */
  Cross: 14,
  /** a → ‖a‖, with derivative 0 at 0 */
  Norm: 15,
  /** a → ‖a‖² */
  NormSq: 16,
  /** a → a / ‖a‖, and 0 at 0 */
  Normalize: 17,
  /** angles, v → Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v */
  RotateXYZ: 18,
  /** values… → their elementwise sum */
  Sum: 19,
  /** a, b → whether a < b */
  Lt: 20,
  /** a, b → whether a ≤ b */
  Le: 21,
  /** a, b → both */
  And: 22,
  /** a, b → one of them */
  Or: 23,
  /** a → not a */
  Not: 24,
  /** condition, then, otherwise → one of the two, elementwise */
  Select: 25,
  /** m (row by row), v → m · v */
  MatVec: 26,
} as const;
export type Opcode = (typeof Opcode)[keyof typeof Opcode];
