// Tensors of ranks on the addon's CPU: training by halves of a batch, sums and means, and ranks that fail in a step.
import assert from "node:assert/strict";
import { test } from "node:test";
import { init } from "leastwise";
import { adamW, mlp, sgd, trainer } from "leastwise/nn";
import { arap, rejects } from "../node/support.mjs";
import { mesh, onCpu, PCG, ranks } from "./support.mjs";

/** Rows of a batch for a small network. */
function rowsOf(count) {
  const x = Float64Array.from({ length: 3 * count }, (_, k) => Math.sin(1 + k * 0.7)), y = Float64Array.from({ length: 2 * count }, (_, k) => Math.cos(k * 1.3) * 0.5);
  return { x, y, part: (from, to) => ({ x: x.subarray(3 * from, 3 * to), y: y.subarray(2 * from, 2 * to) }) };
}

/** A network on an engine, and a trainer of it over ranks. */
function training(lw, optimizer, loss = (model, { x, y }) => model.forward(lw.tensor(x, [x.length / 3, 3], { dtype: lw.dtype })).sub(lw.tensor(y, [y.length / 2, 2], { dtype: lw.dtype })).square().mean()) {
  const model = mlp(lw, [3, 8, 2], { seed: 4, activation: "tanh", dtype: lw.dtype });
  const values = async () => (await Promise.all(model.parameters().map((parameter) => parameter.read()))).flatMap((each) => [...each]);
  return { model, values, run: trainer(model, loss, optimizer, { ranks: true }) };
}

// Bounds are of sums that are added in another order, over 15 steps.
for (const [precision, named, optimizer, bound] of [
  ["f64", "sgd", () => sgd({ learningRate: 0.1, momentum: 0.9 }), 1e-12], ["f32", "sgd", () => sgd({ learningRate: 0.1, momentum: 0.9 }), 1e-4],
  ["f64", "sgd without momentum", () => sgd({ learningRate: 0.1 }), 1e-12], ["f64", "adamW", () => adamW({ learningRate: 0.01 }), 1e-9],
]) {
  test(`${precision}, ${named}: two ranks train on halves of a batch as one engine does on all of it, with the same bits`, onCpu, async (t) => {
    const alone = await init({ backend: "cuda", precision });
    t.after(() => alone.dispose());
    const engines = await ranks(t, 2, { precision }), rows = rowsOf(16);
    const all = [alone, ...engines].map((lw) => training(lw, optimizer())), batches = [rows.part(0, 16), rows.part(0, 8), rows.part(8, 16)];
    assert.equal(alone.dtype, precision);
    const losses = [];
    for (let step = 0; step < 15; step++) {
      const [whole, first, second] = await Promise.all(all.map(({ run }, k) => run.step(batches[k])));
      assert.equal(first, second);
      assert.ok(Math.abs(first - whole) <= bound * whole, `step ${step}: ${first} and ${whole}`);
      losses.push(first);
    }
    assert.ok(losses[14] < losses[0], `from ${losses[0]} to ${losses[14]}`);
    const [whole, first, second] = await Promise.all(all.map(({ values }) => values()));
    assert.deepEqual(first, second);
    assert.ok(first.every((value, k) => Math.abs(value - whole[k]) <= bound), "parameters are near those of one engine");
    // Each by itself goes elsewhere: the batches differ.
    const lonely = trainer(all[1].model, (model, { x }) => model.forward(engines[0].tensor(x, [8, 3], { dtype: engines[0].dtype })).square().mean(), optimizer());
    await lonely.step(batches[1]);
    assert.notDeepEqual(await all[1].values(), second);
    lonely.dispose();
    for (const { model, run } of all) {
      run.dispose();
      model.dispose();
    }
    for (const lw of [alone, ...engines]) assert.equal(lw.memory().tensors, 0, "tensors are left");
  });
}

test("a rank whose loss throws, or is not finite, is told to all, and models stay as they were", onCpu, async (t) => {
  const engines = await ranks(t, 2, { precision: "f64" }), rows = rowsOf(8), batches = [rows.part(0, 4), rows.part(4, 8)];
  const all = engines.map((lw) => training(lw, sgd({ learningRate: 0.1 }))), before = await all[0].values();
  const step = (odd, broken) => Promise.allSettled(all.map(({ run }, rank) => run.step(rank === odd ? broken : batches[rank])));
  const [first, second] = await step(1, { get x() { throw new Error("no data"); } });
  assert.deepEqual([first.reason?.code, first.reason?.message], ["invalid-option", "rank 1 could not set up its part: it has the reason"]);
  assert.equal(second.reason?.message, "no data");
  const wild = await step(0, { x: Float64Array.from({ length: 12 }, () => 1e300), y: new Float64Array(8).fill(1e300) });
  assert.deepEqual(wild.map(({ reason }) => reason?.code), ["non-finite", "non-finite"]);
  for (const { values } of all) assert.deepEqual(await values(), before);
  const fine = await step();
  assert.equal(fine[0].value, fine[1].value);
  // An optimizer that throws on one rank, before anything is exchanged.
  const usual = sgd({ learningRate: 0.1 }), odd = engines.map((lw, rank) => training(lw, rank ? { step() { throw new Error("no step"); } } : usual));
  const unstepped = await Promise.allSettled(odd.map(({ run }, rank) => run.step(batches[rank])));
  assert.deepEqual([unstepped[0].reason?.code, unstepped[0].reason?.message], ["invalid-option", "rank 1 could not set up its part: it has the reason"]);
  assert.equal(unstepped[1].reason?.message, "no step");
  for (const { model, run } of odd) {
    run.dispose();
    model.dispose();
  }
  assert.deepEqual(await all[0].values(), await all[1].values());
  // One that is gone.
  engines[1].dispose();
  await rejects(all[0].run.step(batches[0]), "device-lost", "rank 1 of 2 left: what only it had is lost; the others can go on alone");
});

