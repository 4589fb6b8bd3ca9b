/** Einstein's summation, with NumPy's subscripts: made of transposes, products and sums. */
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import { mustBeTensor, mustGoTogether, through } from "./apply.js";
import { made } from "./composed.js";
import { elementsOf, shown } from "./shapes.js";
import type { AnyTensor, BoolTensor, DType, IntTensor, Kept, Tensor } from "./tensor.js";

/** The operands after the first: as many as the subscripts have commas, where these are a literal. */
type Others<S extends string, T extends AnyTensor> = string extends S ? readonly T[] : S extends `${string},${infer Rest}` ? readonly [T, ...Others<Rest, T>] : readonly [];

/** A tensor with a label for each axis. A label is a letter, or a number for an axis of the ellipsis, counted from its last. */
interface Labelled<D extends DType> { readonly tensor: Kept<D>; readonly labels: readonly string[] }

/** Subscripts, read. */
interface Plan { readonly inputs: readonly (readonly string[])[]; readonly output: readonly string[] }

const LETTER = /^[A-Za-z]$/, ELLIPSIS = "...";

/**
 * Sums of products by subscripts, as NumPy's `einsum`: a letter for each axis of each operand, and after `->` those of the result. Letters that the result lacks
 * are summed over; one that an operand has twice takes its diagonal; `...` are the other axes, which broadcast. Without `->` the result has the axes of the
 * ellipsis, then the letters that occur once, in the order of the alphabet. Sizes of one letter are equal, or 1.
 *
 * Operands are multiplied two at a time, first those whose product is the smallest; the product of two is a product of matrices where it sums. Without a real among
 * them all are int32s, booleans too, and everything wraps.
 *
 * @throws `invalid-option` for subscripts that can't be read; `shape` where operands do not fit them; `dtype` and `foreign-tensor` for operands that do not fit each other
 * @example
 * const product = einsum("ij,jk->ik", images, weights);
 * const trace = einsum("ii", lw.eye(3));
 * const scores = einsum("...qd,...kd->...qk", queries, keys);
 */
export function einsum<D extends DType, const S extends string>(subscripts: S, first: IntTensor<D> | BoolTensor<D>, ...others: Others<S, IntTensor<NoInfer<D>> | BoolTensor<NoInfer<D>>>): IntTensor<D>;
export function einsum<D extends DType, const S extends string>(subscripts: S, first: Kept<D>, ...others: Others<S, Kept<NoInfer<D>>>): Tensor<D>;
export function einsum<D extends DType>(subscripts: string, first: Kept<D>, ...others: readonly Kept<D>[]): Kept<D> {
  const operands: readonly Kept<D>[] = [first, ...others];
  if (typeof subscripts !== "string") throw new LeastwiseError("invalid-option", `einsum(subscripts, …operands): subscripts must be a string such as "ij,jk->ik", not ${shownValue(subscripts)}`);
  const what = `einsum("${subscripts.length > 100 ? `${subscripts.slice(0, 100)}…` : subscripts}")`;
  operands.forEach((operand, k) => mustBeTensor(what, `operand ${k}`, operand));
  mustGoTogether(what, first as AnyTensor, operands as readonly AnyTensor[]);
  const { inputs, output } = planOf(what, subscripts, operands), sizes = sizesOf(what, inputs, operands);
  return made(what, first as AnyTensor, () => {
    // Booleans by themselves would be multiplied as reals.
    const whole = operands.every(({ dtype }) => dtype === "int32" || dtype === "bool");
    const all = operands.map((tensor) => (whole && tensor.dtype === "bool" ? (tensor.cast("int32") as Kept<D>) : tensor));
    let open = all.map((tensor, k) => simple({ tensor, labels: inputs[k]! }, sizes));
    while (open.length > 1) {
      const [a, b] = cheapest(open, output, sizes), rest = open.filter((_, k) => k !== a && k !== b);
      open = [...rest, product(open[a]!, open[b]!, new Set([...output, ...rest.flatMap(({ labels }) => labels)]), sizes)];
    }
    const { tensor, labels } = summed(open[0]!, new Set(output));
    const order = output.map((label) => labels.indexOf(label)), isThere = order.every((from, to) => from === to);
    // A handle of its own, where nothing was to be done.
    return isThere ? (operands.includes(tensor) ? through(what, tensor, []) : (tensor as Tensor<D>)) : tensor.transpose(...order);
  });
}

