// The landing page and the mesh page, used as a person would: handles dragged, pinned, turned and undone, code edited, files dropped, devices lost.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { FULL } from "../node/support.mjs";
import { browse, dragMouse, drawn, openPage, photograph, serveLive, settled, until, WINDOW } from "./support.mjs";

// Small, so that a software adapter draws a few frames a second.
const viewport = { width: 720, height: 500 };
const endings = [];
const suite = { after: (work) => endings.unshift(work) };
let address, software, none;

before(async () => {
  ({ address } = await serveLive(suite));
  software = await browse(suite);
  none = await browse(suite, { webgpu: false });
});

after(async () => { for (const end of endings) await end(); });

const knob = (tab, k) => tab.evaluate((k) => { const { page } = window.leastwisePage; return page.view.onScreen(page.knobs.places[k]); }, k);
/** Vertices as they are, by a copy that the engine does not count. */
const vertices = (tab) => tab.evaluate(async () => {
  const { page, app } = window.leastwisePage, engine = app?.engine ?? page.engine, { x, loop } = { x: page.x, loop: app?.loop ?? page.loop };
  if (!engine.device) return [...await loop.ask(() => x.read())];
  const { device } = engine, { buffer, offset } = x.buffer, bytes = 12 * x.count;
  const staging = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ }), encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, offset, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const values = [...new Float32Array(staging.getMappedRange())];
  staging.destroy();
  return values;
});
const meanOf = (values, held) => [0, 1, 2].map((axis) => held.reduce((sum, v) => sum + values[3 * v + axis], 0) / held.length);
const apart = (a, b) => Math.hypot(...a.map((value, k) => value - b[k]));

