// The live page, dragged with a real mouse: the ears follow, the base stays, and nothing is read back on the way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browse, livePage, openTab, photograph, serve } from "./support.mjs";

// Small, so that a software adapter draws a few frames a second.
const viewport = { width: 720, height: 440 };

/** Opens the page and waits until it runs. */
async function visit(t, browser, address) {
  const { tab, problems } = await openTab(browser, address, { viewport });
  await tab.waitForFunction(() => window.leastwiseDemo || document.querySelector("#status.error"));
  assert.equal(await tab.textContent("#status"), "", "the page complains");
  return { tab, problems };
}

const counters = (tab) => tab.evaluate(() => window.leastwiseDemo.engine.counters());
const vertices = (tab) => tab.evaluate(() => window.leastwiseDemo.vertices());
const frames = (tab, count) => tab.evaluate((count) => new Promise((resolve) => {
  const next = () => (count-- > 0 ? requestAnimationFrame(next) : resolve());
  next();
}), count);

/** How far the held vertices have moved on average, the base's and the ears' ones. */
async function heldMoves(tab) {
  const now = await vertices(tab);
  const { held, baseCount, rest } = await tab.evaluate(() => {
    const { held, baseCount, positions } = window.leastwiseDemo.model;
    return { held: [...held], baseCount, rest: [...positions] };
  });
  const move = (some) => [0, 1, 2].map((k) => some.reduce((sum, v) => sum + now[3 * v + k] - rest[3 * v + k], 0) / some.length);
  const farthest = (some) => Math.max(...some.map((v) => Math.hypot(...[0, 1, 2].map((k) => now[3 * v + k] - rest[3 * v + k]))));
  const [base, tips] = [held.slice(0, baseCount), held.slice(baseCount)];
  return { base: farthest(base), tips: move(tips), finite: now.every(Number.isFinite) };
}

/** Takes the ball with the mouse and pulls it; gives how far it got. */
async function drag(tab, dx, dy) {
  const from = await tab.evaluate(() => window.leastwiseDemo.ballOnScreen());
  const start = await tab.evaluate(() => window.leastwiseDemo.view.ball.position.toArray());
  await tab.mouse.move(from.x, from.y);
  await tab.mouse.down();
  await tab.mouse.move(from.x + dx, from.y + dy, { steps: 4 });
  await tab.mouse.up();
  const end = await tab.evaluate(() => window.leastwiseDemo.view.ball.position.toArray());
  return end.map((value, k) => value - start[k]);
}

/** Waits until the ears are where the ball has gone, give or take what rigidity costs. */
async function follow(tab, ball) {
  const distance = Math.hypot(...ball);
  for (let tries = 0; ; tries++) {
    await frames(tab, 3);
    const { base, tips, finite } = await heldMoves(tab);
    assert.ok(finite, "the vertices are not finite");
    assert.ok(base < 0.1 * distance, `the base moved by ${base}`);
    const off = Math.hypot(...tips.map((value, k) => value - ball[k]));
    if (off < 0.25 * distance) return;
    // On the CPU a frame has a budget of time: how many it takes is the machine's affair.
    assert.ok(tries < 200, `the ball moved by ${ball}, the ears by ${tips}: ${off} too little`);
  }
}

test("the page on WebGPU", async (t) => {
  const address = await serve(t, livePage());
  const browser = await browse(t);
  const { tab, problems } = await visit(t, browser, `${address}?backend=webgpu`);

  const sharing = await tab.evaluate(() => {
    const { engine, binding, deformation, drawnBuffer, view } = window.leastwiseDemo;
    return { backend: engine.backend, mode: binding.mode, three: view.renderer.backend.device === engine.device, same: drawnBuffer() === deformation.x.buffer.buffer };
  });
  assert.deepEqual(sharing, { backend: "webgpu", mode: "shared", three: true, same: true });
  assert.match(await tab.textContent("#facts"), /WebGPU, f32.+1,839.+from the solver's buffer/s);

  const before = await counters(tab);
  const ball = await drag(tab, 70, 30);
  assert.ok(Math.hypot(...ball) > 0.15, `the mouse did not take the ball: it moved by ${ball}`);
  await follow(tab, ball);
  const after = await counters(tab);
  assert.equal(after.readbacks, before.readbacks, "something was read back while dragging");
  assert.equal(after.bytesReadBack, before.bytesReadBack);
  assert.ok(after.submissions > before.submissions, "nothing was solved");
  await photograph(t, tab, "www-webgpu");

  // Reset brings it home; keys move the ball as well.
  await tab.click("#reset");
  await frames(tab, 3);
  await tab.focus("#view");
  for (let k = 0; k < 8; k++) await tab.keyboard.press("ArrowRight");
  const keyed = await tab.evaluate(() => window.leastwiseDemo.view.ball.position.x - window.leastwiseDemo.model.top[0]);
  assert.ok(keyed > 0.2, `the arrow keys moved the ball by ${keyed}`);

  // Without the binding, three draws its own array, which never moved.
  const own = await tab.evaluate(async () => {
    const { binding, deformation, drawnBuffer, vertices, model } = window.leastwiseDemo;
    binding.dispose();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const drawn = await vertices();
    return { ours: drawnBuffer() === deformation.x.buffer.buffer, atRest: drawn.every((value, k) => value === model.positions[k]) };
  });
  assert.deepEqual(own, { ours: false, atRest: true });
  assert.deepEqual(problems, []);
});

test("the page without WebGPU: three on WebGL, the solver on the CPU", async (t) => {
  const address = await serve(t, livePage());
  const { tab, problems } = await visit(t, await browse(t, { webgpu: false }), address);
  const how = await tab.evaluate(() => ({ backend: window.leastwiseDemo.engine.backend, mode: window.leastwiseDemo.binding.mode }));
  assert.deepEqual(how, { backend: "cpu", mode: "uploaded" });
  assert.match(await tab.textContent("#facts"), /CPU, f64.*WebGPU can't be had/s);
  const ball = await drag(tab, 70, 30);
  await follow(tab, ball);
  const uploaded = await tab.evaluate(() => window.leastwiseDemo.view.position.array.some((value, k) => Math.abs(value - window.leastwiseDemo.model.positions[k]) > 0.1));
  assert.ok(uploaded, "the attribute that three draws did not follow");
  await photograph(t, tab, "www-cpu");
  assert.deepEqual(problems, []);
});

test("what goes wrong is told in words", async (t) => {
  const address = await serve(t, livePage());
  const { tab } = await openTab(await browse(t, { webgpu: false }), `${address}?backend=webgpu`, { viewport });
  await tab.waitForSelector("#status.error");
  assert.match(await tab.textContent("#status"), /^Sorry, this went wrong: WebGPU was demanded but can't be had: .+ — reloading the page may help\.$/);
});