/** The labels of every operand and of the result. */
function planOf(what: string, subscripts: string, operands: readonly AnyTensor[]): Plan {
  const refuse = (message: string): never => { throw new LeastwiseError("invalid-option", `${what}: ${message}`); };
  const [left = "", right, ...more] = subscripts.replaceAll(" ", "").split("->");
  if (more.length) refuse("there is more than one \"->\"");
  const read = (part: string, where: string): string[] => {
    const found: string[] = [];
    for (let at = 0; at < part.length; at++) {
      if (part.startsWith(ELLIPSIS, at)) {
        if (found.includes(ELLIPSIS)) refuse(`${where}, "${part}", has two ellipses`);
        found.push(ELLIPSIS);
        at += 2;
      } else if (LETTER.test(part[at]!)) {
        found.push(part[at]!);
      } else {
        refuse(`${where}, "${part}", has a "${part[at]}": subscripts are letters, "," between operands, "..." and "->"`);
      }
    }
    return found;
  };
  const parts = left.split(",").map((part, k) => read(part, `operand ${k}`));
  if (parts.length !== operands.length) refuse(`the subscripts are of ${parts.length} operand${parts.length === 1 ? "" : "s"}, not of ${operands.length}`);
  const inputs = parts.map((labels, k) => {
    const { rank, shape } = operands[k]!, named = labels.filter((label) => label !== ELLIPSIS).length, hasMore = labels.includes(ELLIPSIS);
    if (hasMore ? rank < named : rank !== named) throw new LeastwiseError("shape", `${what}: operand ${k} is ${shown(shape)}, of ${rank} axes, but "${labels.join("")}" names ${named}${hasMore ? " and more" : ""}`);
    return labels.flatMap((label) => (label === ELLIPSIS ? restOf(rank - named) : [label]));
  });
  const rest = restOf(Math.max(0, ...inputs.map((labels) => labels.filter((label) => !LETTER.test(label)).length)));
  const all = inputs.flat();
  if (right === undefined) return { inputs, output: [...rest, ...[...new Set(all)].filter((label) => LETTER.test(label) && all.indexOf(label) === all.lastIndexOf(label)).sort()] };
  const wanted = read(right, "the result");
  for (const [k, label] of wanted.entries()) {
    if (label === ELLIPSIS) continue;
    if (!all.includes(label)) refuse(`the result has the subscript "${label}", which no operand has`);
    if (wanted.indexOf(label) !== k) refuse(`the result has the subscript "${label}" twice`);
  }
  if (rest.length && !wanted.includes(ELLIPSIS)) refuse(`operands have an ellipsis, and the result, "${right}", has none: sum over axes by a letter each`);
  return { inputs, output: wanted.flatMap((label) => (label === ELLIPSIS ? rest : [label])) };
}

const restOf = (count: number): string[] => Array.from({ length: count }, (_, k) => String(count - 1 - k));
const nameOf = (label: string): string => (LETTER.test(label) ? `"${label}"` : `"..." (axis −${Number(label) + 1} of the ellipsis)`);

/** The size of each label. */
function sizesOf(what: string, inputs: readonly (readonly string[])[], operands: readonly AnyTensor[]): ReadonlyMap<string, number> {
  const sizes = new Map<string, { size: number; of: number }>();
  inputs.forEach((labels, of) => {
    const { shape } = operands[of]!;
    labels.forEach((label, axis) => {
      const size = shape[axis]!, twin = labels.indexOf(label), known = sizes.get(label);
      if (shape[twin] !== size) throw new LeastwiseError("shape", `${what}: subscript ${nameOf(label)} is of axes ${twin} and ${axis} of operand ${of}, which is ${shown(shape)}: a diagonal has axes of one size`);
      if (known === undefined || known.size === 1) sizes.set(label, { size, of });
      else if (size !== 1 && size !== known.size) throw new LeastwiseError("shape", `${what}: subscript ${nameOf(label)} has ${known.size} elements in operand ${known.of}, which is ${shown(operands[known.of]!.shape)}, and ${size} in operand ${of}, which is ${shown(shape)}`);
    });
  });
  return new Map([...sizes].map(([label, { size }]) => [label, size]));
}

