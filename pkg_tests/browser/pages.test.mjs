// The other live pages, used as a person would: what they come to is asserted on counts and states; and all pages on small screens, and their bytes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { strFromU8, unzipSync } from "fflate";
import { transform } from "sucrase";
import { browse, dragMouse, drawn, openPage, photograph, project, serveLive, until } from "./support.mjs";

const PAGES = ["mesh", "fit", "uv", "cloth", "developable", "slam", "sketch", "palette"];
const viewport = { width: 1100, height: 700 };
const endings = [];
const suite = { after: (work) => endings.unshift(work) };
let address, browser, folder;

before(async () => {
  ({ address, folder } = await serveLive(suite));
  browser = await browse(suite, { webgpu: false });
});

after(async () => { for (const end of endings) await end(); });

const visit = (t, page, hash = "", options = {}) => openPage(t, browser, `${address}${page}.html${hash}`, { viewport, ...options });

test("fit: values with errors, a point dragged, a robust loss, a formula typed, rows pasted, several starts", async (t) => {
  const tab = await visit(t, "fit");
  const look = () => { const { page } = window.leastwisePage; return { values: page.values, errors: page.errors, solves: page.solves, points: page.points, faded: page.weights.filter((weight) => weight < 0.5).length, band: page.curve.every(({ se }) => se > 0) }; };
  const first = await until(tab, look, ({ errors }) => errors.length === 3, "it is fitted");
  // The points are of 3 exp(−t/2.2) + 0.5, with four outliers.
  assert.ok(first.values.every((value, k) => Math.abs(value - [3, 2.2, 0.5][k]) < 3 * first.errors[k]), JSON.stringify(first));
  assert.ok(first.band && first.faded === 0);
  assert.equal(await tab.locator(".correlations tr").count(), 4);
  await tab.getByLabel("Loss", { exact: true }).selectOption("cauchy");
  const robust = await until(tab, look, ({ faded }) => faded >= 4, "outliers fade");
  assert.ok(robust.errors.every((error, k) => error < first.errors[k]), "without their say, errors are smaller");
  // A point is dragged upwards: solved on the way.
  const at = await tab.evaluate(() => { const { page } = window.leastwisePage, box = document.querySelector(".stage canvas").getBoundingClientRect(); return { box: { x: box.x, y: box.y }, n: page.points.length }; });
  const place = await tab.evaluate(() => window.leastwisePage.page.onScreen(0));
  await dragMouse(tab, place, 0, 120);
  const dragged = await until(tab, look, ({ points, solves }) => points[0][1] < first.points[0][1] - 0.5 && solves > robust.solves, "the point moved");
  assert.equal(dragged.points.length, at.n);
  await tab.click("[aria-label=Undo]");
  await until(tab, look, ({ points }) => Math.abs(points[0][1] - first.points[0][1]) < 1e-6, "undone");
  await photograph(t, tab, "www-fit");
  // What can't be read is told; the fit stays.
  await tab.fill("#formula", "a * exp(-t / tau");
  await tab.waitForFunction(() => /can't be read/.test(document.querySelector(".code-message").textContent));
  await tab.fill("#formula", "p * t + q");
  await tab.fill("#data", "# t, y\n0, 1\n1, 3\n2; 5.1\n3 6.9\nfour, 4\n4\t9\n");
  const line = await until(tab, look, ({ values, points }) => values.length === 2 && points.length === 5, "the line");
  // By plain arithmetic: the least-squares line through them.
  assert.ok(Math.abs(line.values[0] - 1.99) < 0.05 && Math.abs(line.values[1] - 1.02) < 0.1, JSON.stringify(line));
  assert.match(await tab.textContent("#status"), /1 row is no pair/);
  await tab.click("text=Multi-start");
  await tab.waitForFunction(() => /24 starts: \d+ of them end at the lowest cost/.test(document.querySelector("#status").textContent));
  // The code has what was typed; as a project it is four files or fewer.
  await tab.click("role=tab[name=Code]");
  await tab.waitForSelector(".cm-content");
  assert.match(await tab.textContent(".cm-content"), /p\.mul\(t\)\.add\(q\)/);
  const [file] = await Promise.all([tab.waitForEvent("download"), tab.click("text=Copy as project")]);
  assert.equal(file.suggestedFilename(), "leastwise-fit.zip");
  const files = unzipSync(readFileSync(await file.path()));
  assert.match(strFromU8(files["leastwise-fit/package.json"]), /"leastwise": "\^0\.1\.0"/);
});

test("UV: a cut mesh lies flat without a flip, its distortion falls, seams are clicked, what is no disk is told", async (t) => {
  const tab = await visit(t, "uv");
  const look = () => { const { app, page } = window.leastwisePage; return { flips: page.flips, stretch: page.stretch, seams: page.seams.length, vertices: page.flat.length / 2, cost: app.loop?.progress.cost, steps: app.loop?.progress.steps ?? 0, error: document.querySelector("#status.error")?.textContent }; };
  const first = await until(tab, look, ({ cost, flips }) => cost !== undefined && flips === 0, "it begins");
  const later = await until(tab, look, ({ steps, stretch }) => steps > 12 && stretch < 1.2, "distortion falls");
  assert.equal(later.flips, 0);
  assert.ok(later.cost <= first.cost && first.vertices > 1839, JSON.stringify(later));
  await photograph(t, tab, "www-uv");
  await tab.close();
  // A click goes on with the last seam, which makes vertices.
  const ball = await visit(t, "uv", "#mesh=icosphere&seams=[[3,0]]");
  const { vertices } = await until(ball, look, ({ steps, stretch }) => steps > 3 && stretch > 0, "the ball");
  const box = await ball.locator(".half canvas").first().boundingBox();
  await ball.mouse.click(box.x + box.width / 2 + 15, box.y + box.height / 2 + 40);
  await until(ball, () => window.leastwisePage.page.seams[0].length, (count) => count === 3, "the seam goes on");
  await until(ball, look, ({ vertices: now, flips, steps }) => now > vertices && flips === 0 && steps > 3, "it lies flat again");
  // A torus needs both of its seams.
  await ball.getByLabel("Mesh", { exact: true }).selectOption("torus");
  await until(ball, look, ({ flips, vertices, steps }) => flips === 0 && vertices > 1792 && vertices < 2000 && steps > 3, "the torus");
  for (let k = 0; k < 3; k++) await ball.click("text=Remove last");
  await ball.waitForFunction(() => /don't open the mesh to a disk/.test(document.querySelector("#status.error")?.textContent ?? ""));
});

test("cloth: it falls, its corners stay; a tap pins, letting go drops it; rewind goes back; it lies on a sphere and on the bunny", async (t) => {
  const tab = await visit(t, "cloth", "#size=16&wind=0");
  const look = async () => { const { app, page } = window.leastwisePage, now = [...await page.positions()], y = now.filter((_, k) => k % 3 === 1); return { now, low: Math.min(...y), high: Math.max(...y), frames: page.stepping?.frames ?? 0, finite: y.every(Number.isFinite), steps: app.loop?.progress.steps }; };
  const hanging = await until(tab, look, ({ frames, low }) => frames > 25 && low < 0.6, "it swings down");
  assert.ok(hanging.finite && Math.abs(hanging.high - 1.05) < 0.08, `the corners stay: ${hanging.high}`);
  await until(tab, () => window.leastwisePage.app.loop.checkpoints, (count) => count >= 2, "checkpoints");
  await tab.click("[aria-label=Pause]");
  const time = () => tab.evaluate(() => window.leastwisePage.page.stepping.time);
  const paused = await time();
  await tab.click("[aria-label^=Rewind]");
  await until(tab, () => window.leastwisePage.page.stepping.time, (now) => now < paused, "rewound in time");
  const rewound = await time();
  await tab.click("[aria-label='One step']");
  await until(tab, () => window.leastwisePage.page.stepping.time, (now) => Math.abs(now - rewound - 1 / 60) < 1e-9, "one frame");
  await tab.click("[aria-label=Play]");
  await photograph(t, tab, "www-cloth");
  // A tap pins what is under it, there where it is.
  const box = await tab.locator(".stage canvas").boundingBox();
  const pins = () => tab.evaluate(() => window.leastwisePage.app.state.pins);
  await tab.mouse.click(box.x + box.width / 2, box.y + 0.45 * box.height);
  const held = await until(tab, () => window.leastwisePage.app.state.pins, (list) => list.length === 3, "a tap pins");
  const place = async (v) => (await tab.evaluate(look)).now.slice(3 * v, 3 * v + 3);
  const pinned = await place(held[2]);
  const { frames } = await tab.evaluate(look);
  await until(tab, look, (seen) => seen.frames > frames + 10, "it goes on");
  assert.deepEqual(await place(held[2]), pinned, "the pin is held");
  // Dragged, it takes the cloth with it; undone, the pin is gone.
  const at = await tab.evaluate(([x, y, z]) => { const { page } = window.leastwisePage, { camera, canvas } = page.view, p = camera.position.clone().set(x, y, z).project(camera), box = canvas.getBoundingClientRect(); return { x: box.left + ((p.x + 1) / 2) * box.width, y: box.top + ((1 - p.y) / 2) * box.height }; }, pinned);
  await dragMouse(tab, at, 40, -30);
  await until(tab, look, ({ now }) => Math.hypot(now[3 * held[2]] - pinned[0], now[3 * held[2] + 1] - pinned[1], now[3 * held[2] + 2] - pinned[2]) > 0.03, "the pin is dragged");
  await tab.click("[aria-label=Undo]");
  assert.equal((await pins()).length, 0);
  await tab.click("text=Let go");
  const down = await until(tab, look, ({ high }) => high < 0.4, "it falls to the ground");
  assert.ok(down.low > 0, "the ground holds it");
  const left = await tab.evaluateHandle(() => window.leastwisePage.app.loop);
  for (const [scene, most] of [["sphere", 1], ["bunny", 24]]) {
    await tab.getByLabel("Scene").selectOption(scene);
    // Distances of all vertices from the nearest ball of the body, of the frame at the latest.
    const draped = await until(tab, async () => { const { page } = window.leastwisePage, now = await page.positions(), balls = page.balls; let nearest = 9; for (let k = 0; k < now.length; k += 3) for (const [x, y, z, r] of balls) nearest = Math.min(nearest, Math.hypot(now[k] - x, now[k + 1] - y, now[k + 2] - z) - r); return { frames: page.stepping?.frames ?? 0, nearest, balls: balls.length }; },
      ({ frames, nearest, balls }) => balls >= most && frames > 40 && nearest < 0.02, `it lies on the ${scene}`);
    assert.ok(draped.nearest > 0, `nothing is in the ${scene}: ${JSON.stringify(draped)}`);
    await photograph(t, tab, `www-cloth-${scene}`);
  }
  assert.equal(await left.evaluate((loop) => loop.ask(async () => {}).catch(({ message }) => message)), "the page went on with another problem");
  // The steps of a frame are those that were chosen, or what the time allows; the strip says which.
  assert.match(await tab.textContent("#facts"), /frames? a second · \d Newton steps? each \(automatic\)/);
  await tab.getByLabel("Newton steps a frame").selectOption("4");
  await until(tab, () => document.querySelector("#facts").textContent, (words) => /· 4 Newton steps each ·/.test(words), "four steps");
});

test("developable: the share of developable vertices rises, seams appear, subdividing goes on", async (t) => {
  const tab = await visit(t, "developable", "#onwards=false");
  const look = () => { const { page } = window.leastwisePage; return { share: page.share, seams: page.seams, vertices: page.mesh.positions.length / 3 }; };
  const done = await until(tab, look, ({ share, seams }) => share > 0.35 && seams > 60, "pieces of paper");
  assert.equal(done.vertices, 642);
  await photograph(t, tab, "www-developable");
  await tab.click("text=Subdivide and go on");
  const finer = await until(tab, look, ({ vertices }) => vertices === 2562, "subdivided");
  assert.ok(finer.seams > 60);
  await until(tab, look, ({ share }) => share > 0.6, "finer, more of it is developable");
});

/** What the SLAM page shows. */
const slam = () => { const { app, page } = window.leastwisePage, { world, places, picture } = page; return { off: world.truth ? world.truth.reduce((sum, value, k) => sum + (k % 3 ? 0 : Math.hypot(places[k] - value, places[k + 1] - world.truth[k + 1], places[k + 2] - world.truth[k + 2])), 0) / (world.truth.length / 3) : undefined, name: world.name, cost: app.loop?.progress.cost, steps: app.loop?.progress.steps, rest: app.loop?.resting, found: page.found, poses: world.poses, ellipses: picture.ellipses?.length, drawn: picture.drawn, chart: app.chart.length }; };

test("SLAM: the graph comes together; wrong closures spoil it, and are found", async (t) => {
  const tab = await visit(t, "slam", "#poses=200");
  const good = await until(tab, slam, ({ rest, poses }) => rest && poses === 200, "it settles");
  await tab.getByText("Covariance ellipses").click();
  await until(tab, slam, ({ ellipses }) => ellipses === 16 * 200, "ellipses");
  await photograph(t, tab, "www-slam");
  await tab.getByLabel("Wrong ones").fill("1");
  const spoilt = await until(tab, slam, ({ rest, off }) => rest && off > 3 * good.off, "wrong closures spoil it");
  await tab.click("text=Find the outliers");
  const mended = await until(tab, slam, ({ found }) => found !== undefined && found !== null, "graduated");
  assert.ok(mended.found.wrong >= 0.9 * mended.found.of && mended.found.of > 5 && mended.found.right <= 1, JSON.stringify(mended.found));
  const last = await until(tab, slam, ({ rest, off }) => rest && off < 0.5 * spoilt.off, "mended");
  assert.ok(last.off < 2 * good.off + 0.1, `${good.off}, ${spoilt.off}, ${last.off}`);
  assert.equal(last.drawn.without, mended.found.out);
});

test("SLAM: a sphere of poses and a bundle of views come together, and are turned", async (t) => {
  const tab = await visit(t, "slam", "#world=sphere&poses=200");
  const sphere = await until(tab, slam, ({ rest }) => rest, "the sphere settles");
  assert.ok(sphere.poses === 196 && sphere.off < 0.35 && sphere.drawn.links === 182, JSON.stringify(sphere));
  const before = await tab.evaluate(() => window.leastwisePage.page.picture.plane.range);
  const box = await tab.locator(".stage canvas").boundingBox();
  await dragMouse(tab, { x: box.x + box.width / 2, y: box.y + box.height / 2 }, 120, 40);
  assert.notDeepEqual(await tab.evaluate(() => window.leastwisePage.page.picture.plane.range), before);
  assert.equal((await tab.evaluate(slam)).drawn.without, 0, "a drag is no click");
  await photograph(t, tab, "www-slam-sphere");
  await tab.getByLabel("World").selectOption("bundle");
  const bundle = await until(tab, slam, ({ rest, poses }) => rest && poses === 36, "the bundle settles");
  // Half a pixel of noise: ½ · σ² · (2 · 1200 views − 9 · 36 − 3 · 200 unknowns + 7 of the gauge).
  const expected = 0.5 * 0.25 * (2400 - 324 - 600 + 7);
  assert.ok(Math.abs(bundle.cost / expected - 1) < 0.15 && bundle.drawn.points === 200, JSON.stringify(bundle));
  await photograph(t, tab, "www-slam-bundle");
});

/** A square in the plane, driven once around, whose last pose is measured from the first. */
const SQUARE = ["VERTEX_SE2 10 0 0 0", "VERTEX_SE2 11 1.1 0 1.5", "VERTEX_SE2 12 1.2 1 3", "VERTEX_SE2 13 0.3 1.2 4.6", "# a comment", "FIX 10",
  ...[[10, 11], [11, 12], [12, 13]].map(([a, b]) => `EDGE_SE2 ${a} ${b} 1 0 1.5707963 100 0 0 100 0 400`), "EDGE_SE2 13 10 1 0 1.5707963 100 0 0 100 0 400"];
/** Two cameras, 10 away from the points, and 8 points of a cube, each shifted; what they see is exact. */
function cube() {
  const points = Array.from({ length: 8 }, (_, k) => [k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1]), views = [], cameras = [0, 0.4, 0.8];
  for (const [c, angle] of cameras.entries()) {
    for (const [p, [x, y, z]] of points.entries()) {
      const [u, v, w] = [Math.cos(angle) * x + Math.sin(angle) * z, y, -Math.sin(angle) * x + Math.cos(angle) * z - 10];
      views.push(`${c} ${p} ${(-500 * u) / w} ${(-500 * v) / w}`);
    }
  }
  return [`3 8 ${views.length}`, ...views, ...cameras.flatMap((angle) => [0, angle, 0, 0, 0, -10, 500, 0, 0]), ...points.flatMap((point, p) => point.map((value, k) => value + 0.2 * Math.sin(3 * p + k)))];
}

test("SLAM: a visitor's g2o and BAL files are solved and drawn, packed or not; broken ones are told with their line", async (t) => {
  const tab = await visit(t, "slam", "#poses=200");
  const give = (name, buffer) => tab.locator("input[type=file]").setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.from(buffer) });
  const lines = (list) => `${list.join("\n")}\n`;
  await give("square.g2o", lines(SQUARE));
  const square = await until(tab, slam, ({ name, rest }) => name === "square.g2o" && rest, "the square settles");
  assert.ok(square.poses === 4 && square.cost < 1e-9 && square.drawn.links === 1 && square.chart > 0, JSON.stringify(square));
  const corners = await tab.evaluate(() => [...window.leastwisePage.page.places]);
  [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0].forEach((value, k) => assert.ok(Math.abs(corners[k] - value) < 1e-4, `${corners}`));
  assert.match(await tab.textContent("#facts"), /4 poses, 1 closure(?!s)/);
  const broken = [
    ["broken.g2o", lines([...SQUARE.slice(0, 7), "EDGE_SE2 11 12 1 zero 1.57 100 0 0 100 0 400"]), /broken\.g2o can't be read: line 8: "zero" is no number/],
    ["nobody.g2o", lines([...SQUARE, "EDGE_SE2 10 99 1 0 0 1 0 0 1 0 1"]), /line 11: there is no vertex 99/],
    ["flat.g2o", lines([...SQUARE, "EDGE_SE2 10 12 1 0 0 0 0 0 1 0 1"]), /line 11: the information matrix is not positive definite/],
    ["mixed.g2o", lines([...SQUARE, "VERTEX_SE3:QUAT 5 0 0 0 0 0 0 1"]), /line 11: VERTEX_SE3:QUAT is of another space/],
    ["empty.g2o", "hello\n", /it has no pose graph/],
    ["broken.txt.gz", Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]), /it can't be unpacked/],
    ["short.txt", lines(cube().slice(0, -1)), /line 75: the file ends after 50 of 51 numbers of cameras and points/],
    ["many.txt", "9 9 99999999999\n", /line 1: there are 99,999,999,999 views, but it must be 1 to 1,000,000/],
  ];
  for (const [name, bytes, said] of broken) {
    await give(name, bytes);
    await until(tab, () => document.querySelector("#status.error")?.textContent ?? "", (words) => said.test(words), name);
    await tab.click("text=Dismiss");
    assert.equal((await tab.evaluate(slam)).name, "square.g2o", "the page goes on with what it had");
  }
  await give("cube.txt.gz", gzipSync(lines(cube())));
  const began = await until(tab, slam, ({ name, cost }) => name === "cube.txt.gz" && cost !== undefined, "the cube begins");
  const solved = await until(tab, slam, ({ rest }) => rest, "the cube settles");
  assert.ok(solved.poses === 3 && solved.cost < 1e-6 && solved.cost <= began.cost && solved.drawn.points === 8, JSON.stringify(solved));
  assert.match(await tab.textContent("#facts"), /3 cameras, 8 points, 24 views · 0\.00 pixels off/);
  await photograph(t, tab, "www-slam-file");
});

