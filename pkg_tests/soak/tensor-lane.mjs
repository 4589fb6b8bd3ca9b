// A lane of tensors: a program whose values are compared with plain JavaScript's, and later with those of an engine of its own.
import { attention, concat, grad, map, qr, select, sin, stack, svd, where } from "leastwise";
import { turns } from "./calls.mjs";
import { instances, someOf } from "./values.mjs";
import { sameBits } from "./verify.mjs";

const CODES = ["shape", "invalid-option", "dtype", "limits", "data-length", "index-out-of-range"];
const size = (shape) => shape.reduce((product, n) => product * n, 1);

/** Operations of one tensor, on values between −1 and 1 or so; `plain` is the same in JavaScript, for those that have no kink or jump. */
export const UNARY = {
  sin: { plain: Math.sin }, cos: { plain: Math.cos }, tanh: { plain: Math.tanh }, relu: { plain: (x) => Math.max(x, 0) }, sigmoid: { plain: (x) => 1 / (1 + Math.exp(-x)) },
  square: { plain: (x) => x * x }, neg: { plain: (x) => -x }, abs: { plain: Math.abs }, exp: { plain: Math.exp }, erf: {}, gelu: {}, silu: {}, softplus: {}, cbrt: {}, sign: {}, floor: {}, round: {},
};
export const BINARY = {
  add: { plain: (x, y) => x + y }, sub: { plain: (x, y) => x - y }, mul: { plain: (x, y) => x * y }, maximum: { plain: Math.max }, minimum: { plain: Math.min }, less: {}, equal: {}, greaterEqual: {},
};

/** What comes of places by a tensor's values. What leads to them is freed, whether the call is refused or not. */
function numbered(values, of) {
  const scaled = values.mul(3), places = scaled.round();
  try {
    return of(places);
  } finally {
    for (const tensor of [scaled, places]) tensor.dispose();
  }
}

/** Everything else: what it gives of tensors, and of plain values where that is easy to say. */
const OTHERS = {
  matmul: ([a, b]) => a.matmul(b),
  transpose: ([a]) => a.T,
  reshape: ([a], { shape }) => a.reshape(shape),
  sum: ([a], { axis, keepDims }) => a.sum(axis, { keepDims }),
  mean: ([a], { axis, keepDims }) => a.mean(axis, { keepDims }),
  max: ([a], { axis, keepDims }) => a.max(axis, { keepDims }),
  softmax: ([a], { axis }) => a.softmax(axis),
  layerNorm: ([a]) => a.layerNorm(),
  slice: ([a], { ranges }) => a.slice(...ranges),
  pad: ([a], { widths }) => a.pad(widths),
  flip: ([a], { axis }) => a.flip(axis),
  gather: ([a], { seed }) => a.gather(someOf(seed, a.shape[0], 4)),
  cumsum: ([a], { axis }) => a.cumsum(axis),
  sort: ([a], { axis, seed }) => a.sort(axis, { descending: seed % 2 === 0 }),
  argsort: ([a], { axis }) => { const places = a.argsort(axis), reals = places.cast(a.dtype === "f64" ? "f64" : "f32"); places.dispose(); return reals; },
  takeAlongAxis: ([a, b], { axis }) => numbered(b, (places) => a.takeAlongAxis(places, axis)),
  scatterAdd: ([a, b], { axis }) => numbered(b, (places) => a.scatterAdd(places, b, axis)),
  qr: ([a]) => { const { q, r } = qr(a); q.dispose(); return r; },
  svd: ([a]) => { const { u, s, vh } = svd(a); u.dispose(); vh.dispose(); return s; },
  concat: (of) => concat(of),
  stack: (of) => stack(of),
  where: ([a, b]) => where(a, b, 0.5),
  map: ([a, b]) => map((x, y) => select(x.gt(y), sin(x), y.mul(0.5)), a, b),
  attention: ([a]) => attention(a, a, a),
  detach: ([a]) => a.detach(),
};

