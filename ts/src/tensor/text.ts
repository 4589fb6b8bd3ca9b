/** Text of tensors for consoles: what they are, and their values where the host has them. */
import { elementsOf, shown, type Sizes } from "./shapes.js";

/** Elements that a tensor keeps of what was given or read, for its text. @internal */
export const PREVIEW = 64;

/** Digits that tell numbers of a kind apart. */
const DIGITS = { f16: 5, f32: 8, f64: 16, int32: 10, bool: 1 } as const;

/** `[[1, 2], [3, 4]]`; of many elements the first. @internal */
export function valuesText(values: ArrayLike<number>, shape: Sizes, dtype: keyof typeof DIGITS): string {
  const number = (value: number) => dtype === "bool" ? String(value !== 0) : String(Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS[dtype])));
  if (elementsOf(shape) > values.length) return `[${Array.from(values, number).join(", ")}, …], row by row`;
  const part = (axis: number, first: number): string => {
    if (axis === shape.length) return number(values[first]!);
    const size = elementsOf(shape.slice(axis + 1));
    return `[${Array.from({ length: shape[axis]! }, (_, k) => part(axis + 1, first + k * size)).join(", ")}]`;
  };
  return part(0, 0);
}

/** @internal */
export const titleOf = (shape: Sizes, dtype: string): string => `Tensor ${shown(shape)} ${dtype}`;