test("a rank that did not take a step of all ranks is told to all in the next one, and new trainers go on", onCpu, async (t) => {
  for (const precision of ["f64", "f32"]) {
    const engines = await ranks(t, 3, { precision }), rows = rowsOf(12), batches = [0, 4, 8].map((from) => rows.part(from, from + 4));
    const optimizer = adamW({ learningRate: 0.01 }), all = engines.map((lw) => training(lw, optimizer));
    const step = (of = all) => Promise.allSettled(of.map(({ run }, rank) => run.step(batches[rank])));
    for (let k = 0; k < 3; k++) assert.ok((await step()).every(({ status }) => status === "fulfilled"), `step ${k}`);
    // After the exchange, where nobody waits for it.
    const { model } = all[1], update = model.update;
    model.update = () => { throw new Error("no memory"); };
    assert.deepEqual((await step()).map(({ status, reason }) => [status, reason?.message]), [["fulfilled", undefined], ["rejected", "no memory"], ["fulfilled", undefined]]);
    model.update = update;
    const before = await Promise.all(all.map(({ values }) => values()));
    assert.deepEqual(before[0], before[2]);
    assert.notDeepEqual(before[0], before[1]);
    for (let k = 0; k < 2; k++) {
      for (const { reason } of await step()) assert.deepEqual([reason?.code, reason?.message], ["invalid-option", "rank 1 has other numbers of steps than rank 0: all ranks must declare the same"]);
    }
    assert.deepEqual(await Promise.all(all.map(({ values }) => values())), before, "models stay as they were");
    for (const { run, model } of all) {
      run.dispose();
      model.dispose();
    }
    const anew = engines.map((lw) => training(lw, optimizer)), losses = (await step(anew)).map(({ value }) => value);
    assert.ok(Number.isFinite(losses[0]));
    assert.deepEqual(losses, Array(3).fill(losses[0]));
    for (const { run, model } of anew) {
      run.dispose();
      model.dispose();
    }
    for (const lw of engines) assert.equal(lw.memory().tensors, 0, "tensors are left");
  }
});

test("sums and means of tensors are those of all ranks, and other shapes are told to all", onCpu, async (t) => {
  const engines = await ranks(t, 3, { precision: "f32" });
  const tensors = engines.map((lw, rank) => [lw.tensor([[rank, 1], [2, 3]]).mul(2), lw.tensor(0.5 + rank)]);
  const sums = await Promise.all(engines.map((lw, rank) => lw.sumOverRanks(tensors[rank])));
  const means = await Promise.all(engines.map((lw, rank) => lw.meanOverRanks(tensors[rank])));
  for (const [matrix, number] of sums) {
    assert.deepEqual([matrix.shape, [...await matrix.read()], number.shape, await number.item()], [[2, 2], [6, 6, 12, 18], [], 4.5]);
  }
  for (const [matrix, number] of means) assert.deepEqual([[...await matrix.read()], await number.item()], [[2, 2, 4, 6], 1.5]);
  const other = await Promise.allSettled(engines.map((lw, rank) => lw.sumOverRanks(tensors[rank].slice(0, rank === 2 ? 1 : 2))));
  for (const { reason } of other) assert.deepEqual([reason?.code, reason?.message], ["invalid-option", "rank 2 has other shapes of tensors than rank 0: all ranks must declare the same"]);
  await rejects(engines[0].sumOverRanks([engines[0].tensor(new Int32Array(2))]), "dtype", /a tensor is of int32/);
  await rejects(engines[0].sumOverRanks([]), "invalid-option", /one at least/);
  await rejects(engines[0].sumOverRanks(tensors[1]), "foreign-tensor", /another engine/);
  // Calls and solves that are not awaited take turns. Engines of one process begin each together: a call waits for what its engine is in the midst of.
  const problems = engines.map((lw) => arap(lw, mesh)), begun = [];
  for (const begin of [(lw, rank) => lw.sumOverRanks(tensors[rank]), (_, rank) => problems[rank].problem.solve({ ...PCG, maxIterations: 4 }), (lw, rank) => lw.meanOverRanks(tensors[rank])]) {
    begun.push(Promise.all(engines.map(begin)));
  }
  const [again, reports, ends] = await Promise.all(begun);
  for (const [rank, { cost }] of reports.entries()) {
    assert.equal(cost, reports[0].cost);
    assert.deepEqual([await again[rank][1].item(), await ends[rank][1].item()], [4.5, 1.5]);
  }
});

test("of several devices tensors are the first one's, as on an engine without ranks", onCpu, async (t) => {
  for (const options of [{}, { devices: [0, 1] }]) {
    const lw = await init({ backend: "cuda", precision: "f64", ...options });
    t.after(() => lw.dispose());
    const given = lw.tensor([1, 2, 3]), [sum] = await lw.sumOverRanks([given]), [mean] = await lw.meanOverRanks([given]);
    given.dispose();
    assert.deepEqual([[...await sum.read()], [...await mean.read()]], [[1, 2, 3], [1, 2, 3]]);
  }
});