test("sketch: degrees of freedom, a dimension edited, lines drawn, redundant and conflicting constraints named", async (t) => {
  const tab = await visit(t, "sketch");
  const look = () => { const { page } = window.leastwisePage, { result, model } = page; return { free: result?.degreesOfFreedom, redundant: result?.redundant, conflicting: result?.conflicting, points: model.points, lines: model.lines.length, constraints: model.constraints.length, solved: result?.solved }; };
  await until(tab, look, ({ free }) => free === 2, "two directions are free: those of a hole");
  await tab.getByLabel("Length 5: length").fill("7");
  await tab.keyboard.press("Enter");
  await until(tab, look, ({ points, solved }) => solved && Math.abs(points[1][0] - points[0][0] - 7) < 1e-4, "the plate is longer");
  // Two lengths of the opposite sides: the second says nothing new, then another contradicts.
  const place = (k) => tab.evaluate((k) => window.leastwisePage.page.onScreen(k), k);
  const side = async (a, b) => { const [p, q] = [await place(a), await place(b)]; await tab.mouse.click((0.7 * p.x + 0.3 * q.x), (0.7 * p.y + 0.3 * q.y)); };
  await side(0, 3);
  await tab.click("role=button[name=Vertical]");
  await until(tab, look, ({ redundant }) => redundant?.length === 1 && redundant[0].because.length > 0, "redundant, and why");
  await side(1, 2);
  await tab.click("role=button[name=Length]");
  const last = await tab.evaluate(() => window.leastwisePage.page.model.constraints.length);
  await tab.getByLabel(`Length ${last}: length`).fill("5");
  await tab.keyboard.press("Enter");
  const bad = await until(tab, look, ({ conflicting }) => conflicting?.length > 0, "contradicting");
  assert.ok(bad.conflicting.some(({ constraint, because }) => [constraint, ...because].some((name) => name.startsWith("Length"))), JSON.stringify(bad.conflicting));
  assert.match(await tab.textContent(".verdict"), /contradict/);
  assert.ok(await tab.locator(".constraints .bad").count() >= 2);
  await photograph(t, tab, "www-sketch");
  await tab.click("[aria-label=Undo]");
  await tab.click("[aria-label=Undo]");
  await until(tab, look, ({ conflicting }) => conflicting?.length === 0, "undone");
  // A line is drawn from one click to the other; a point is dragged.
  await tab.click("role=button[name=Line]");
  const corner = await place(2);
  await tab.mouse.click(corner.x - 100, corner.y - 40);
  await tab.mouse.click(corner.x - 220, corner.y - 50);
  await until(tab, look, ({ lines, points }) => lines === 5 && points.length === 8, "the line is there");
  await tab.click("role=button[name=Select]");
  const before = await place(7);
  await dragMouse(tab, before, -30, 20);
  await until(tab, look, ({ points }) => points.length === 8, "it is still there");
  const moved = await place(7);
  assert.ok(Math.hypot(moved.x - before.x + 30, moved.y - before.y - 20) < 8, JSON.stringify([before, moved]));
});

