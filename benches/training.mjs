// `npx leastwise-cuda run --ranks 2 benches/run.mjs training [--batch=8192] [--steps=100]`, in a project with leastwise-cuda such as the kit: steps of the convolutional network of
// examples/digits with a batch that ranks divide, in f32 on CUDA. Each step is the forward and the backward pass, means over ranks and a step of adamW, and ends with the loss
// on the host; images are uploaded in it. A process measures one GPU by itself, with the whole batch and with its part, and then its rank of the world: with messages between
// the kernels of the backward pass, and with gradients that are evaluated, exchanged and used in three tasks.
import { grad, init } from "leastwise";
import { world } from "leastwise-cuda";
import { adamW, trainer } from "leastwise/nn";
import { PIXELS, sequence } from "../examples/digits/data.mjs";
import { convolutional, loss } from "../examples/digits/networks.mjs";

const WARM = 20, BATCHES = 4;

function options(args) {
  const given = { batch: 8192, steps: 100 };
  for (const arg of args) {
    const [name, value] = arg.replace(/^--/, "").split("=", 2);
    if (!(name in given) || !Number.isSafeInteger(Number(value)) || Number(value) < 1) throw new Error(`bench -- training has no "${arg}", only --batch= and --steps=, which are whole numbers`);
    given[name] = Number(value);
  }
  return given;
}

/** Images and labels of noise: what a step takes does not depend on them. */
function batches(count, seed) {
  const random = sequence(seed);
  return Array.from({ length: BATCHES }, () => ({
    images: Float32Array.from({ length: count * PIXELS }, random), labels: Uint32Array.from({ length: count }, () => Math.floor(10 * random())), count,
  }));
}

/** The trainer's step. */
function inOneTask(lw, model, ranks) {
  const run = trainer(model, loss(lw), adamW({ learningRate: 1e-3 }), { ranks });
  return { step: (batch) => run.step(batch), dispose: () => run.dispose() };
}

/** The same by hand: gradients are computed before they are exchanged, and exchanged before they are used. */
function inThreeTasks(lw, model) {
  const optimizer = adamW({ learningRate: 1e-3 }), own = loss(lw);
  let state;
  const dispose = () => state?.moments.flat().forEach((moment) => moment.dispose());
  const step = async (batch) => {
    const made = lw.scope(() => {
      const value = own(model, batch);
      return [value, ...grad(value, model.parameters())];
    });
    await lw.evaluate(...made);
    const [value, ...gradients] = await lw.meanOverRanks(made);
    made.forEach((tensor) => tensor.dispose());
    const stepped = optimizer.step(model.parameters(), gradients, state);
    const [found] = await Promise.all([value.item(), lw.evaluate(...stepped.parameters, ...stepped.state.moments.flat())]);
    model.update(stepped.parameters);
    dispose();
    state = stepped.state;
    [value, ...gradients].forEach((tensor) => tensor.dispose());
    return found;
  };
  return { step, dispose };
}

/** Milliseconds of a step: the median, the mean and the least of many. */
async function measured(lw, given, make) {
  const model = convolutional.make(lw, 1), run = make(lw, model), times = [];
  let last;
  for (let step = 0; step < WARM + given.steps; step++) {
    const began = performance.now();
    last = await run.step(given.batches[step % BATCHES]);
    if (step >= WARM) times.push(performance.now() - began);
  }
  run.dispose();
  model.dispose();
  if (!Number.isFinite(last)) throw new Error(`the loss of the last step is ${last}`);
  times.sort((a, b) => a - b);
  return { median: times[times.length >> 1], mean: times.reduce((sum, ms) => sum + ms) / times.length, least: times[0], last };
}

export async function training(args) {
  const { batch, steps } = options(args), of = world(), { rank, size } = of ?? { rank: 0, size: 1 };
  if (batch % size) throw new Error(`a batch of ${batch} can't be divided among ${size} ranks`);
  const say = (text) => { if (rank === 0) console.log(text); };
  const shown = ({ median, mean, least, last }) => `${median.toFixed(3)} ms a step (mean ${mean.toFixed(3)}, least ${least.toFixed(3)}), loss at last ${last.toFixed(5)}`;
  const one = await init({ backend: "cuda", precision: "f32" });
  say(`${one.adapter}, f32; ${steps} steps after ${WARM}; medians`);
  const found = [];
  for (const count of [...new Set([batch, batch / size])]) {
    const result = await measured(one, { steps, batches: batches(count, 1 + rank) }, (lw, model) => inOneTask(lw, model, false));
    say(`one GPU, a batch of ${count}: ${shown(result)}`);
    found.push(result.median);
  }
  one.dispose();
  if (!of) return say("One GPU alone: npx leastwise-cuda run --ranks 2 benches/run.mjs training measures two beside it.");
  const lw = await init({ backend: "cuda", precision: "f32", world: of });
  const given = { steps, batches: batches(batch / size, 1 + rank) };
  for (const [name, make] of [["in one task", (lw, model) => inOneTask(lw, model, true)], ["in three tasks", inThreeTasks]]) {
    const result = await measured(lw, given, make);
    say(`${size} GPUs, ${batch / size} each, ${name}: ${shown(result)}; ${(found[0] / result.median).toFixed(2)} x one GPU with ${batch}`);
  }
  lw.dispose();
}
