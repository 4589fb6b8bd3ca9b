/** Derivatives of expressions as expressions, and gradients of programs by the chain rule through their assignments. */
import { FUNCTIONS, powerSlope } from "./functions.js";
import { binary, negative, number, wrong, type ASTNode, type Program } from "./nodes.js";
import { simplify } from "./simplify.js";
import { leafName, lowered, scalarAssignments } from "./vectors.js";

/**
 * Derivative of an expression with respect to a variable, or to a component as `"p.x"`, simplified. A vector has one of vectors.
 *
 * @throws `tape` where a function is not known
 * @example
 * console.log(generateCode(differentiate(parse("y = x ** 3").assignments[0]!.expression, "x")));  // 3 * Math.pow(x, 2)
 */
export function differentiate(node: ASTNode, wrt: string): ASTNode {
  const low = lowered(node);
  if (low.type === "VectorConstructor") return { ...low, components: low.components.map((component) => simplify(derivative(component, wrt))) };
  return simplify(derivative(low, wrt));
}

const zero = number(0);
const isZero = (node: ASTNode): boolean => node.type === "Number" && node.value === 0;
const times = (slope: ASTNode, inner: ASTNode): ASTNode => (isZero(inner) ? zero : binary("*", slope, inner));
const plus = (a: ASTNode, b: ASTNode): ASTNode => (isZero(a) ? b : isZero(b) ? a : binary("+", a, b));

function derivative(node: ASTNode, wrt: string): ASTNode {
  const of = (operand: ASTNode) => derivative(operand, wrt);
  switch (node.type) {
    case "Number": return zero;
    case "Variable":
    case "VectorAccess": return leafName(node) === wrt ? number(1) : zero;
    case "UnaryOp": return isZero(of(node.operand)) ? zero : negative(of(node.operand));
    case "VectorConstructor": throw wrong("a vector stands where a number must be");
    case "FunctionCall": {
      const known = FUNCTIONS[node.name];
      if (!known) throw wrong(`${node.name} is no function that can be differentiated: there are ${Object.keys(FUNCTIONS).join(", ")}`);
      if (known.arity === "any" ? node.args.length === 0 : node.args.length !== known.arity) throw wrong(`${node.name} has ${known.arity === "any" ? "one argument at least" : `${known.arity} arguments`}, not ${node.args.length}`);
      return node.args.reduce<ASTNode>((sum, arg, k) => {
        const inner = of(arg), slope = isZero(inner) ? undefined : known.slope(k, node.args);
        return slope ? plus(sum, times(slope, inner)) : sum;
      }, zero);
    }
    case "BinaryOp": {
      const { operator, left: a, right: b } = node, [first, second] = [of(a), of(b)];
      switch (operator) {
        case "+": return plus(first, second);
        case "-": return isZero(second) ? first : isZero(first) ? negative(second) : binary("-", first, second);
        case "*": return plus(times(b, first), times(a, second));
        case "/": {
          const above = isZero(first) ? zero : binary("/", first, b);
          return isZero(second) ? above : binary("-", above, binary("/", times(a, second), binary("**", b, number(2))));
        }
        // JavaScript's remainder: a − trunc(a/b)·b.
        case "%": return isZero(second) ? first : binary("-", first, times(binary("/", binary("-", a, node), b), second));
        case "**": return plus(isZero(first) ? zero : times(powerSlope(0, a, b), first), isZero(second) ? zero : times(powerSlope(1, a, b), second));
        default: return zero;
      }
    }
  }
}

/** Names of an expression's leaves, in the order of their first visit. */
function leavesOf(node: ASTNode, found = new Set<string>()): Set<string> {
  const name = leafName(node);
  if (name !== undefined) return found.add(name);
  const operands = node.type === "BinaryOp" ? [node.left, node.right] : node.type === "UnaryOp" ? [node.operand] : node.type === "FunctionCall" ? node.args : node.type === "VectorConstructor" ? node.components : [];
  for (const operand of operands) leavesOf(operand, found);
  return found;
}

/**
 * Gradient of a program's output: an expression for every parameter, and 1 for the output. Expressions may use the program's
 * variables. A parameter that is a vector has an entry for each of its components, as `"p.x"`; one that is not used has 0.
 *
 * @throws `tape` where a function is not known, or the output is a vector
 * @example
 * const gradients = computeGradients(parse("s = x * y\nf = s ** 2"), ["x", "y"]);
 * console.log(generateCode(gradients.get("x")!));  // 2 * s * y
 */
export function computeGradients(program: Program, parameters: readonly string[]): Map<string, ASTNode> {
  const assignments = scalarAssignments(program), adjoints = new Map<string, ASTNode>([[program.output, number(1)]]);
  if (!assignments.some(({ variable }) => variable === program.output)) throw wrong(`the output ${program.output} is a vector: a gradient is that of a number`);
  for (let k = assignments.length - 1; k >= 0; k--) {
    const { variable, expression } = assignments[k]!, adjoint = adjoints.get(variable);
    if (!adjoint) continue;
    for (const leaf of leavesOf(expression)) {
      const slope = simplify(derivative(expression, leaf)), before = adjoints.get(leaf);
      if (isZero(slope)) continue;
      const term = simplify(binary("*", adjoint, slope));
      adjoints.set(leaf, before ? simplify(binary("+", before, term)) : term);
    }
  }
  const gradients = new Map<string, ASTNode>([[program.output, number(1)]]);
  for (const parameter of parameters) {
    const components = [...adjoints.keys()].filter((name) => name.startsWith(`${parameter}.`)).sort();
    for (const name of components.length > 0 ? components : [parameter]) gradients.set(name, adjoints.get(name) ?? zero);
  }
  return gradients;
}