test("palette: as many colours as asked for, the same for the same seed; a picture of one's own, and a file that is none", async (t) => {
  const tab = await visit(t, "palette");
  const look = () => { const { page } = window.leastwisePage; return { colours: page.palette.map(({ rgb }) => rgb.join()), energy: page.energy, clusterings: page.clusterings, shares: page.palette.reduce((sum, { share }) => sum + share, 0) }; };
  const first = await until(tab, look, ({ colours }) => colours.length === 8, "eight colours");
  assert.ok(Math.abs(first.shares - 1) < 1e-9 && first.energy > 0);
  await tab.getByLabel("Colours", { exact: true }).fill("16");
  const more = await until(tab, look, ({ colours }) => colours.length === 16, "sixteen");
  assert.ok(more.energy < first.energy);
  await tab.getByLabel("Colours", { exact: true }).fill("8");
  assert.deepEqual((await until(tab, look, ({ colours }) => colours.length === 8, "eight again")).colours, first.colours);
  await tab.getByLabel("Show").selectOption("reduced");
  const kinds = await tab.evaluate(() => { const canvas = document.querySelector("canvas.picture"), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), seen = new Set(); for (let k = 0; k < data.length; k += 4) seen.add(`${data[k]},${data[k + 1]},${data[k + 2]}`); return [...seen]; });
  assert.deepEqual(kinds.sort(), [...first.colours].sort());
  await photograph(t, tab, "www-palette");
  assert.match(await tab.inputValue("textarea"), /--colour-8: #[0-9a-f]{6};/);
  await tab.locator("input[type=file]").setInputFiles({ name: "notes.png", mimeType: "image/png", buffer: Buffer.from("no picture") });
  await tab.waitForFunction(() => /notes\.png is no picture/.test(document.querySelector("#status.error")?.textContent ?? ""));
  await tab.click("text=Dismiss");
  // Two halves, red and blue.
  const picture = await tab.evaluate(async () => { const canvas = document.createElement("canvas"); canvas.width = canvas.height = 40; const context = canvas.getContext("2d"); context.fillStyle = "#ff0000"; context.fillRect(0, 0, 20, 40); context.fillStyle = "#0000ff"; context.fillRect(20, 0, 20, 40); return canvas.toDataURL().split(",")[1]; });
  await tab.locator("input[type=file]").setInputFiles({ name: "own.png", mimeType: "image/png", buffer: Buffer.from(picture, "base64") });
  const own = await until(tab, look, ({ colours }) => colours.length === 2, "two colours are all there are");
  assert.deepEqual([...own.colours].sort(), ["0,0,255", "255,0,0"]);
});

