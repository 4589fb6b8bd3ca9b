/** Vectors as their components: expressions of vectors become expressions of numbers. */
import { binary, call, COMPONENTS, mapOperands, negative, number, variable, wrong, type ASTNode, type Assignment, type Program, type VectorConstructorNode } from "./nodes.js";

/** Variables that are vectors, by name. */
type Vectors = ReadonlyMap<string, VectorConstructorNode["name"]>;

/** What a leaf is called: a variable, or a component of one. @internal */
export function leafName(node: ASTNode): string | undefined {
  if (node.type === "Variable") return node.name;
  return node.type === "VectorAccess" && node.vector.type === "Variable" ? `${node.vector.name}.${node.component}` : undefined;
}

/** An expression without vectors but for components of variables; one of a vector is its constructor. @internal */
export function lowered(node: ASTNode, vectors: Vectors = new Map()): ASTNode { return vectorOf(node, vectors) ?? scalar(node, vectors); }

/** Assignments of numbers alone: those of a vector are one for every component, under its leaf's name. @internal */
export function scalarAssignments({ assignments }: Program): Assignment[] {
  const vectors = new Map<string, VectorConstructorNode["name"]>(), found: Assignment[] = [];
  for (const { variable: name, expression } of assignments) {
    const low = lowered(expression, vectors);
    if (low.type !== "VectorConstructor") {
      found.push({ variable: name, expression: low });
      continue;
    }
    vectors.set(name, low.name);
    low.components.forEach((component, k) => found.push({ variable: `${name}.${COMPONENTS[low.name][k]!}`, expression: component }));
  }
  return found;
}

function vectorOf(node: ASTNode, vectors: Vectors): VectorConstructorNode | undefined {
  const made = (name: VectorConstructorNode["name"], components: ASTNode[]): VectorConstructorNode => ({ type: "VectorConstructor", name, components });
  switch (node.type) {
    case "VectorConstructor": return made(node.name, node.components.map((component) => scalar(component, vectors)));
    case "Variable": {
      const name = vectors.get(node.name);
      return name && made(name, COMPONENTS[name].map((component) => ({ type: "VectorAccess", vector: variable(node.name), component })));
    }
    case "UnaryOp": {
      const of = vectorOf(node.operand, vectors);
      return of && made(of.name, of.components.map(negative));
    }
    case "BinaryOp": {
      const { operator } = node, a = vectorOf(node.left, vectors), b = vectorOf(node.right, vectors);
      if (!a && !b) return undefined;
      if (a && b && a.name === b.name && (operator === "+" || operator === "-")) return made(a.name, a.components.map((part, k) => binary(operator, part, b.components[k]!)));
      if (a && !b && (operator === "*" || operator === "/")) return made(a.name, a.components.map((part) => binary(operator, part, scalar(node.right, vectors))));
      if (b && !a && operator === "*") return made(b.name, b.components.map((part) => binary(operator, scalar(node.left, vectors), part)));
      throw wrong(`${a?.name ?? "a number"} ${operator} ${b?.name ?? "a number"} is not defined: vectors of one kind are added, and multiplied with numbers`);
    }
    case "FunctionCall": {
      const of = node.args.map((arg) => vectorOf(arg, vectors)), [a, b] = of;
      if (node.name === "normalized" || node.name === "normalize") {
        const whole = mustBe(a, node.args[0]!, node.name);
        return made(whole.name, whole.components.map((part) => binary("/", part, length(whole))));
      }
      if (node.name !== "cross" || a?.name !== "Vec3" || b?.name !== "Vec3") return undefined;
      const minor = (i: number, j: number) => binary("-", binary("*", a.components[i]!, b.components[j]!), binary("*", a.components[j]!, b.components[i]!));
      return made("Vec3", [minor(1, 2), minor(2, 0), minor(0, 1)]);
    }
    default: return undefined;
  }
}

const product = (a: VectorConstructorNode, b: VectorConstructorNode): ASTNode => a.components.map<ASTNode>((part, k) => binary("*", part, b.components[k]!)).reduce((sum, part) => binary("+", sum, part));
const squares = (of: VectorConstructorNode): ASTNode => of.components.map<ASTNode>((part) => binary("**", part, number(2))).reduce((sum, part) => binary("+", sum, part));
const length = (of: VectorConstructorNode): ASTNode => call("sqrt", squares(of));

function mustBe(found: VectorConstructorNode | undefined, given: ASTNode, where: string): VectorConstructorNode {
  if (found) return found;
  const name = leafName(given);
  throw wrong(`${where}: ${name ?? "an argument"} is not known to be a vector${name === undefined ? "" : `: write ${name} = Vec2(…, …) before, or the components ${name}.x and ${name}.y`}`);
}

function scalar(node: ASTNode, vectors: Vectors): ASTNode {
  if (node.type === "VectorAccess") {
    const of = vectorOf(node.vector, vectors);
    if (!of) {
      if (node.vector.type === "Variable") return node;
      throw wrong(`.${node.component} of a number`);
    }
    const at = (COMPONENTS[of.name] as readonly string[]).indexOf(node.component);
    if (at < 0) throw wrong(`${of.name} has no component ${node.component}`);
    return of.components[at]!;
  }
  if (node.type === "FunctionCall" && MEASURES.has(node.name)) {
    const [a, b] = node.args.map((arg) => mustBe(vectorOf(arg, vectors), arg, node.name));
    if (!a || (PAIRS.has(node.name) && b?.name !== a.name)) throw wrong(`${node.name} needs ${PAIRS.has(node.name) ? "two vectors of one kind" : "a vector"}`);
    const apart = () => ({ ...a, components: a.components.map((part, k) => binary("-", part, b!.components[k]!)) });
    switch (node.name) {
      case "dot": return product(a, b!);
      case "distance": return length(apart());
      case "sqrDistance": return squares(apart());
      case "sqrMagnitude": return squares(a);
      case "magnitude": return length(a);
      default:
        if (a.name !== "Vec2") throw wrong(`the cross product of two ${a.name} is no number`);
        return binary("-", binary("*", a.components[0]!, b!.components[1]!), binary("*", a.components[1]!, b!.components[0]!));
    }
  }
  if (vectorOf(node, vectors)) throw wrong("a vector stands where a number must be");
  return mapOperands(node, (operand) => scalar(operand, vectors));
}

const PAIRS = new Set(["dot", "cross", "distance", "sqrDistance"]), MEASURES = new Set([...PAIRS, "magnitude", "sqrMagnitude"]);