export async function tensorLane(session, lane) {
  const { lw } = lane.engine;
  const reads = [];
  await play(lw, lane.actions, { pause: true, act: (label, work, more) => session.act(lane, label, work, more), read: (label, values, expected) => {
    session.count("tensors read");
    reads.push({ label, values });
    const wrong = expected && far(values, expected);
    if (wrong) session.fail("wrong", label, wrong);
  } });
  if (lane.engine.over || lane.verify === false) return;
  session.repeats.push({ label: "a lane of tensors", engine: lane.engine.options, again: async (fresh) => {
    const again = [];
    await play(fresh, lane.actions, { pause: false, act: async (_, work, { codes = [] } = {}) => {
      try {
        return await work();
      } catch (thrown) {
        if (!codes.includes(thrown?.code)) throw thrown;
        return undefined;
      }
    }, read: (label, values) => again.push({ label, values }) });
    return sameBits(reads, again);
  } });
}

/** Where values are not those expected, to f32's precision after some operations. */
function far(values, expected) {
  if (values.length !== expected.length) return `${values.length} values, not ${expected.length}`;
  const scale = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
  const k = values.findIndex((value, at) => !(Math.abs(value - expected[at]) <= 1e-3 * scale));
  return k < 0 ? undefined : `[${k}] is ${values[k]}, not ${expected[k]}`;
}

/** Runs a program. Tensors are numbered; what was made of one that is not there is left out. */
async function play(lw, actions, { act, read, pause }) {
  const tensors = new Map(), plain = new Map();
  const keep = (id, tensor, values) => {
    if (!tensor) return;
    tensors.get(id)?.dispose();
    tensors.set(id, tensor);
    if (values && values.length === tensor.size && values.every((value) => Math.abs(value) < 1e3)) plain.set(id, values);
    else plain.delete(id);
  };
  for (const action of actions) {
    const of = (action.of ?? []).map((id) => tensors.get(id));
    if (of.includes(undefined)) continue;
    const label = `tensor ${action.op ?? action.do}`, inputs = (action.of ?? []).map((id) => plain.get(id));
    switch (action.do) {
      case "make": {
        const values = instances(action.seed, 1, size(action.shape), 0.7);
        keep(action.id, await act(label, () => lw.tensor(action.nested && action.shape.length === 1 ? Array.from(values) : values, action.shape, { dtype: action.dtype }), { codes: CODES }), Array.from(values));
        break;
      }
      case "fill": keep(action.id, await act(label, () => lw[action.how](...action.args), { codes: CODES })); break;
      case "op": {
        const { op } = action, work = UNARY[op] ? () => of[0][op]() : BINARY[op] ? () => of[0][op](of[1]) : () => OTHERS[op](of, action);
        const { plain: same } = UNARY[op] ?? BINARY[op] ?? {};
        const isAlike = inputs.every((values) => values && values.length === inputs[0].length) && (!BINARY[op] || String(of[0].shape) === String(of[1].shape));
        keep(action.id, await act(label, work, { codes: CODES }), same && isAlike ? inputs[0].map((value, k) => same(value, inputs[1]?.[k])) : op === "reshape" || op === "detach" ? inputs[0] : undefined);
        break;
      }
      case "grad": {
        const loss = await act(label, () => of.at(-1).sum(), { codes: CODES });
        const made = loss && (await act(label, () => grad(loss, of.slice(0, -1)), { codes: CODES }));
        made?.forEach((tensor, k) => keep(action.ids[k], tensor));
        loss?.dispose();
        break;
      }
      case "scope": {
        const made = await act(label, () => lw.scope(() => of[0].mul(2).sin().add(of[0].square())), { codes: CODES });
        keep(action.id, made, inputs[0]?.map((value) => Math.sin(2 * value) + value * value));
        break;
      }
      case "evaluate": await act(label, () => lw.evaluate(...of)); break;
      case "read": {
        const expected = inputs[0];
        const values = await act(`${label} of [${of[0].shape}]`, () => of[0].read());
        if (values) read(`read tensor ${action.of[0]}`, values, expected);
        break;
      }
      // Several reads in one turn are computed together.
      case "reads": {
        const all = await Promise.all(of.map((tensor) => act(label, () => tensor.read())));
        all.forEach((values, k) => { if (values) read(`read tensor ${action.of[k]} with others`, values, inputs[k]); });
        break;
      }
      case "dispose": {
        const pending = action.during ? act("tensor read while it is disposed", () => of[0].read(), { gone: () => true }) : undefined;
        of[0].dispose();
        tensors.delete(action.of[0]);
        await pending;
        break;
      }
      case "pause": if (pause) await turns(action.turns); break;
      default: throw new Error(`no action "${action.do}" of tensors`);
    }
  }
  for (const tensor of tensors.values()) tensor.dispose();
}