const PROJECTS = [["mesh", "#energy=shell"], ["fit", "#loss=cauchy"], ["uv", "#mesh=torus"], ["cloth", "#size=16&material=woven"], ["developable", ""], ["slam", "#poses=200"], ["slam", "#poses=200&world=sphere"]];
test("what is copied as a project runs in Node", async (t) => {
  const running = [];
  for (const [page, hash] of drawn(t, PROJECTS, 3)) {
    const tab = await visit(t, page, hash);
    await until(tab, () => window.leastwisePage.app.built, (count) => count >= 1, "it is built");
    const [file] = await Promise.all([tab.waitForEvent("download"), tab.evaluate(() => window.leastwisePage.app.copy())]);
    const folder = join(project, "projects", `${page}-${running.length}`);
    for (const [path, bytes] of Object.entries(unzipSync(readFileSync(await file.path())))) {
      const to = join(folder, path.slice(path.indexOf("/") + 1).replace(/\.ts$/, ".mjs"));
      mkdirSync(dirname(to), { recursive: true });
      // Node strips the types itself from version 22.18 on.
      writeFileSync(to, path.endsWith(".ts") ? transform(strFromU8(bytes), { transforms: ["typescript"], disableESTransforms: true }).code : bytes);
    }
    await tab.close();
    // While the next page is opened.
    const said = promisify(execFile)(process.execPath, ["main.mjs"], { cwd: folder, timeout: 120_000 });
    said.catch(() => {});
    running.push([page, said]);
  }
  for (const [page, said] of running) {
    const { stdout } = await said;
    assert.match(stdout, page === "cloth" ? /^120 -?\d/m : /converged|max-iterations/i, `${page}: ${stdout}`);
  }
});