/** Waits until the vertices of a handle are where it is. */
async function follow(tab, k) {
  const limit = Date.now() + 120_000;
  for (;;) {
    const { v, at, base } = await tab.evaluate((k) => { const { page } = window.leastwisePage; return { v: page.handles[k].v, at: page.knobs.places[k].toArray(), base: page.handles[0].v }; }, k);
    const now = await vertices(tab), off = apart(meanOf(now, v), at);
    assert.ok(now.every(Number.isFinite), "the vertices are finite");
    if (off < 0.06) return { now, base };
    assert.ok(Date.now() < limit, `the handle is at ${at}, its vertices at ${meanOf(now, v)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("landing page, WebGPU: three draws from the solver's buffer, the ears follow a drag, and nothing but costs is read back", async (t) => {
  const { context, asked, give } = await delayed(t, software);
  const tab = await openPage(t, context, `${address}#backend=webgpu`);
  await asked;
  const { drawn: pictures } = await tab.evaluate(() => window.leastwisePage.page.view);
  await until(tab, () => window.leastwisePage.page.view.drawn, (drawn) => drawn > pictures + 3, "pictures go on while a part of the engine is on its way");
  give();
  const sharing = await tab.evaluate(() => {
    const { engine, view, x } = window.leastwisePage.page, slot = view.renderer.backend.get(view.surface.geometry.getAttribute("position"));
    return { backend: engine.backend, mode: view.binding.mode, three: view.renderer.backend.device === engine.device, same: slot.buffer === x.buffer.buffer };
  });
  assert.deepEqual(sharing, { backend: "webgpu", mode: "shared", three: true, same: true });
  assert.match(await tab.textContent("#facts"), /WebGPU · 34,197 residuals/);
  const before = await vertices(tab);
  await tab.locator("#stage").scrollIntoViewIfNeeded();
  // A step takes a software adapter half a second: not far, in a quick run.
  await dragMouse(tab, await knob(tab, 1), ...(FULL ? [45, -15] : [24, -8]));
  const { now, base } = await follow(tab, 1);
  assert.ok(apart(meanOf(now, base), meanOf(before, base)) < 0.02, "the base stays");
  // A sample of the costs is one readback; its checkpoints are some more. Steps and pictures are none.
  const { steps, drawn, readbacks } = await tab.evaluate(async () => {
    const { page } = window.leastwisePage, { loop, engine, view } = page;
    page.reset();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await loop.ask(async () => {});
    const before = { steps: loop.progress.steps, drawn: view.drawn, readbacks: engine.counters().readbacks, samples: loop.samples };
    // Until there were steps between two samples.
    while (loop.progress.steps < before.steps + 2 || loop.samples === before.samples) await new Promise(requestAnimationFrame);
    return { steps: loop.progress.steps - before.steps, drawn: view.drawn - before.drawn, readbacks: (engine.counters().readbacks - before.readbacks) / (loop.samples - before.samples) };
  });
  assert.ok(steps >= 2 && drawn >= 2, `${steps} steps, ${drawn} pictures`);
  assert.ok(readbacks <= 6, `${readbacks} readbacks a sample`);
  await photograph(t, tab, "www-landing-webgpu");
});

test("cloth, WebGPU: frames hand their values on, and nothing is read back but a sample's costs", async (t) => {
  const tab = await openPage(t, software, `${address}cloth.html#backend=webgpu&size=16&wind=3&steps=2`, { viewport });
  // Costs are sampled between frames, never within one.
  const frames = await tab.evaluate(async () => {
    const { page, app: { engine } } = window.leastwisePage, { stepping } = page, frame = stepping.frame.bind(stepping), list = [];
    const look = () => { const { readbacks, bytesReadBack, dispatches } = engine.counters(); return { readbacks, bytesReadBack, dispatches }; };
    await new Promise((resolve) => {
      stepping.frame = async (...given) => {
        const before = look(), steps = await frame(...given), after = look();
        if (steps) list.push({ steps, mode: page.view.binding.mode, ...Object.fromEntries(Object.keys(before).map((name) => [name, after[name] - before[name]])) });
        if (list.length === 4) resolve();
        return steps;
      };
    });
    return list;
  });
  for (const { dispatches, ...frame } of frames) {
    assert.deepEqual(frame, { steps: 2, mode: "shared", readbacks: 0, bytesReadBack: 0 });
    assert.ok(dispatches > 20, `${dispatches} dispatches`);
  }
  const before = await vertices(tab);
  await until(tab, () => window.leastwisePage.page.stepping.frames, (frames) => frames > 12, "it goes on");
  const now = await vertices(tab);
  assert.ok(now.every(Number.isFinite) && now.some((value, k) => Math.abs(value - before[k]) > 0.005), "it moves");
  assert.match(await tab.textContent("#facts"), /WebGPU.+· 2 Newton steps each ·/s);
});

/** A context whose pages get the part that checkpoints are made of when it is given: until then the problem is as busy as in the call that waits. */
async function delayed(t, browser) {
  const context = await browser.newContext({ ...WINDOW, viewport });
  t.after(() => context.close());
  let ask, give;
  const asked = new Promise((resolve) => { ask = resolve; }), given = new Promise((resolve) => { give = resolve; });
  await context.route(/leastwise_rare/, async (route) => {
    ask();
    await given;
    await route.continue();
  });
  return { context, asked, give };
}

/** Vertices that three draws, where the CPU computes them. */
const shown = (tab) => tab.evaluate(() => [...window.leastwisePage.page.view.surface.geometry.getAttribute("position").array]);

test("landing page: the residual, the install line, links to every page with their pictures", async (t) => {
  const tab = await openPage(t, none, address, { viewport: { width: 1280, height: 800 } });
  assert.match(await tab.textContent("#residual"), /problem\.residuals.*rotateXYZ/s);
  assert.equal(await tab.textContent(".install code"), "npm install leastwise");
  const links = await tab.evaluate(async () => {
    const images = [...document.querySelectorAll(".gallery img")];
    for (const image of images) { image.loading = "eager"; await image.decode(); }
    return [...document.querySelectorAll(".gallery a")].map((link, k) => [link.getAttribute("href"), images[k].naturalWidth > 300]);
  });
  assert.deepEqual(links, ["mesh", "fit", "uv", "cloth", "developable", "slam", "sketch", "palette", "digits"].map((page) => [`./${page}.html`, true]));
  // By the keyboard: the ears are chosen; three steps to the right move them.
  await tab.focus("canvas");
  for (let k = 0; k < 3; k++) await tab.keyboard.press("ArrowRight");
  await follow(tab, 1);
  assert.ok(await tab.evaluate(() => window.leastwisePage.page.handles[1].t[0]) > 0.05);
  // What is drawn is what was solved.
  await until(tab, () => window.leastwisePage.page.loop.resting, Boolean, "it rests");
  const [solved, seen] = [await vertices(tab), await shown(tab)];
  assert.ok(solved.every((value, k) => Math.abs(value - seen[k]) < 1e-6), "three draws the vertices as they are");
  await tab.click("#reset");
  assert.deepEqual(await tab.evaluate(() => window.leastwisePage.page.handles[1].t), [0, 0, 0]);
  await photograph(t, tab, "www-landing");
  await tab.click("#theme");
  assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), "dark");
  await photograph(t, tab, "www-landing-dark");
});

