// The page that trains on digits: what it learns, that its curve is drawn and repeats, that it stops, and what is drawn by hand is named.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { FULL } from "../node/support.mjs";
import { browse, openTab, photograph, serveLive } from "./support.mjs";

const endings = [];
const suite = { after: (work) => endings.unshift(work) };
let address, browser;

before(async () => {
  address = `${(await serveLive(suite)).address}digits.html`;
  browser = await browse(suite);
});

after(async () => { for (const end of endings) await end(); });

/** Opens the page and waits until it can train. */
async function visit(t, query, { browser: other = browser, ...options } = {}) {
  const { tab, problems } = await openTab(other, `${address}?${query}`, options);
  t.after(async () => {
    await tab.close();
    assert.deepEqual(problems, []);
  });
  await tab.waitForFunction(() => window.leastwiseDigits || document.querySelector("#status.error"));
  assert.equal(await tab.textContent("#status"), "", "the page complains");
  return tab;
}

const state = (tab) => tab.evaluate(() => {
  const { curve, smoothed, tests, total, done, running, work } = window.leastwiseDigits.session(), submitted = work && { submissions: work.submissions, readbacks: work.readbacks };
  return { curve: [...curve], smoothed: [...smoothed], tests: tests.map(({ epoch, step, accuracy }) => ({ epoch, step, accuracy })), total, done, running, submitted };
});

/** Trains until so many steps are made, and stops: at once, since an epoch may take less than a second, and what it ends with is no step. */
async function trainFor(tab, steps) {
  await tab.click("#train");
  await tab.evaluate(async (steps) => {
    const until = async (holds) => {
      while (!holds(window.leastwiseDigits.session())) {
        if (document.querySelector("#status.error")) throw new Error(document.querySelector("#status").textContent);
        await new Promise(requestAnimationFrame);
      }
    };
    await until(({ curve }) => curve.length >= steps);
    document.querySelector("#stop").click();
    await until(({ running }) => !running);
  }, steps);
}