test("a link of nonsense is no harm: every page begins with what it has", async (t) => {
  for (const page of drawn(t, PAGES, 3)) {
    const tab = await visit(t, page, "#mesh=%00&energy=__proto__&handles=[[[1e9],[1],[]]]&seams=[[99999999,-1]]&size=1e9&scene=zzz&world=x&poses=-3&formula=constructor(t)&model={}&picture=..&colours=1e99&weights=~AAAA&backend=quantum&nothing", { viewport: { width: 700, height: 500 } });
    assert.ok(await tab.locator(".stage canvas").count() >= 1, page);
    await tab.waitForFunction(() => window.leastwisePage?.app.engine);
    const { backend, said } = await tab.evaluate(() => ({ backend: window.leastwisePage.app.engine?.backend, said: document.querySelector("#status").textContent }));
    assert.equal(backend, "cpu", `${page}: ${said}`);
    await tab.close();
  }
});

const SIZES = [[320, 480], [390, 844], [844, 390], [1280, 800]];
test("all pages on small screens, light and dark: nothing sticks out, targets are large enough, the panel folds", async (t) => {
  const pictures = join(project, "screenshots");
  mkdirSync(pictures, { recursive: true });
  for (const page of drawn(t, ["index", ...PAGES], 4)) {
    const tab = await openPage(t, browser, `${address}${page}.html`, { viewport: { width: SIZES[0][0], height: SIZES[0][1] }, colorScheme: "dark", reducedMotion: "reduce" });
    for (const [width, height] of SIZES) {
      await tab.setViewportSize({ width, height });
      await tab.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      const seen = await tab.evaluate(() => {
        const stage = document.querySelector(".stage").getBoundingClientRect(), shown = [...document.querySelectorAll("button, select, a.button, nav a")].filter((one) => one.offsetParent && one.getBoundingClientRect().width > 0 && !one.closest("#status, .cm-editor"));
        const small = shown.filter((one) => { const box = one.getBoundingClientRect(); return box.width < 43.5 || box.height < 43.5; }).map((one) => `${one.textContent || one.getAttribute("aria-label")} ${one.getBoundingClientRect().width} × ${one.getBoundingClientRect().height}`);
        return { wide: document.documentElement.scrollWidth, small, stage: [stage.width, stage.height], dark: getComputedStyle(document.body).color };
      });
      assert.equal(seen.wide, width, `${page} at ${width} × ${height} sticks out`);
      assert.deepEqual(seen.small, [], `${page} at ${width} × ${height}`);
      assert.ok(seen.stage[0] >= 0.5 * Math.min(width, 700) && seen.stage[1] >= 180, `${page} at ${width} × ${height}: the stage has ${seen.stage}`);
      await tab.screenshot({ path: join(pictures, `www-${page}-${width}.png`) });
    }
    await tab.close();
  }
});

