// What a core multiplies and adds in WebAssembly's simd128, at most: a loop of as many products as sums, each of which waits for the one before it and for nothing else.
// Seven of both on their way are enough for two units of each with a latency of three cycles, and fit sixteen registers.

const ACCUMULATORS = 14, UNROLLED = 4;

const unsigned = (value) => {
  const bytes = [];
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0));
    value >>>= 7;
  } while (value > 0);
  return bytes;
};
const section = (id, bytes) => [id, ...unsigned(bytes.length), ...bytes];
const simd = (operation) => [0xfd, ...unsigned(operation)];
const LOCAL_GET = 0x20, LOCAL_SET = 0x21, LOCAL_TEE = 0x22, I32 = 0x7f, F32 = 0x7d, V128 = 0x7b;
const SPLAT = simd(0x13), LANE_0 = [...simd(0x1f), 0], ADD = simd(0xe4), MUL = simd(0xe6);

/** (rounds: i32, x: f32) → f32: aₖ ← aₖ·x for the first half of the accumulators, aₖ ← aₖ + x for the second. */
function assembled() {
  const [x, first] = [2, 3];
  const step = (k) => [LOCAL_GET, first + k, LOCAL_GET, x, ...(2 * k < ACCUMULATORS ? MUL : ADD), LOCAL_SET, first + k];
  const steps = Array.from({ length: UNROLLED * ACCUMULATORS }, (_, k) => step(k % ACCUMULATORS)).flat();
  const code = [
    LOCAL_GET, 1, ...SPLAT, LOCAL_SET, x,
    ...Array.from({ length: ACCUMULATORS }, (_, k) => [LOCAL_GET, 1, ...SPLAT, LOCAL_SET, first + k]).flat(),
    0x03, 0x40, ...steps, LOCAL_GET, 0, 0x41, 1, 0x6b, LOCAL_TEE, 0, 0x0d, 0, 0x0b,
    LOCAL_GET, first, ...Array.from({ length: ACCUMULATORS - 1 }, (_, k) => [LOCAL_GET, first + k + 1, ...ADD]).flat(), ...LANE_0, 0x0b,
  ];
  const body = [1, ...unsigned(1 + ACCUMULATORS), V128, ...code];
  return new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 2, I32, F32, 1, F32]),
    ...section(3, [1, 0]),
    ...section(7, [1, 1, 0x70, 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

/** Thousands of millions of f32 operations a second, the best of several. */
export async function simd128Peak() {
  const { instance } = await WebAssembly.instantiate(assembled());
  const rounds = 1_000_000;
  instance.exports.p(rounds, 1 - 2 ** -24);
  let best = Infinity;
  for (let i = 0; i < 9; i++) {
    const started = performance.now();
    instance.exports.p(rounds, 1 - 2 ** -24);
    best = Math.min(best, performance.now() - started);
  }
  return (rounds * UNROLLED * ACCUMULATORS * 4) / best / 1e6;
}
