/** Programs of expressions as text: assignments, one a line or separated by semicolons. */
import { binary, call, COMPONENTS, negative, number, variable, wrong, type ASTNode, type Assignment, type BinaryOpNode, type Program } from "./nodes.js";

interface Token { readonly text: string; readonly kind: "number" | "name" | "symbol" | "end"; readonly line: number; readonly column: number }

const TOKEN = /(?<blank>[ \t\r]+|\/\/[^\n]*|#[^\n]*)|(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[\p{L}_$][\p{L}\p{N}_$]*)|(?<symbol>\*\*|<=|>=|==|!=|[-+*/%^()=,.;<>\n])/uy;

/** Operators from the loosest to the tightest, but for powers. */
const LEVELS: readonly (readonly string[])[] = [["<", ">", "<=", ">=", "==", "!="], ["+", "-"], ["*", "/", "%"]];

/**
 * Parser of a program. Operators are those of JavaScript, with `^` for `**`; a power binds tighter than a sign, so −x² is −(x²).
 *
 * @example
 * const program = new Parser("r = hypot(x, y)\nf = r ** 2").parseProgram();
 */
export class Parser {
  private readonly tokens: Token[];
  private at = 0;

  constructor(text: string) { this.tokens = tokensOf(text); }

  /** @throws `tape` with line and column where the text is no program */
  parseProgram(): Program {
    const assignments: Assignment[] = [], seen = new Set<string>();
    for (;;) {
      while (this.takes("\n") || this.takes(";"));
      const first = this.next;
      if (first.kind === "end") break;
      const named = first.kind === "name" && this.tokens[this.at + 1]!.text === "=" ? first.text : undefined;
      if (named !== undefined) this.at += 2;
      // An expression alone is the output.
      const name = named ?? "output", expression = this.expression(0);
      if (seen.has(name)) throw this.unexpected(first, `${name} is assigned twice: give every result a name of its own`);
      seen.add(name);
      assignments.push({ variable: name, expression });
      if (!["", "\n", ";"].includes(this.next.text)) throw this.unexpected(this.next);
    }
    if (assignments.length === 0) throw wrong("the program is empty: write an assignment, as y = x ** 2");
    return { assignments, output: assignments[assignments.length - 1]!.variable };
  }

  private get next(): Token { return this.tokens[this.at]!; }

  private takes(text: string): boolean {
    if (this.next.kind !== "symbol" || this.next.text !== text) return false;
    this.at += 1;
    return true;
  }

  private mustTake(text: string): void {
    if (!this.takes(text)) throw this.unexpected(this.next, `${text} is missing here`);
  }

  private unexpected({ line, column, text, kind }: Token, message?: string): Error {
    return wrong(`line ${line}, column ${column}: ${message ?? (kind === "end" ? "the text ends where an expression goes on" : `unexpected ${text === "\n" ? "end of the line" : text}`)}`);
  }

  private expression(level: number): ASTNode {
    const operators = LEVELS[level];
    if (!operators) return this.signed();
    let left = this.expression(level + 1);
    while (this.next.kind === "symbol" && operators.includes(this.next.text)) {
      const operator = this.tokens[this.at++]!.text as BinaryOpNode["operator"];
      left = binary(operator, left, this.expression(level + 1));
    }
    return left;
  }

  private signed(): ASTNode {
    let isNegative = false, isSigned = false;
    for (;;) {
      if (this.takes("-")) [isNegative, isSigned] = [!isNegative, true];
      else if (!this.takes("+")) break;
    }
    const power = this.power();
    if (isSigned && power.type === "Number") return number(isNegative ? -power.value : power.value);
    return isNegative ? negative(power) : power;
  }

  private power(): ASTNode {
    const base = this.postfix();
    return this.takes("**") || this.takes("^") ? binary("**", base, this.signed()) : base;
  }

  private postfix(): ASTNode {
    let node = this.primary();
    while (this.takes(".")) {
      const token = this.next;
      if (token.kind !== "name") throw this.unexpected(token, "a component is missing after the point");
      this.at += 1;
      node = ["magnitude", "sqrMagnitude", "normalized"].includes(token.text) ? call(token.text, node) : { type: "VectorAccess", vector: node, component: token.text };
    }
    return node;
  }

  private primary(): ASTNode {
    const token = this.next;
    if (this.takes("(")) {
      const inside = this.expression(0);
      this.mustTake(")");
      return inside;
    }
    this.at += 1;
    if (token.kind === "number") return number(Number(token.text));
    if (token.kind !== "name") throw this.unexpected(token);
    if (!this.takes("(")) return variable(token.text);
    const args: ASTNode[] = [];
    if (!this.takes(")")) {
      do args.push(this.expression(0)); while (this.takes(","));
      this.mustTake(")");
    }
    if (!(token.text in COMPONENTS)) return call(token.text, ...args);
    const name = token.text as keyof typeof COMPONENTS;
    if (args.length !== COMPONENTS[name].length) throw this.unexpected(token, `${name} has ${COMPONENTS[name].length} components, not ${args.length}`);
    return { type: "VectorConstructor", name, components: args };
  }
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1, start = 0, depth = 0;
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const groups = TOKEN.exec(text)?.groups;
    if (!groups) throw wrong(`line ${line}, column ${at - start + 1}: unexpected ${text[at]}`);
    const [kind, found] = Object.entries(groups).find(([, value]) => value !== undefined)! as [Token["kind"] | "blank", string];
    if (found === "(") depth += 1;
    if (found === ")") depth -= 1;
    // An expression in brackets goes on in the next line.
    if (kind !== "blank" && !(found === "\n" && depth > 0)) tokens.push({ text: found, kind, line, column: at - start + 1 });
    if (found === "\n") {
      line += 1;
      start = TOKEN.lastIndex;
    }
  }
  tokens.push({ text: "", kind: "end", line, column: text.length - start + 1 });
  return tokens;
}

/**
 * Parses a program.
 *
 * @throws `tape` with line and column where the text is no program
 * @example
 * const { assignments, output } = parse("y = 3 * x ** 2");
 */
export function parse(text: string): Program { return new Parser(text).parseProgram(); }
