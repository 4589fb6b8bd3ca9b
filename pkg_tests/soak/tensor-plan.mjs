// Programs of tensors: the generator knows all shapes, and now and then asks for what does not go together.
import { BINARY, UNARY } from "./tensor-lane.mjs";

const SHAPES = [[1], [3], [7], [4, 3], [3, 5], [2, 3, 4], [64], [20, 17], [1, 5]];

/** Actions of a lane of tensors; tensors are numbered. */
export function tensorActions(draw, count) {
  const shapes = new Map(), actions = [];
  let made = 0;
  const fresh = () => made++;
  const make = (shape) => {
    const id = fresh();
    actions.push({ do: "make", id, shape, seed: draw.seed, nested: draw.chance(0.2) });
    shapes.set(id, shape);
    return id;
  };
  const op = (name, of, shape, more = {}) => {
    const id = fresh();
    actions.push({ do: "op", id, op: name, of, ...more });
    if (shape) shapes.set(id, shape);
    else actions.push({ do: "read", of: [id] });
  };
  const any = () => draw.pick([...shapes.keys()]);
  const alike = (id) => draw.pick([...shapes.keys()].filter((other) => String(shapes.get(other)) === String(shapes.get(id))));
  const flatSize = (shape) => shape.reduce((product, n) => product * n, 1);
  const without = (shape, axis, keep) => (keep ? shape.map((n, k) => (k === axis ? 1 : n)) : shape.filter((_, k) => k !== axis));
  make(draw.pick(SHAPES));
  const steps = [
    () => make(draw.pick(SHAPES)),
    () => make(shapes.get(any())),
    () => { const id = fresh(), shape = draw.pick(SHAPES); actions.push({ do: "fill", id, ...draw.pick([{ how: "full", args: [shape, 0.5] }, { how: "ones", args: [shape] }, { how: "random", args: [shape, { seed: draw.seed, distribution: "normal" }] }]) }); shapes.set(id, shape); },
    ...Array(4).fill(() => { const a = any(); op(draw.pick(Object.keys(UNARY)), [a], shapes.get(a)); }),
    ...Array(4).fill(() => { const a = any(); op(draw.pick(Object.keys(BINARY)), [a, alike(a)], shapes.get(a)); }),
    // Of any two: broadcast, or refused.
    () => op(draw.pick(Object.keys(BINARY)), [any(), any()], undefined),
    () => { const a = any(), [m, k] = shapes.get(a); if (shapes.get(a).length === 2) op("matmul", [a, make([k, 1 + draw.below(6)])], [m, shapes.get(any())?.[0] ?? 1]); },
    () => { const a = any(), shape = shapes.get(a); if (shape.length === 2) op("transpose", [a], [shape[1], shape[0]]); },
    () => { const a = any(), n = flatSize(shapes.get(a)); op("reshape", [a], [n], { shape: [n] }); },
    () => { const a = any(), shape = shapes.get(a), axis = draw.below(shape.length), keepDims = draw.chance(0.3); op(draw.pick(["sum", "mean", "max"]), [a], without(shape, axis, keepDims), { axis, keepDims }); },
    () => { const a = any(); op("softmax", [a], shapes.get(a), { axis: draw.below(shapes.get(a).length) }); },
    () => { const a = any(); op(draw.pick(["layerNorm", "detach"]), [a], shapes.get(a)); },
    () => { const a = any(), shape = shapes.get(a); op("slice", [a], undefined, { ranges: shape.map((n) => [0, 1 + draw.below(n)]) }); },
    () => { const a = any(); op("pad", [a], undefined, { widths: shapes.get(a).map(() => [draw.below(2), draw.below(3)]) }); },
    () => { const a = any(); op("flip", [a], shapes.get(a), { axis: draw.below(shapes.get(a).length) }); },
    () => op("gather", [any()], undefined, { seed: draw.seed }),
    () => { const a = any(); op(draw.pick(["cumsum", "sort", "argsort"]), [a], shapes.get(a), { axis: draw.below(shapes.get(a).length), seed: draw.seed }); },
    () => { const a = any(); op(draw.pick(["takeAlongAxis", "scatterAdd"]), [a, alike(a)], shapes.get(a), { axis: draw.below(shapes.get(a).length) }); },
    // Of matrices, or refused.
    () => op(draw.pick(["qr", "svd"]), [any()], undefined),
    () => { const a = any(); op(draw.pick(["concat", "stack"]), [a, alike(a)], undefined); },
    () => { const a = any(); op(draw.pick(["where", "map"]), [a, alike(a)], shapes.get(a)); },
    () => op("attention", [any()], undefined),
    () => { const a = any(), b = any(), c = any(), ids = [fresh(), fresh()]; actions.push({ do: "grad", of: [a, b, c], ids }); ids.forEach((id, k) => shapes.set(id, shapes.get([a, b][k]))); },
    () => { const a = any(), id = fresh(); actions.push({ do: "scope", id, of: [a] }); shapes.set(id, shapes.get(a)); },
    () => actions.push({ do: "evaluate", of: [any(), any()] }),
    ...Array(4).fill(() => actions.push({ do: "read", of: [any()] })),
    () => actions.push({ do: "reads", of: [any(), any(), any()] }),
    () => { const a = any(); if (shapes.size > 1) { actions.push({ do: "dispose", of: [a], during: draw.chance(0.3) }); shapes.delete(a); } },
    () => actions.push({ do: "pause", turns: draw.below(4) }),
  ];
  while (actions.length < count) draw.pick(steps)();
  for (const id of [...shapes.keys()].slice(-3)) actions.push({ do: "read", of: [id] });
  return actions;
}
