/** Expressions and gradients as text: JavaScript, and mathematical notation. */
import { FUNCTIONS } from "./functions.js";
import { COMPONENTS, wrong, type ASTNode, type BinaryOpNode, type Program } from "./nodes.js";
import { lowered } from "./vectors.js";

/**
 * Options of {@link generateGradientCode} and {@link generateGradientFunction}.
 *
 * @example
 * const options: CodeGenOptions = { includeMath: false, varStyle: "let" };
 */
export interface CodeGenOptions {
  /** True for a comment in mathematical notation before every derivative. @defaultValue true */
  includeMath?: boolean;
  /** Word that declares variables. @defaultValue `"const"` */
  varStyle?: "const" | "let" | "var";
  /** True for the program's own assignments, whose variables derivatives use. @defaultValue true */
  includeForward?: boolean;
  /** Text before every line. @defaultValue two spaces */
  indent?: string;
}

/** How tightly operations bind. */
const LEVEL: { readonly [operator in BinaryOpNode["operator"]]: number } = { "<": 1, ">": 1, "<=": 1, ">=": 1, "==": 1, "!=": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3, "**": 5 };
const SIGN = 4, WHOLE = 6;

/** Text with how tightly it binds. */
type Written = readonly [text: string, level: number];

const inside = ([text, level]: Written, least: number): string => (level < least ? `(${text})` : text);

/** Sums of sums and products of products need no brackets on their right, all others do. */
function infix({ operator, left, right }: BinaryOpNode, sign: string, write: (node: ASTNode) => Written): Written {
  const level = LEVEL[operator], isOpen = operator === "+" || (operator === "*" && right.type === "BinaryOp" && right.operator === "*");
  return [`${inside(write(left), level)} ${sign} ${inside(write(right), isOpen ? level : level + 1)}`, level];
}

function code(node: ASTNode): Written {
  switch (node.type) {
    case "Number": return [String(node.value), node.value < 0 || Object.is(node.value, -0) ? SIGN : WHOLE];
    case "Variable": return [node.name, WHOLE];
    case "UnaryOp": return [`-${inside(code(node.operand), WHOLE)}`, SIGN];
    case "VectorAccess": return [`${inside(code(node.vector), WHOLE)}.${node.component}`, WHOLE];
    case "VectorConstructor": return [`({ ${node.components.map((part, k) => `${COMPONENTS[node.name][k]!}: ${code(part)[0]}`).join(", ")} })`, WHOLE];
    case "FunctionCall": {
      const known = FUNCTIONS[node.name], args = node.args.map((arg) => code(arg)[0]);
      if (!known) throw wrong(`${node.name} is no function: there are ${Object.keys(FUNCTIONS).join(", ")}, and of vectors dot, cross, magnitude, sqrMagnitude, normalized, distance, sqrDistance`);
      return [known.code ? known.code(args) : `Math.${node.name}(${args.join(", ")})`, WHOLE];
    }
    case "BinaryOp": {
      if (node.operator === "**") return [`Math.pow(${code(node.left)[0]}, ${code(node.right)[0]})`, WHOLE];
      if (LEVEL[node.operator] > 1) return infix(node, node.operator, code);
      const sign = node.operator === "==" ? "===" : node.operator === "!=" ? "!==" : node.operator;
      return [`(${infix(node, sign, code)[0]} ? 1 : 0)`, WHOLE];
    }
  }
}

const SIGNS: { readonly [operator: string]: string } = { "-": "−", "*": "·", "<=": "≤", ">=": "≥", "==": "=", "!=": "≠", "%": "mod" };