/** How many pixels of the curve's canvas are as blue as it is, in each of ten columns. */
const drawn = (tab) => tab.evaluate(() => {
  const canvas = document.querySelector("#curve"), { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const columns = Array(10).fill(0);
  for (let k = 0; k < width * height; k++) if (data[4 * k + 2] > 180 && data[4 * k] < 140 && data[4 * k + 3] > 180) columns[Math.floor(((k % width) / width) * 10)]++;
  return columns;
});

const mean = (list) => list.reduce((sum, each) => sum + each, 0) / list.length;

// A quick run has the convolutional network on the CPU in Node (training.test.mjs), and two epochs of the perceptron in both sizes of the window here.
const DESKTOP = { viewport: { width: 1280, height: 900 } }, PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };
const NETWORKS = FULL ? [["perceptron", 0.95, 6, DESKTOP], ["convolutional", 0.97, 3, PHONE]] : [["perceptron", 0.9, 2, PHONE]];
for (const [network, least, epochs, window] of NETWORKS) {
  test(`on the CPU, the ${network} network names ${100 * least} % of the tests right`, async (t) => {
    const tab = await visit(t, `network=${network}&backend=cpu&seed=1`, window);
    const started = performance.now();
    await tab.click("#train");
    // The page answers meanwhile.
    await tab.waitForFunction(() => window.leastwiseDigits.session().curve.length > 20);
    const turn = await tab.evaluate(() => new Promise((resolve) => { const started = performance.now(); setTimeout(() => resolve(performance.now() - started), 0); }));
    t.diagnostic(`a timer came after ${turn.toFixed(0)} ms`);
    assert.equal(await tab.isEnabled("#stop"), true);
    // The engine is the worker's: the page itself has loaded none.
    assert.equal(tab.workers().length, 1);
    assert.deepEqual(await tab.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.endsWith(".wasm"))), []);
    assert.ok((await state(tab)).running, "it went on meanwhile");
    await tab.waitForFunction((epochs) => window.leastwiseDigits.session().tests.length >= epochs, epochs);
    if (!FULL) await tab.click("#stop");
    await tab.waitForFunction(() => !window.leastwiseDigits.session().running);
    const { curve, smoothed, tests, total, done, submitted } = await state(tab);
    assert.equal(done, FULL);
    assert.ok(FULL ? curve.length === total : curve.length >= total / 3, `${curve.length} of ${total} steps`);
    assert.ok(smoothed.at(-1) < (FULL ? 0.2 : 0.25) * mean(curve.slice(0, 10)), `loss from ${mean(curve.slice(0, 10))} to ${smoothed.at(-1)}`);
    // A training that is stopped may have begun another.
    assert.ok(FULL ? tests.length === epochs : tests.length >= epochs, `${tests.length} epochs`);
    assert.deepEqual(tests.map(({ epoch }) => epoch), tests.map((_, k) => k + 1));
    t.diagnostic(`${((performance.now() - started) / 1000).toFixed(1)} s: ${tests.map(({ accuracy }) => `${(100 * accuracy).toFixed(1)} %`).join(", ")}; loss ${smoothed.at(-1).toFixed(3)}`);
    assert.ok(tests.at(-1).accuracy >= least, `${tests.at(-1).accuracy}`);
    assert.deepEqual(submitted, { submissions: 1, readbacks: 1 });

    // What it shows: facts, a curve from end to end, and digits with their names, wrong ones marked.
    const percent = `${(100 * tests.at(-1).accuracy).toFixed(1)} %`;
    assert.match(await tab.textContent("#facts"), new RegExp(`CPU.+ ms.+1 submission, 1 readback.+kernels.+on the CPU.+MB.+${percent.replace(".", "\\.")}`, "s"));
    const columns = await drawn(tab);
    assert.ok(columns.slice(1, FULL ? 9 : 3).every((pixels) => pixels > 20), `${columns}`);
    const wrong = await tab.evaluate(() => [...document.querySelectorAll("#wrong figure")].map((figure) => [figure.className, figure.textContent]));
    const count = Math.round((1 - tests.at(-1).accuracy) * 1500);
    assert.equal(wrong.length, Math.min(count, 20));
    assert.ok(wrong.every(([kind, text]) => kind === "wrong" && /^\dnot \d$/.test(text)), JSON.stringify(wrong));
    const seen = await tab.evaluate(() => [...document.querySelectorAll("#seen figure:not(.wrong)")].map((figure) => figure.textContent));
    assert.ok(seen.length >= 16 && seen.every((text) => /^\d$/.test(text)), `${seen}`);

    // A stroke from above is a one.
    await tab.locator("#pad").scrollIntoViewIfNeeded();
    const box = await tab.locator("#pad").boundingBox();
    await tab.mouse.move(box.x + 0.55 * box.width, box.y + 0.15 * box.height);
    await tab.mouse.down();
    await tab.mouse.move(box.x + 0.48 * box.width, box.y + 0.85 * box.height, { steps: 8 });
    await tab.mouse.up();
    await tab.waitForFunction(() => /^That is a 1/.test(document.querySelector("#answer").textContent));
    await tab.evaluate(() => scrollTo(0, 0));
    await photograph(t, tab, `digits-${network}`);
    const fits = async () => {
      const { width, scroll } = await tab.evaluate(() => ({ width: innerWidth, scroll: document.documentElement.scrollWidth }));
      assert.equal(scroll, width, "nothing sticks out");
    };
    await fits();
    if (FULL) return;
    await tab.setViewportSize(DESKTOP.viewport);
    await fits();
  });
}

