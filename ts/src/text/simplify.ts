/** Simplification: numbers are computed, and what changes nothing is left out. */
import { FUNCTIONS, OPERATORS } from "./functions.js";
import { binary, equal, isNumber, mapOperands, negative, number, type ASTNode, type BinaryOpNode } from "./nodes.js";

/**
 * Simplifies an expression: 0 + x, 1·x, x¹, x − x, operations of numbers, double signs. Values stay what they are wherever the
 * expression is defined.
 *
 * @throws nothing: what can't be simplified stays
 * @example
 * console.log(generateCode(simplify(parse("y = 0 + 1 * x").assignments[0]!.expression)));  // x
 */
export function simplify(node: ASTNode): ASTNode {
  const simple = mapOperands(node, simplify);
  switch (simple.type) {
    case "UnaryOp": return negated(simple.operand);
    case "BinaryOp": return operation(simple);
    case "FunctionCall": {
      const known = FUNCTIONS[simple.name], numbers = simple.args.flatMap((arg) => (arg.type === "Number" ? [arg.value] : []));
      if (!known || simple.args.length === 0 || numbers.length < simple.args.length) return simple;
      return exact(known.value(...numbers)) ?? simple;
    }
    case "VectorAccess": {
      const { vector, component } = simple;
      if (vector.type !== "VectorConstructor") return simple;
      const at = (vector.name === "Vec4" ? ["w", "x", "y", "z"] : ["x", "y", "z"]).indexOf(component);
      return vector.components[at] ?? simple;
    }
    default: return simple;
  }
}

/** A number, if it is whole: others lose digits where they are printed and read. */
const exact = (value: number): ASTNode | undefined => (Number.isSafeInteger(value) ? number(value + 0) : undefined);

function negated(of: ASTNode): ASTNode {
  if (of.type === "Number") return number(of.value === 0 ? 0 : -of.value);
  if (of.type === "UnaryOp") return of.operand;
  return of.type === "BinaryOp" && of.operator === "-" ? binary("-", of.right, of.left) : negative(of);
}

function operation(node: BinaryOpNode): ASTNode {
  const { operator, left, right } = node;
  if (left.type === "Number" && right.type === "Number") {
    const value = OPERATORS[operator]!(left.value, right.value);
    if (Number.isFinite(value)) return number(value + 0);
  }
  switch (operator) {
    case "+": return sum(left, right) ?? node;
    case "-": return difference(left, right) ?? node;
    case "*": return product(left, right) ?? node;
    case "/": return quotient(left, right) ?? node;
    case "**":
      if (isNumber(right, 1)) return left;
      return isNumber(right, 0) || isNumber(left, 1) ? number(1) : node;
    default: return node;
  }
}

function sum(left: ASTNode, right: ASTNode): ASTNode | undefined {
  if (isNumber(left, 0)) return right;
  if (isNumber(right, 0)) return left;
  if (right.type === "UnaryOp") return operation(binary("-", left, right.operand));
  if (right.type === "Number" && right.value < 0) return binary("-", left, number(-right.value));
  if (left.type === "UnaryOp") return operation(binary("-", right, left.operand));
  return equal(left, right) ? operation(binary("*", number(2), left)) : undefined;
}

function difference(left: ASTNode, right: ASTNode): ASTNode | undefined {
  if (isNumber(left, 0)) return negated(right);
  if (isNumber(right, 0)) return left;
  if (right.type === "UnaryOp") return operation(binary("+", left, right.operand));
  if (right.type === "Number" && right.value < 0) return binary("+", left, number(-right.value));
  return equal(left, right) ? number(0) : undefined;
}

function product(left: ASTNode, right: ASTNode): ASTNode | undefined {
  if (isNumber(left, 0) || isNumber(right, 0)) return number(0);
  if (isNumber(left, 1)) return right;
  if (isNumber(right, 1)) return left;
  if (isNumber(left, -1)) return negated(right);
  if (isNumber(right, -1)) return negated(left);
  if (right.type === "Number") return operation(binary("*", right, left));
  if (left.type === "UnaryOp") return negated(operation(binary("*", left.operand, right)));
  if (right.type === "UnaryOp") return negated(operation(binary("*", left, right.operand)));
  // Numbers go to the front, where they are multiplied.
  if (right.type === "BinaryOp" && right.operator === "*" && right.left.type === "Number") {
    return operation(left.type === "Number" ? binary("*", number(left.value * right.left.value), right.right) : binary("*", right.left, operation(binary("*", left, right.right))));
  }
  if (left.type === "BinaryOp" && left.operator === "*" && left.left.type === "Number") return operation(binary("*", left.left, operation(binary("*", left.right, right))));
  if (left.type === "BinaryOp" && left.operator === "/") return operation(binary("/", operation(binary("*", left.left, right)), left.right));
  if (right.type === "BinaryOp" && right.operator === "/") return operation(binary("/", operation(binary("*", left, right.left)), right.right));
  return equal(left, right) ? binary("**", left, number(2)) : undefined;
}

function quotient(left: ASTNode, right: ASTNode): ASTNode | undefined {
  if (isNumber(right, 1)) return left;
  if (isNumber(right, -1)) return negated(left);
  if (isNumber(left, 0) && !isNumber(right, 0)) return number(0);
  if (left.type === "UnaryOp") return negated(operation(binary("/", left.operand, right)));
  if (right.type === "UnaryOp") return negated(operation(binary("/", left, right.operand)));
  // A common number.
  const [above, below] = [factorOf(left), factorOf(right)], factor = above / below;
  if (below === 1 || !Number.isSafeInteger(factor)) return undefined;
  return operation(binary("/", operation(binary("*", number(factor), withoutFactor(left))), withoutFactor(right)));
}

/** The number that an expression begins with, or 1. */
const factorOf = (node: ASTNode): number => (node.type === "Number" ? node.value : node.type === "BinaryOp" && node.operator === "*" && node.left.type === "Number" ? node.left.value : 1);

function withoutFactor(node: ASTNode): ASTNode {
  if (node.type === "Number") return number(1);
  return node.type === "BinaryOp" && node.operator === "*" && node.left.type === "Number" ? node.right : node;
}
