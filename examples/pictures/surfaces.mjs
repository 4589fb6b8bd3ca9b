// Pictures of the recipes about meshes, and of those about learning.
import { around, COLOURS as C, drawMesh, extent, Picture, viewFrom } from "./plot.mjs";

const trianglesOfGrid = (rows, columns) => Array.from({ length: rows - 1 }, (_, i) => Array.from({ length: columns - 1 }, (_, j) => {
  const a = i * columns + j;
  return [a, a + 1, a + columns, a + 1, a + columns + 1, a + columns];
})).flat(2);
const pointsOf = (flat, width = 3) => Array.from({ length: flat.length / width }, (_, k) => Array.from(flat.slice(width * k, width * k + width)));

/** Meshes side by side, in one scale. */
function beside(meshes, { view, titles, top = 34 }) {
  const picture = new Picture(), all = meshes.flatMap(({ points }) => points.map(view)), width = 620 / meshes.length;
  const [x, y] = [0, 1].map((axis) => around(all.map((p) => p[axis])));
  meshes.forEach(({ points, triangles, colour }, k) => {
    drawMesh(picture.axes({ x, y, in: [10 + width * k, top, 10 + width * (k + 1), 350], equal: true, frame: false }), picture, points, triangles, view, colour);
    picture.text(titles[k], [10 + width * (k + 0.5), 24]);
  });
  return picture;
}

export function cloth({ off, runs, side }) {
  const triangles = trianglesOfGrid(side, side), view = viewFrom({ turn: 0.7, tilt: 0.35, up: 1 });
  const colours = { energy: [147, 180, 235], residuals: [240, 180, 140] };
  const titles = [`as an energy: off by ${off.energy.toExponential(0)} weights`, `as residuals, cut short: off by ${off.residuals.toFixed(1)}`];
  return beside(["energy", "residuals"].map((kind) => ({ points: pointsOf(runs[kind].frames.at(-8)), triangles, colour: () => colours[kind] })), { view, titles });
}

export function smoothing({ noisy, smooth, triangles }) {
  return beside([noisy, smooth].map((points) => ({ points, triangles })), { view: viewFrom({ turn: 0.6, tilt: 0.6, up: 1 }), titles: ["measured", "smoothed, boundary held"] });
}

export function parametrisation({ flat, points, scales, start, triangles }) {
  const picture = new Picture(), view = viewFrom({ turn: 0.4, tilt: 0.55 });
  const seen = points.map(view), [x, y] = [0, 1].map((axis) => around(seen.map((p) => p[axis])));
  /** From blue, smaller than on the surface, over white to red, larger. */
  const stretch = (scale) => {
    const s = Math.max(-1, Math.min(1, Math.log2(scale)));
    return s < 0 ? [255 + 110 * s, 255 + 75 * s, 255] : [255, 255 - 90 * s, 255 - 130 * s];
  };
  drawMesh(picture.axes({ x, y, in: [10, 34, 210, 350], equal: true, frame: false }), picture, points, triangles, view, () => [226, 226, 232]);
  picture.text("the dome", [110, 24]);
  const scale = 1.5;
  [["Tutte", start], ["Dirichlet", flat]].forEach(([name, uv], k) => {
    const list = scales(uv), middle = pointsOf(uv, 2), plot = picture.axes({ x: [-scale, scale], y: [-scale, scale], in: [220 + 205 * k, 34, 425 + 205 * k, 350], equal: true, frame: false });
    for (let t = 0; t < triangles.length; t += 3) {
      plot.line([0, 1, 2].map((i) => middle[triangles[t + i]]), { fill: `rgb(${stretch(list[t / 3]).map(Math.round).join()})`, colour: C.grey, width: 0.5, close: true });
    }
    picture.text(`${name}: areas ${extent(list).map((v) => v.toFixed(2)).join(" to ")}`, [322 + 205 * k, 24], { size: 12 });
  });
  return picture;
}

export function developability({ bent, defects, start, triangles }) {
  const titles = [start, bent].map((points, k) => `${k ? "after" : "before"}: curvature ${Math.max(...defects(points).map(Math.abs)).toExponential(0)}`);
  return beside([start, bent].map((points) => ({ points, triangles })), { view: viewFrom({ turn: 0.5, tilt: 0.5 }), titles });
}