/** An operand with every label once, and without axes of size 1 that broadcast. */
function simple<D extends DType>({ tensor, labels }: Labelled<D>, sizes: ReadonlyMap<string, number>): Labelled<D> {
  let [now, names] = [tensor, [...labels]];
  for (let twin = repeated(names); twin; twin = repeated(names)) {
    const [a, b] = twin, others = names.map((_, k) => k).filter((k) => k !== a && k !== b), shape = others.map((k) => now.shape[k]!), size = now.shape[a]!;
    // Element [k, k] is number k(n + 1) of both axes in one.
    const both = now.transpose(...others, a, b).reshape([...shape, size * size]);
    now = both.slice(...shape.map(() => ":" as const), { step: size + 1 }) as Kept<D>;
    names = [...others.map((k) => names[k]!), names[a]!];
  }
  const lone = names.flatMap((label, k) => (now.shape[k] === 1 && sizes.get(label) !== 1 ? [k] : []));
  return lone.length ? { tensor: now.squeeze(lone) as Kept<D>, labels: names.filter((_, k) => !lone.includes(k)) } : { tensor: now, labels: names };
}

function repeated(labels: readonly string[]): readonly [number, number] | undefined {
  const b = labels.findIndex((label, k) => labels.indexOf(label) < k);
  return b < 0 ? undefined : [labels.indexOf(labels[b]!), b];
}

/** The sum over labels that nobody needs. */
function summed<D extends DType>({ tensor, labels }: Labelled<D>, kept: ReadonlySet<string>): Labelled<D> {
  const axes = labels.flatMap((label, k) => (kept.has(label) ? [] : [k]));
  return axes.length ? { tensor: tensor.sum(axes) as Kept<D>, labels: labels.filter((label) => kept.has(label)) } : { tensor, labels };
}

/** The two whose product is smallest beside what they are; of equal ones the first. */
function cheapest(open: readonly Labelled<DType>[], output: readonly string[], sizes: ReadonlyMap<string, number>): readonly [number, number] {
  const count = (labels: Iterable<string>) => elementsOf([...labels].map((label) => sizes.get(label)!));
  let best: readonly [number, number] = [0, 1], least = Infinity;
  for (let a = 0; a < open.length && open.length > 2; a++) {
    for (let b = a + 1; b < open.length; b++) {
      const kept = new Set([...output, ...open.flatMap(({ labels }, k) => (k === a || k === b ? [] : labels))]);
      const both = new Set([...open[a]!.labels, ...open[b]!.labels]);
      const cost = count([...both].filter((label) => kept.has(label))) - count(open[a]!.labels) - count(open[b]!.labels);
      if (cost < least) [best, least] = [[a, b], cost];
    }
  }
  return best;
}

/** The product of two, summed over what only they have. */
function product<D extends DType>(first: Labelled<D>, second: Labelled<D>, kept: ReadonlySet<string>, sizes: ReadonlyMap<string, number>): Labelled<D> {
  const a = summed(first, new Set([...kept, ...second.labels])), b = summed(second, new Set([...kept, ...first.labels]));
  const shared = a.labels.filter((label) => b.labels.includes(label)), depth = shared.filter((label) => !kept.has(label)), batch = shared.filter((label) => kept.has(label));
  const rows = a.labels.filter((label) => !shared.includes(label)), columns = b.labels.filter((label) => !shared.includes(label));
  const labels = [...batch, ...rows, ...columns], shapeOf = (of: readonly string[]) => of.map((label) => sizes.get(label)!);
  const ordered = ({ tensor, labels: own }: Labelled<D>, order: readonly string[]) => (order.length ? tensor.transpose(...order.map((label) => own.indexOf(label))) : tensor);
  // Without rows and columns, a sum of products is what a product of matrices would be, in one pass.
  if (depth.length === 0 || rows.length + columns.length === 0) {
    const left = ordered(a, [...batch, ...rows, ...depth]).reshape([...shapeOf(batch), ...shapeOf(rows), ...columns.map(() => 1), ...shapeOf(depth)]);
    const right = ordered(b, [...batch, ...columns, ...depth]).reshape([...shapeOf(batch), ...rows.map(() => 1), ...shapeOf(columns), ...shapeOf(depth)]);
    const all = left.mul(right as Kept<D>);
    return { tensor: (depth.length ? all.sum(depth.map((_, k) => labels.length + k)) : all) as Kept<D>, labels };
  }
  const groups = [batch, rows, depth, columns].map((of) => elementsOf(shapeOf(of))) as [number, number, number, number], [batches, m, k, n] = groups;
  const left = ordered(a, [...batch, ...rows, ...depth]).reshape([batches, m, k]), right = ordered(b, [...batch, ...depth, ...columns]).reshape([batches, k, n]);
  return { tensor: left.matmul(right as Kept<D>).reshape(shapeOf(labels)) as Kept<D>, labels };
}
