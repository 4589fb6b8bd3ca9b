/** `leastwise/autograd`: least squares and gradients written one value at a time, in plain loops. */
export { CompiledFunctions, CompiledResiduals, type Build } from "./autograd/compiled.js";
export { V, type Operand } from "./autograd/v.js";
export { Value, type BackwardFn } from "./autograd/value.js";