test("bytes: JavaScript of every page, besides three.js and the editor, is below 161 KB with brotli", (t) => {
  const sizes = new Map(), there = new Set(readdirSync(join(folder, "assets")));
  const bytes = (file) => { if (!sizes.has(file)) sizes.set(file, brotliCompressSync(readFileSync(join(folder, file))).length); return sizes.get(file); };
  for (const page of ["index", ...PAGES]) {
    const html = readFileSync(join(folder, `${page}.html`), "utf8"), files = new Set([...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, file]) => file));
    // What is imported, at once or later, but for chunks of others' code.
    for (const file of files) {
      for (const [, name] of readFileSync(join(folder, file), "utf8").matchAll(/["'`]\.\/([\w.-]+\.js)["'`]/g)) if (!/^(three|editor)-/.test(name) && there.has(name)) files.add(`assets/${name}`);
    }
    const total = [...files].filter((file) => !/^assets\/(three|editor)-/.test(file)).reduce((sum, file) => sum + bytes(file), 0);
    t.diagnostic(`${page}: ${(total / 1000).toFixed(0)} KB`);
    assert.ok(total > 10_000 && total < 161_000, `${page}: ${total} bytes of ${[...files]}`);
  }
  assert.ok([...there].some((name) => name.startsWith("editor-")));
});