test("at rest nothing is drawn, and a drag wakes it", async (t) => {
  const tab = await openPage(t, none, `${address}mesh.html`, { viewport });
  await until(tab, () => window.leastwisePage.app.loop.resting, Boolean, "it comes to rest");
  // The last samples' pictures, and then no more.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const before = await tab.evaluate(() => window.leastwisePage.page.view.drawn);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.equal(await tab.evaluate(() => window.leastwisePage.page.view.drawn), before);
  await dragMouse(tab, await knob(tab, 1), 60, -20);
  await follow(tab, 1);
  assert.ok(await tab.evaluate(() => window.leastwisePage.page.view.drawn) > before);
});

test("mesh page: pins, lasso, a turn, undo, weights, and all of it in the address", async (t) => {
  const tab = await openPage(t, none, `${address}mesh.html`, { viewport: { width: 1100, height: 700 } });
  const handles = () => tab.evaluate(() => window.leastwisePage.page.handles.map(({ v, t, q }) => ({ count: v.length, t, q })));
  const middle = await tab.evaluate(() => { const box = document.querySelector(".stage canvas").getBoundingClientRect(); return { x: box.left + box.width / 2, y: box.top + box.height / 2 }; });
  assert.equal((await handles()).length, 2);
  await dragMouse(tab, await knob(tab, 1), 90, -10);
  await follow(tab, 1);
  // A click on the mesh pins it there.
  await tab.mouse.click(middle.x, middle.y + 60);
  await until(tab, () => window.leastwisePage.page.handles.length, (count) => count === 3, "a click pins");
  // A lasso around the middle holds what faces us in it.
  await tab.click("text=Lasso");
  await tab.mouse.move(middle.x - 60, middle.y - 40);
  await tab.mouse.down();
  for (const [dx, dy] of [[40, -60], [60, 20], [-20, 50], [-60, 0]]) await tab.mouse.move(middle.x + dx, middle.y + dy, { steps: 3 });
  await tab.mouse.up();
  await until(tab, () => window.leastwisePage.page.handles.length, (count) => count === 4, "the lasso catches");
  assert.ok((await handles())[3].count > 20, JSON.stringify(await handles()));
  // The ring turns it, and so does a key.
  const centre = await knob(tab, 3);
  await dragMouse(tab, { x: centre.x + 46, y: centre.y }, -14, -44);
  const turned = (await handles())[3].q;
  assert.ok(Math.abs(turned[3]) < 0.95, `turned by the ring: ${turned}`);
  await tab.keyboard.press("R");
  assert.notDeepEqual((await handles())[3].q, turned);
  // Undo, step by step.
  const kept = await tab.evaluate(() => location.hash);
  for (let k = 0; k < 3; k++) await tab.click("[aria-label=Undo]");
  assert.equal((await handles()).length, 3);
  // A weight is live: nothing is built anew.
  const built = await tab.evaluate(() => window.leastwisePage.app.built);
  await tab.locator("input[type=range]").first().fill("1");
  await until(tab, () => location.hash, (hash) => /weights=/.test(hash), "the weight is in the address");
  assert.equal(await tab.evaluate(() => window.leastwisePage.app.built), built);
  // Cost, strain and curvature by colour.
  const colours = () => tab.evaluate(() => { const list = window.leastwisePage.page.view.surface.geometry.getAttribute("color").array; return new Set([...list].map((value) => value.toFixed(2))).size; });
  const plain = await colours();
  for (const way of ["cost", "strain", "curvature"]) {
    await tab.selectOption("text=Colour", way).catch(() => tab.locator("select").nth(2).selectOption(way));
    await until(tab, () => { const list = window.leastwisePage.page.view.surface.geometry.getAttribute("color").array; return new Set([...list].map((value) => value.toFixed(2))).size; }, (count) => count > plain + 10, way);
  }
  await photograph(t, tab, "www-mesh");
  // The address has it all.
  const again = await openPage(t, none, `${address}mesh.html${kept}`, { viewport });
  assert.ok(await again.evaluate(() => window.leastwisePage.page.handles.length) >= 3);
});

