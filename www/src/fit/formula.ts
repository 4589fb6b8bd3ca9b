/** Formulas: read by jsep, written as the code that Leastwise traces. */
import jsep from "jsep";
import { CodeError } from "../shell/code.js";

jsep.addBinaryOp("^", 12, true);
jsep.addBinaryOp("**", 12, true);

const FUNCTIONS = new Set(["exp", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "abs", "erf", "sigmoid", "softplus", "sign", "floor"]);
const RENAMED: { readonly [name: string]: string } = { ln: "log" };
const CONSTANTS: { readonly [name: string]: string } = { pi: "Math.PI", PI: "Math.PI", e: "Math.E" };
/** The variable of a formula is the first of these that it names. */
const VARIABLES = ["t", "x"];

export interface Formula { readonly parameters: readonly string[]; readonly variable: string; readonly code: string }

type Node = jsep.Expression;
interface Piece { readonly code: string; readonly number: boolean }

/** A formula as code in terms of its parameters. Throws a {@link CodeError} in words. */
export function parseFormula(text: string): Formula {
  let tree: Node;
  try {
    tree = jsep(text.replace(/^\s*[a-z]\s*(\([a-z]\))?\s*=(?!=)/i, ""));
  } catch (error) {
    throw new CodeError(`The formula can't be read: ${(error as Error).message}`, 1);
  }
  const names = new Set<string>();
  collect(tree, names);
  const variable = VARIABLES.find((name) => names.has(name));
  if (!variable) throw new CodeError("The formula names no variable: use t or x", 1);
  const parameters = [...names].filter((name) => name !== variable);
  if (!parameters.length) throw new CodeError("The formula has no parameter to fit: any other name is one", 1);
  if (parameters.length > 12) throw new CodeError(`The formula has ${parameters.length} parameters; this page takes 12`, 1);
  return { parameters, variable, code: emit(tree).code };
}

function children(node: Node): Node[] {
  if (node.type === "BinaryExpression") return [node.left as Node, node.right as Node];
  if (node.type === "UnaryExpression") return [node.argument as Node];
  return node.type === "CallExpression" ? (node.arguments as Node[]) : [];
}

function collect(node: Node, names: Set<string>): void {
  if (node.type === "Identifier" && !Object.hasOwn(CONSTANTS, node.name as string)) {
    if (FUNCTIONS.has(node.name as string)) throw new CodeError(`"${String(node.name)}" is a function: write ${String(node.name)}(…)`, 1);
    names.add(node.name as string);
  }
  for (const child of children(node)) collect(child, names);
}

function emit(node: Node): Piece {
  const refuse = (what: string): never => { throw new CodeError(`${what} is nothing that a formula may have`, 1); };
  if (node.type === "Literal") return typeof node.value === "number" ? { code: String(node.value), number: true } : refuse(String(node.raw));
  if (node.type === "Identifier") {
    const name = node.name as string;
    return Object.hasOwn(CONSTANTS, name) ? { code: CONSTANTS[name]!, number: true } : { code: name, number: false };
  }
  if (node.type === "UnaryExpression") {
    const a = emit(node.argument as Node);
    if (node.operator === "+") return a;
    return node.operator !== "-" ? refuse(String(node.operator)) : a.number ? { code: `(-${a.code})`, number: true } : { code: `${a.code}.neg()`, number: false };
  }
  if (node.type === "CallExpression") {
    const raw = (node.callee as Node).name as string, name = RENAMED[raw] ?? raw, args = (node.arguments as Node[]).map(emit);
    if (!(FUNCTIONS.has(name) && args.length === 1)) return refuse(`${raw}(${args.length ? "…" : ""})`);
    return { code: `${name}(${args[0]!.code})`, number: false };
  }
  return node.type === "BinaryExpression" ? binary(node.operator as string, emit(node.left as Node), emit(node.right as Node)) : refuse(node.type);
}

function binary(operator: string, a: Piece, b: Piece): Piece {
  const number = a.number && b.number, known = ["+", "-", "*", "/", "^", "**"].includes(operator);
  if (!known) throw new CodeError(`"${operator}" is nothing that a formula may have`, 1);
  if (operator === "^" || operator === "**") return number ? { code: `(${a.code} ** ${b.code})`, number } : b.code === "2" ? { code: `${a.code}.square()`, number } : { code: `pow(${a.code}, ${b.code})`, number };
  if (number) return { code: `(${a.code} ${operator} ${b.code})`, number };
  if (!a.number) return { code: `${a.code}.${{ "+": "add", "-": "sub", "*": "mul", "/": "div" }[operator]}(${b.code})`, number };
  return { code: { "+": `${b.code}.add(${a.code})`, "-": `${b.code}.neg().add(${a.code})`, "*": `${b.code}.mul(${a.code})`, "/": `reciprocal(${b.code}).mul(${a.code})` }[operator]!, number };
}
