/** Expressions as trees: what the parser makes, and what is differentiated, simplified and printed. */
import { LeastwiseError } from "../errors.js";

/**
 * Literal.
 *
 * @example
 * const two: NumberNode = { type: "Number", value: 2 };
 */
export interface NumberNode { readonly type: "Number"; readonly value: number }

/**
 * Variable, by its name.
 *
 * @example
 * const x: VariableNode = { type: "Variable", name: "x" };
 */
export interface VariableNode { readonly type: "Variable"; readonly name: string }

/**
 * Operation of two operands. A comparison is 1 or 0.
 *
 * @example
 * const sum: BinaryOpNode = { type: "BinaryOp", operator: "+", left: { type: "Variable", name: "x" }, right: { type: "Number", value: 1 } };
 */
export interface BinaryOpNode { readonly type: "BinaryOp"; readonly operator: "+" | "-" | "*" | "/" | "%" | "**" | "<" | ">" | "<=" | ">=" | "==" | "!="; readonly left: ASTNode; readonly right: ASTNode }

/**
 * Negation.
 *
 * @example
 * const negative: UnaryOpNode = { type: "UnaryOp", operator: "-", operand: { type: "Variable", name: "x" } };
 */
export interface UnaryOpNode { readonly type: "UnaryOp"; readonly operator: "-"; readonly operand: ASTNode }

/**
 * Call of a function by its name.
 *
 * @example
 * const sine: FunctionCallNode = { type: "FunctionCall", name: "sin", args: [{ type: "Variable", name: "x" }] };
 */
export interface FunctionCallNode { readonly type: "FunctionCall"; readonly name: string; readonly args: readonly ASTNode[] }

/**
 * Component of a vector.
 *
 * @example
 * const first: VectorAccessNode = { type: "VectorAccess", vector: { type: "Variable", name: "p" }, component: "x" };
 */
export interface VectorAccessNode { readonly type: "VectorAccess"; readonly vector: ASTNode; readonly component: string }

/**
 * Vector of components.
 *
 * @example
 * const zero: VectorConstructorNode = { type: "VectorConstructor", name: "Vec2", components: [{ type: "Number", value: 0 }, { type: "Number", value: 0 }] };
 */
export interface VectorConstructorNode { readonly type: "VectorConstructor"; readonly name: "Vec2" | "Vec3" | "Vec4"; readonly components: readonly ASTNode[] }

/**
 * Node of an expression.
 *
 * @example
 * const node: ASTNode = parse("y = x ** 2").assignments[0]!.expression;
 */
export type ASTNode = NumberNode | VariableNode | BinaryOpNode | UnaryOpNode | FunctionCallNode | VectorAccessNode | VectorConstructorNode;

/**
 * Assignment of an expression to a variable.
 *
 * @example
 * const { variable, expression }: Assignment = parse("y = 2 * x").assignments[0]!;
 */
export interface Assignment { readonly variable: string; readonly expression: ASTNode }

/**
 * Program: assignments in order, of which the last one's variable is the output.
 *
 * @example
 * const program: Program = parse("s = sin(x)\ny = s * s");
 */
export interface Program { readonly assignments: readonly Assignment[]; readonly output: string }

/** Components of vectors, in the order of their constructors. @internal */
export const COMPONENTS = { Vec2: ["x", "y"], Vec3: ["x", "y", "z"], Vec4: ["w", "x", "y", "z"] } as const;

/** @internal */
export const number = (value: number): NumberNode => ({ type: "Number", value });
/** @internal */
export const variable = (name: string): VariableNode => ({ type: "Variable", name });
/** @internal */
export const binary = (operator: BinaryOpNode["operator"], left: ASTNode, right: ASTNode): BinaryOpNode => ({ type: "BinaryOp", operator, left, right });
/** @internal */
export const call = (name: string, ...args: ASTNode[]): FunctionCallNode => ({ type: "FunctionCall", name, args });
/** @internal */
export const negative = (operand: ASTNode): UnaryOpNode => ({ type: "UnaryOp", operator: "-", operand });

/** True for the number given. @internal */
export const isNumber = (node: ASTNode, value: number): boolean => node.type === "Number" && node.value === value;

/** Equality of structure and numbers. @internal */
export const equal = (a: ASTNode, b: ASTNode): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A node with other operands. @internal */
export function mapOperands(node: ASTNode, of: (operand: ASTNode) => ASTNode): ASTNode {
  switch (node.type) {
    case "BinaryOp": return { ...node, left: of(node.left), right: of(node.right) };
    case "UnaryOp": return { ...node, operand: of(node.operand) };
    case "FunctionCall": return { ...node, args: node.args.map(of) };
    case "VectorAccess": return { ...node, vector: of(node.vector) };
    case "VectorConstructor": return { ...node, components: node.components.map(of) };
    default: return node;
  }
}

/** @internal */
export const wrong = (message: string): LeastwiseError => new LeastwiseError("tape", message);