test("mesh page: its code is edited, a mistake is told at its line, the chart and rewind work", async (t) => {
  const tab = await openPage(t, none, `${address}mesh.html`, { viewport: { width: 1100, height: 700 } });
  const state = () => tab.evaluate(() => { const { app } = window.leastwisePage; return { built: app.built, terms: Object.keys(app.loop.progress.costs), steps: app.loop.progress.steps, playing: app.loop.playing, chart: app.chart.length, checkpoints: app.loop.checkpoints }; });
  await dragMouse(tab, await knob(tab, 1), 70, -20);
  await until(tab, () => window.leastwisePage.app.chart.length, (count) => count >= 3, "costs are charted");
  await tab.click("role=tab[name=Code]");
  await tab.waitForSelector(".cm-content");
  await tab.click(".cm-content");
  await tab.keyboard.press("Control+End");
  await tab.keyboard.type('\nproblem.residuals("low", { of: [x], weight: 0.01 }, ([p]) => p.y);');
  await until(tab, () => Object.keys(window.leastwisePage.app.loop.progress.costs), (terms) => terms.includes("low"), "the new term runs");
  const before = await state();
  assert.deepEqual(before.terms.sort(), ["handles", "low", "rigid"]);
  // A mistake: the old problem goes on, the line is told and marked.
  await tab.keyboard.type('\nproblem.residuals("wrong", { of: [x] }, ([p]) => p + 1);');
  await tab.waitForSelector("#status.error");
  assert.match(await tab.textContent(".code-message"), /^Line 8: .*\.add\(b\).*\(untraceable\)$/s);
  await tab.waitForSelector(".cm-lintRange-error");
  assert.equal((await state()).built, before.built);
  await tab.click("text=Original code");
  await until(tab, () => Object.keys(window.leastwisePage.app.loop.progress.costs), (terms) => terms.length === 2, "the original code runs");
  assert.equal(await tab.textContent("#status"), "");
  // Pause, step, rewind.
  await dragMouse(tab, await knob(tab, 1), -60, 10);
  await until(tab, () => window.leastwisePage.app.loop.checkpoints, (count) => count >= 2, "checkpoints are kept");
  await tab.click("[aria-label=Pause]");
  const paused = await state();
  await tab.click("[aria-label='One step']");
  await until(tab, () => window.leastwisePage.app.loop.progress.steps, (steps) => steps > paused.steps, "one step");
  const stepped = await state();
  await tab.click("[aria-label^=Rewind]");
  await until(tab, () => window.leastwisePage.app.loop.progress.steps, (steps) => steps < stepped.steps, "rewound");
  assert.equal((await state()).playing, false);
  await tab.click("role=tab[name=Chart]");
  await photograph(t, tab, "www-mesh-chart");
});

test("mesh page: an edit waits while a part of the engine is on its way", async (t) => {
  const { context, asked, give } = await delayed(t, none);
  const tab = await openPage(t, context, `${address}mesh.html`);
  await asked;
  await tab.evaluate(() => window.leastwisePage.app.set({ weights: { rigid: 2 } }));
  give();
  await until(tab, () => window.leastwisePage.app.loop.checkpoints, (count) => count >= 1, "a checkpoint");
});

test("mesh page: every energy runs, and every mesh", async (t) => {
  const tab = await openPage(t, none, `${address}mesh.html`, { viewport });
  const run = () => until(tab, () => { const { loop } = window.leastwisePage.app; return { steps: loop?.progress.steps ?? 0, cost: loop?.progress.cost, error: document.querySelector("#status.error")?.textContent }; },
    ({ steps, cost, error }) => error || (steps > 1 && Number.isFinite(cost)), "it runs");
  for (const [name, select] of [["energy", 1], ["mesh", 0]]) {
    const values = await tab.locator("select").nth(select).locator("option").evaluateAll((options) => options.map(({ value }) => value));
    assert.ok(values.length >= 6);
    for (const value of drawn(t, values.slice(1), 3)) {
      const { built } = await tab.evaluate(() => ({ built: window.leastwisePage.app.built }));
      await tab.evaluate(([name, value]) => window.leastwisePage.app.set(name === "mesh" ? { mesh: value, handles: "" } : { energy: value, code: "", weights: {} }), [name, value]);
      await tab.waitForFunction((built) => window.leastwisePage.app.built > built || document.querySelector("#status.error"), built);
      const { error } = await run();
      assert.equal(error, undefined, `${name} ${value}`);
    }
  }
});

/** Gives a file to the page's chooser. */
const give = (tab, name, text) => tab.locator("input[type=file]").setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });

