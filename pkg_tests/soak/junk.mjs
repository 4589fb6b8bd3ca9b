// What nobody should give, by name: a plan is JSON, and an action names its arguments.

/** An array whose buffer has gone elsewhere, as `postMessage(a, [a.buffer])` leaves it. */
function detached(Type) {
  const array = new Type(4);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

/** A view of a buffer that has become too short for it. */
function cutOff() {
  const buffer = new ArrayBuffer(64, { maxByteLength: 64 }), view = new Float64Array(buffer, 16, 4);
  buffer.resize?.(8);
  return view;
}

function withLength(length) {
  const array = new Float64Array(4);
  Object.defineProperty(array, "length", { value: length });
  return array;
}

/** An error of the user's own, which comes through as it is. */
export const OWN = new Error("the user's own error");
const thrower = () => { throw OWN; };

const JUNK = {
  undefined: () => undefined, null: () => null, NaN: () => NaN, infinity: () => Infinity, "-1": () => -1, 1.5: () => 1.5, 0: () => 0, 1: () => 1, 2: () => 2, "2^31": () => 2 ** 31, "2^32": () => 2 ** 32,
  "empty text": () => "", text: () => "x", __proto__name: () => "__proto__", "constructor name": () => "constructor", "long text": () => "n".repeat(5000), "lone surrogate": () => "\ud800",
  "empty object": () => ({}), "empty list": () => [], "list of NaN": () => [NaN], "list of texts": () => ["a", "b"], "sparse list": () => new Array(4), "nested list": () => [[1, 2], [3, 4]], function: () => () => 1, symbol: () => Symbol("s"), bigint: () => 10n,
  "no floats": () => new Float32Array(0), floats: () => new Float64Array([1, 2]), "f32 floats": () => new Float32Array([1, 2, 3, 4]), "an infinity": () => new Float64Array([Infinity, 0]), bytes: () => new Uint8Array(3), bigints: () => new BigInt64Array(2), "data view": () => new DataView(new ArrayBuffer(8)),
  date: () => new Date(0), map: () => new Map(), true: () => true, "a length": () => ({ length: 3 }), "a length without end": () => ({ length: Infinity }), "a negative length": () => ({ length: -1 }), "no prototype": () => Object.create(null), promise: () => Promise.resolve(1), "frozen list": () => Object.freeze([1, 2]),
  "detached floats": () => detached(Float64Array), "detached f32 floats": () => detached(Float32Array), "detached bytes": () => detached(Uint8Array), "detached indices": () => detached(Uint32Array), "cut-off floats": cutOff,
  "too long a length": () => withLength(1e6), "too short a length": () => withLength(1),
  "throwing proxy": () => new Proxy({}, { get: thrower, ownKeys: thrower, has: thrower, getOwnPropertyDescriptor: thrower }), "revoked proxy": () => { const { proxy, revoke } = Proxy.revocable([1, 2], {}); revoke(); return proxy; },
  "throwing getter": () => ({ get length() { return thrower(); }, get 0() { return thrower(); } }), "throwing number": () => ({ valueOf: thrower, toString: thrower, [Symbol.toPrimitive]: thrower }), "throwing list": () => Object.defineProperty([1, 2], 1, { get: thrower }),
};

export const JUNK_NAMES = Object.keys(JUNK);
export const junk = (name) => JUNK[name]();