export function deformation({ frames, long, rest, wide }) {
  const at = (i, j, k) => (i * wide + j) * long + k, last = wide - 1, triangles = [];
  const quad = (a, b, c, d) => triangles.push(a, b, c, a, c, d);
  for (let k = 0; k < long - 1; k++) {
    for (let i = 0; i < last; i++) {
      for (const side of [0, last]) {
        quad(at(i, side, k), at(i + 1, side, k), at(i + 1, side, k + 1), at(i, side, k + 1));
        quad(at(side, i, k), at(side, i + 1, k), at(side, i + 1, k + 1), at(side, i, k + 1));
      }
    }
  }
  for (const k of [0, long - 1]) for (let i = 0; i < last; i++) for (let j = 0; j < last; j++) quad(at(i, j, k), at(i + 1, j, k), at(i + 1, j + 1, k), at(i, j + 1, k));
  const poses = [rest, ...[1, 3].map((k) => pointsOf(frames[k].positions))], held = (t) => [triangles[3 * t], triangles[3 * t + 1], triangles[3 * t + 2]].every((v) => rest[v][2] === 0 || rest[v][2] === 4);
  return beside(poses.map((points) => ({ points, triangles, colour: (t) => (held(t) ? [245, 150, 90] : [147, 180, 235]) })), { view: viewFrom({ turn: 0.8, tilt: 0.3 }), titles: ["at rest", "half way", "the end"] });
}

export function palette({ height, image, labels, palette, width }) {
  const picture = new Picture(), size = 5;
  const draw = (left, colour) => {
    for (let k = 0; k < width * height; k++) picture.rect(left + size * (k % width), 24 + size * Math.floor(k / width), size + 0.3, size + 0.3, `rgb(${colour(k).map(Math.round).join()})`);
  };
  draw(14, (k) => image[k]);
  draw(326, (k) => palette[labels[k]]);
  const share = palette.map((_, k) => labels.filter((label) => label === k).length / labels.length);
  let left = 14;
  for (const [k] of [...palette.entries()].sort((a, b) => a[1][0] - b[1][0])) {
    picture.rect(left, 250, 612 * share[k], 80, `rgb(${palette[k].join()})`);
    left += 612 * share[k];
  }
  return picture;
}

export function embeddingsSearch({ file, found, points }) {
  const picture = new Picture();
  const bytes = picture.axes({ x: [0, points.byteLength / 1000], y: [2, -0.2], in: [150, 20, 600, 110], frame: false });
  [["f32", points.byteLength, C.grey], ["compressed", file.length, C.blue]].forEach(([name, size, colour], k) => {
    const [from, y] = bytes.at([0, k]), [to] = bytes.at([size / 1000, k]);
    picture.rect(from, y - 2, to - from, 28, colour).text(name, [140, y + 17], { anchor: "end" }).text(`${Math.round(size / 1000)} kB`, [Math.min(to + 8, 590), y + 17], { anchor: to > 560 ? "end" : "start", colour: to > 560 ? "#fff" : C.ink });
  });
  const plot = picture.axes({ x: [-0.6, 19.6], y: [0, 10.5], in: [60, 150, 620, 316], names: { x: "query", y: "of 10 nearest" } });
  found.forEach((n, k) => {
    const [x, y] = plot.at([k, n]), [, zero] = plot.at([k, 0]);
    picture.rect(x - 9, y, 18, zero - y, C.blue);
  });
  return picture;
}

export function classifier({ labels, losses, map, points }) {
  const picture = new Picture(), plot = picture.axes({ x: [-1.2, 1.2], y: [-1.2, 1.2], in: [16, 14, 348, 346], frame: false });
  const side = 60, [x0, y0] = plot.at([-1.2, 1.2]), size = (plot.at([1.2, 0])[0] - x0) / side;
  map.forEach((share, k) => picture.rect(x0 + size * (k % side), y0 + size * (side - 1 - Math.floor(k / side)), size + 0.3, size + 0.3, `rgb(${[219 + 35 * share, 234 - 19 * share, 254 - 84 * share].map(Math.round).join()})`));
  points.forEach((point, k) => plot.dots([point], { colour: "#fff", fill: labels[k] ? C.orange : C.blue, radius: 3.2, width: 0.7 }));
  picture.axes({ x: [0, losses.length], y: [Math.min(...losses) / 1.5, 1], log: { y: true }, in: [410, 20, 624, 316], names: { x: "step", y: "loss" } })
    .line(losses.map((loss, k) => [k, loss]), { colour: C.blue });
  return picture;
}