test("mesh page: own files, broken ones, and ones that are too large", async (t) => {
  const tab = await openPage(t, none, `${address}mesh.html`, { viewport });
  const count = () => tab.evaluate(() => window.leastwisePage.page.model.mesh.positions.length / 3);
  // Two components with a boundary each.
  await give(tab, "two.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 3 0 0\nv 4 0 0\nv 3 1 0\nv 4 1 0\nf 1 2 3\nf 4 5 6\nf 5 7 6\n");
  await until(tab, () => window.leastwisePage.page.model.name, (name) => name === "two.obj", "the file is taken");
  assert.equal(await count(), 7);
  assert.match(await tab.textContent("#tab-settings"), /2 components, 7 boundary edges/);
  await settled(tab);
  for (const [name, text, said] of [["broken.ply", "ply\nformat ascii 1.0\nelement vertex 3\n", /broken\.ply can't be read: /], ["notes.txt", "hello", /notes\.txt can't be read: /], ["three.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 -1 0\nf 1 2 3\nf 1 2 4\nf 1 2 5\n", /three\.obj can't be used: 1 of its edges has three faces or more/]]) {
    await give(tab, name, text);
    await until(tab, () => document.querySelector("#status.error")?.textContent ?? "", (words) => said.test(words), name);
    await tab.click("text=Dismiss");
    assert.equal(await count(), 7, "the page goes on with what it had");
  }
  // A grid of 160 × 160: told, and decimated on consent.
  const side = 160, rows = [];
  for (let i = 0; i <= side; i++) for (let j = 0; j <= side; j++) rows.push(`v ${i / side} ${0.1 * Math.sin((6 * i) / side)} ${j / side}`);
  for (let i = 0; i < side; i++) for (let j = 0; j < side; j++) { const a = i * (side + 1) + j + 1; rows.push(`f ${a} ${a + 1} ${a + side + 2}`, `f ${a} ${a + side + 2} ${a + side + 1}`); }
  await give(tab, "large.obj", rows.join("\n"));
  await until(tab, () => document.querySelector("#status.error")?.textContent ?? "", (words) => /large\.obj has 25,921 vertices; this page takes 20,000/.test(words), "the limit is told");
  await tab.click("text=Decimate it");
  await until(tab, () => window.leastwisePage.page.model.mesh.positions.length / 3, (vertices) => vertices > 15_000 && vertices <= 20_000, "decimated");
});

test("mesh page, WebGPU: a lost device is told, and the page goes on", async (t) => {
  const tab = await openPage(t, software, `${address}mesh.html#backend=webgpu`, { viewport, problems: [/destroyed|lost/i] });
  assert.equal(await tab.evaluate(() => window.leastwisePage.page.view.binding.mode), "shared");
  await dragMouse(tab, await knob(tab, 1), 40, -10);
  const moved = await tab.evaluate(() => window.leastwisePage.page.handles[1].t);
  assert.notDeepEqual(moved, [0, 0, 0]);
  await tab.evaluate(() => window.leastwisePage.app.engine.device.destroy());
  await tab.waitForFunction(() => /device was lost/.test(document.querySelector("#status.error")?.textContent ?? "") && window.leastwisePage.app.engine.backend === "cpu" && window.leastwisePage.app.loop);
  const now = await tab.evaluate(() => window.leastwisePage.page.handles[1].t);
  assert.ok(apart(now, moved) < 1e-3, "its state is the same");
  await follow(tab, 1);
});

test("without WebGPU the page says why, and three draws with WebGL", async (t) => {
  const tab = await openPage(t, none, `${address}mesh.html#backend=webgpu`, { viewport });
  const { binding, backend, text, disabled } = await tab.evaluate(() => ({ binding: window.leastwisePage.page.view.binding, backend: window.leastwisePage.app.engine.backend, text: document.querySelector(".panel").textContent, disabled: document.querySelector("option[value=webgpu]").disabled }));
  assert.deepEqual({ binding, backend, disabled }, { binding: undefined, backend: "cpu", disabled: true });
  assert.match(text, /CPU, f64: WebGPU was demanded but can't be had: /);
  // Colours of the mesh are those of the theme.
  const tint = () => tab.evaluate(() => [...window.leastwisePage.page.view.surface.geometry.getAttribute("color").array.slice(0, 3)]);
  const light = await tint();
  await tab.click("#theme");
  assert.notDeepEqual(await tint(), light);
});

test("without JavaScript there is a picture and a word", async (t) => {
  const context = await none.newContext({ javaScriptEnabled: false });
  t.after(() => context.close());
  const tab = await context.newPage();
  for (const page of ["index", "mesh"]) {
    await tab.goto(`${address}${page}.html`);
    assert.match(await tab.textContent("noscript, .noscript"), /takes JavaScript/);
  }
});
