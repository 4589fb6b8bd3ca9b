/** Operations of tensors by name. Generated from `src/tensor/operations/` (`npm run generate`), and held to it by a test. */

/** @internal */
export type Operation =
  | "add" | "sub" | "mul" | "div" | "maximum" | "minimum" | "less" | "lessEqual" | "equal" | "neg"
  | "abs" | "sign" | "isNaN" | "floor" | "ceil" | "round" | "square" | "sqrt" | "rsqrt" | "cbrt"
  | "exp" | "exp2" | "expm1" | "log" | "log1p" | "sin" | "cos" | "tan" | "tanh" | "erf"
  | "relu" | "sigmoid" | "gelu" | "silu" | "softplus" | "pow" | "where" | "constant" | "count" | "powInt"
  | "detach" | "f16" | "f32" | "reshape" | "transpose" | "broadcastTo" | "slice" | "flip" | "pad" | "window"
  | "concat" | "gather" | "sum" | "max" | "min" | "mean" | "argmax" | "argmin" | "cumsum" | "cumprod"
  | "sort" | "argsort" | "takeAlongAxis" | "putAlongAxis" | "scatterAdd" | "softmax" | "logSoftmax" | "layerNorm" | "crossEntropy" | "matmul"
  | "solve" | "cholesky" | "qr" | "svd" | "eigh" | "attention" | "conv2d" | "maxPool2d" | "integer" | "int32"
  | "bool" | "real" | "any" | "all" | "notEqual" | "floorDivide" | "mod" | "logicalAnd" | "logicalOr" | "logicalXor"
  | "logicalNot" | "bitwiseAnd" | "bitwiseOr" | "bitwiseXor" | "bitwiseNot" | "shiftLeft" | "shiftRight";