function notation(node: ASTNode): Written {
  switch (node.type) {
    case "Number": return [String(node.value).replace("-", "−"), node.value < 0 ? SIGN : WHOLE];
    case "Variable": return [node.name, WHOLE];
    case "UnaryOp": return [`−${inside(notation(node.operand), LEVEL["*"] + 1)}`, SIGN];
    case "VectorAccess": return [`${inside(notation(node.vector), WHOLE)}.${node.component}`, WHOLE];
    case "VectorConstructor": return [`(${node.components.map((part) => notation(part)[0]).join(", ")})`, WHOLE];
    case "FunctionCall": {
      const args = node.args.map((arg) => notation(arg)[0]).join(", ");
      if (node.name === "sqrt") return [`√(${args})`, WHOLE];
      return [node.name === "abs" ? `|${args}|` : `${node.name === "log" ? "ln" : node.name}(${args})`, WHOLE];
    }
    case "BinaryOp": {
      if (node.operator !== "**") {
        const written = infix(node, SIGNS[node.operator] ?? node.operator, notation);
        // Iverson's bracket: 1 where it holds, else 0.
        return LEVEL[node.operator] === 1 ? [`[${written[0]}]`, WHOLE] : written;
      }
      const base = inside(notation(node.left), WHOLE), [exponent, level] = notation(node.right), { right } = node;
      const raised = right.type === "Number" && (right.value === 2 || right.value === 3) ? "²³"[right.value - 2]! : `^${level < WHOLE ? `(${exponent})` : exponent}`;
      return [`${base}${raised}`, LEVEL["**"]];
    }
  }
}

/**
 * JavaScript of an expression. Vectors are objects of their components.
 *
 * @throws `tape` where a function is not known
 * @example
 * console.log(generateCode(parse("y = -(a + b) * sin(x)").assignments[0]!.expression));  // -(a + b) * Math.sin(x)
 */
export function generateCode(node: ASTNode): string { return code(lowered(node))[0]; }

/**
 * Mathematical notation of an expression.
 *
 * @throws nothing: unknown functions are written as they are
 * @example
 * console.log(generateMathNotation(parse("y = sqrt(x ** 2 + 1) / 2").assignments[0]!.expression));  // √(x² + 1) / 2
 */
export function generateMathNotation(node: ASTNode): string { return notation(node)[0]; }

/** Name of the variable that holds a derivative. */
const derivativeName = (parameter: string): string => `d_${parameter.replace(".", "_")}`;

/**
 * JavaScript that computes a program's derivatives, `d_x` for the parameter `x` and `d_p_x` for the component `p.x`.
 *
 * @throws `tape` where a function is not known
 * @example
 * const program = parse("f = x ** 2");
 * console.log(generateGradientCode(program, computeGradients(program, ["x"])));
 */
export function generateGradientCode(program: Program, gradients: ReadonlyMap<string, ASTNode>, options: CodeGenOptions = {}): string {
  const { includeMath = true, varStyle = "const", includeForward = true, indent = "  " } = options, lines: string[] = [];
  if (includeForward) {
    const vectors = new Map<string, keyof typeof COMPONENTS>();
    for (const { variable, expression } of program.assignments) {
      const low = lowered(expression, vectors);
      if (low.type === "VectorConstructor") vectors.set(variable, low.name);
      lines.push(`${varStyle} ${variable} = ${code(low)[0]};`);
    }
  }
  for (const [parameter, gradient] of gradients) {
    if (parameter === program.output) continue;
    if (includeMath) lines.push(`// ∂${program.output}/∂${parameter} = ${notation(gradient)[0]}`);
    lines.push(`${varStyle} ${derivativeName(parameter)} = ${code(gradient)[0]};`);
  }
  return lines.map((line) => `${indent}${line}`).join("\n");
}

/**
 * JavaScript of a function that returns a program's output and its gradient, `{ value, gradient: { x, … } }`, where a vector's
 * gradient is an object of its components.
 *
 * @throws `tape` where a function is not known
 * @example
 * const program = parse("f = x * sin(y)"), gradients = computeGradients(program, ["x", "y"]);
 * const text = generateGradientFunction(program, gradients, "valueAndGradient", ["x", "y"]);
 */
export function generateGradientFunction(program: Program, gradients: ReadonlyMap<string, ASTNode>, functionName: string, parameters: readonly string[], options: CodeGenOptions = {}): string {
  const { indent = "  " } = options, body = generateGradientCode(program, gradients, { ...options, includeForward: true });
  const entries = parameters.map((parameter) => {
    const components = [...gradients.keys()].filter((name) => name.startsWith(`${parameter}.`));
    if (components.length > 0) return `${parameter}: { ${components.map((name) => `${name.slice(parameter.length + 1)}: ${derivativeName(name)}`).join(", ")} }`;
    return `${parameter}: ${gradients.has(parameter) ? derivativeName(parameter) : 0}`;
  });
  return `function ${functionName}(${parameters.join(", ")}) {\n${body}\n${indent}return { value: ${program.output}, gradient: { ${entries.join(", ")} } };\n}`;
}