// A software adapter takes a minute to compile the convolutional network, which a quick run trains on it in Node.
const CURVES = [["cpu", "perceptron", 60], ["webgpu", "perceptron", FULL ? 24 : 12], ...(FULL ? [["webgpu", "convolutional", 6]] : [])];
for (const [backend, network, steps] of CURVES) {
  test(`${backend}, ${network}: it stops, goes on, and the same seed gives the same curve, to the bit`, async (t) => {
    const tab = await visit(t, `network=${network}&backend=${backend}&seed=5`);
    const started = performance.now();
    await trainFor(tab, Math.ceil(steps / 2));
    const stopped = (await state(tab)).curve;
    t.diagnostic(`${stopped.length} steps after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual((await state(tab)).curve, stopped, "it stopped");
    assert.equal(await tab.textContent("#train"), "Go on");
    await trainFor(tab, steps);
    const { curve: first, submitted } = await state(tab);
    assert.deepEqual(first.slice(0, stopped.length), stopped, "it went on");
    assert.deepEqual(submitted, { submissions: 1, readbacks: 1 });
    assert.ok(mean(first.slice(-4)) < 0.9 * mean(first.slice(0, 2)), `the loss fell: ${first}`);
    await tab.click("#reset");
    await tab.waitForFunction(() => window.leastwiseDigits.session()?.curve.length === 0);
    await trainFor(tab, steps);
    const { curve: second } = await state(tab);
    assert.deepEqual(second.slice(0, steps), first.slice(0, steps));
    assert.equal(new Set(first).size, first.length, "it moves");
    // Another seed, another curve.
    await tab.fill("[name=seed]", "6");
    await tab.dispatchEvent("[name=seed]", "change");
    await tab.waitForFunction(() => window.leastwiseDigits.session()?.curve.length === 0);
    await trainFor(tab, 1);
    assert.notEqual((await state(tab)).curve[0], first[0]);
    t.diagnostic(`${((performance.now() - started) / 1000).toFixed(1)} s in all`);
  });
}

test("both, as measured: the model is kept, and after a reload the routes and the curve are the same", async (t) => {
  const tab = await visit(t, "backend=auto&seed=2");
  const look = async () => {
    const steps = FULL ? 10 : 4;
    await trainFor(tab, steps);
    const { routing, trace } = await tab.evaluate(() => {
      const { routing, trace } = window.leastwiseDigits.session().work;
      return { routing, trace: trace.map(({ what, place, reason }) => [what, place, reason]) };
    });
    return { routing, trace, curve: (await state(tab)).curve.slice(0, steps) };
  };
  const first = await look();
  t.diagnostic(`${first.routing.reason}; ${JSON.stringify(first.trace.map(([, place]) => place))}`);
  assert.match(first.routing.reason, /^measured in \d+ ms, kept in the browser's storage$/);
  assert.ok(first.trace.every(([, , reason]) => /^device .+ µs, cpu .+ µs$/.test(reason)), JSON.stringify(first.trace));
  const keys = await tab.evaluate(() => Object.keys(localStorage));
  assert.ok(keys.length === 1 && keys[0].startsWith("leastwise/tensors-"), `${keys}`);
  await tab.reload();
  await tab.waitForFunction(() => window.leastwiseDigits);
  const second = await look();
  assert.equal(second.routing.reason, "measured in an earlier run, and kept in the browser's storage");
  assert.deepEqual([second.routing.model, second.trace, second.curve], [first.routing.model, first.trace, first.curve]);
  // A software adapter takes seconds to be measured again.
  if (!FULL) return;
  // Somebody else's text there does no harm.
  await tab.evaluate((key) => localStorage.setItem(key, "{"), keys[0]);
  await tab.reload();
  await tab.waitForFunction(() => window.leastwiseDigits);
  await trainFor(tab, 1);
  assert.match(await tab.evaluate(() => window.leastwiseDigits.session().work.routing.reason), /^measured in \d+ ms/);
});

test("a failure in the worker is told, and the page starts again with another one", async (t) => {
  const { tab, problems } = await openTab(browser, `${address}?backend=cpu`);
  t.after(() => tab.close());
  await tab.waitForFunction(() => window.leastwiseDigits);
  await trainFor(tab, 3);
  await tab.click("#train");
  await tab.waitForFunction(() => window.leastwiseDigits.session().running);
  await tab.workers()[0].evaluate(() => { setTimeout(() => { throw new Error("out of paper"); }); });
  await tab.waitForSelector("#status.error");
  assert.match(await tab.textContent("#status"), /the worker that trains has failed: .*out of paper/);
  assert.deepEqual([await tab.isEnabled("#train"), await tab.isEnabled("#stop")], [false, false]);
  await tab.click("text=Start again");
  await tab.waitForFunction(() => window.leastwiseDigits.session()?.curve.length === 0 && !document.querySelector("#train").disabled);
  assert.equal(await tab.textContent("#status"), "");
  await trainFor(tab, 3);
  assert.ok((await state(tab)).curve.length >= 3);
  assert.deepEqual(problems.filter((problem) => !/out of paper/.test(problem)), []);
});

test("without WebGPU the page says so, and trains on the CPU", async (t) => {
  const tab = await visit(t, "backend=webgpu", { browser: await browse(t, { webgpu: false }) });
  assert.match(await tab.textContent("#facts"), /CPU.+WebGPU was demanded but can't be had: /s);
  assert.equal(await tab.inputValue("[name=backend]"), "cpu");
  await trainFor(tab, 5);
  assert.ok((await state(tab)).curve.length >= 5);
  // Pages are linked with each other.
  await tab.click("nav >> text=Mesh");
  await tab.waitForURL(/mesh\.html$/);
  await tab.click("nav >> text=Digits");
  await tab.waitForURL(/digits\.html$/);
  await tab.waitForFunction(() => window.leastwiseDigits);
});
