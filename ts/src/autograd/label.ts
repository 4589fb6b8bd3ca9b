/** Labels of results, written when they are asked for: an expression's text may be far longer than the expression. */
import { nameOf, Op, RULES } from "./rules.js";

/** Value with operands, as labels see it. @internal */
export interface Labelled { readonly op: Op; readonly operands: readonly Labelled[]; readonly ownLabel: string | undefined }

/** Characters of a label; what is longer ends in "…". */
const LONGEST = 1000;

/** Text of a result: `(a*b)`, `tanh(a)`, `sum(3)`. Without recursion, since chains may be long. @internal */
export function labelOf(root: Labelled): string {
  let text = "";
  const pending: (Labelled | string)[] = [root];
  while (pending.length > 0) {
    const next = pending.pop()!;
    if (typeof next === "string") text += next;
    else if (next.ownLabel !== undefined) text += next.ownLabel;
    else if (next.op === Op.Sum) text += `sum(${next.operands.length})`;
    else if (next.op !== Op.Leaf) for (const part of parts(next).reverse()) pending.push(part);
    // A long way down a chain writes nothing but brackets.
    if (text.length > LONGEST) return `${text.slice(0, LONGEST)}…`;
  }
  return text;
}

/** What a result's text is made of, in order. */
function parts({ op, operands }: Labelled): (Labelled | string)[] {
  const { infix } = RULES[op] ?? {};
  if (infix) return ["(", operands[0]!, infix, operands[1]!, ")"];
  return [`${nameOf(op)}(`, ...operands.flatMap((operand, k) => (k === 0 ? [operand] : [",", operand])), ")"];
}
