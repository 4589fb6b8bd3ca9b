// The module "playground": pictures that a program sends to the page.
import { around, COLOURS, drawMesh, Picture, viewFrom } from "./pictures/plot.mjs";

const STYLES = [COLOURS.blue, COLOURS.orange, COLOURS.green, COLOURS.purple, COLOURS.red, COLOURS.grey];

const pairs = (points) => [...(points[Symbol.iterator] ? points : Array.from(points))].map((value, k) => (typeof value === "number" ? [k, value] : [value[0], value[1]]));
const show = (picture, title) => postMessage({ picture: picture.svg(title) });

/** The range of an axis. A logarithmic one has no room for what is not positive. */
function range(values, isLog, name) {
  if (!values.length) throw new Error("playground: a plot needs at least one point");
  if (!values.every(Number.isFinite)) throw new Error(`playground: ${name} has values that are not finite`);
  if (!isLog) return around(values);
  if (values.some((value) => value <= 0)) throw new Error(`playground: a logarithmic axis needs positive values; ${name} has others`);
  return around(values.map(Math.log)).map(Math.exp);
}

/** Draws lines and dots. */
export function plot(lines, { title = "", x, y, logX = false, logY = false, equal = false } = {}) {
  const all = Object.entries(lines).map(([name, line], k) => ({ name, dot: line.dots !== undefined, points: pairs(line.dots ?? line), colour: STYLES[k % STYLES.length] }));
  const values = [0, 1].map((axis) => all.flatMap(({ points }) => points.map((point) => point[axis])));
  const picture = new Picture(640, 380);
  const axes = picture.axes({ x: range(values[0], logX, "x"), y: range(values[1], logY, "y"), log: { x: logX, y: logY }, equal, names: { x, y }, in: [62, title ? 40 : 20, 620, 330] });
  if (title) picture.text(title, [320, 26], { size: 15 });
  for (const { points, dot, colour } of all) {
    if (dot) axes.dots(points, { colour, radius: 2.5 });
    else axes.line(points, { colour });
  }
  if (all.length > 1) picture.legend(all.map(({ name, colour, dot }) => [name, { colour, dot }]), [76, title ? 60 : 40]);
  show(picture, title || all.map(({ name }) => name).join(", "));
}

/** Draws a mesh. */
export function mesh(positions, triangles, { title = "", turn = 0.6, tilt = 0.5, up = 1 } = {}) {
  const points = Array.from({ length: positions.length / 3 }, (_, i) => [positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]]);
  const wrong = Array.from(triangles).find((vertex) => !(vertex >= 0 && vertex < points.length));
  if (wrong !== undefined) throw new Error(`playground: a triangle names vertex ${wrong} of ${points.length}`);
  const view = viewFrom({ turn, tilt, up }), seen = points.map(view), picture = new Picture(640, 420);
  if (title) picture.text(title, [320, 26], { size: 15 });
  const axes = picture.axes({ x: around(seen.map(([a]) => a)), y: around(seen.map(([, b]) => b)), equal: true, frame: false, in: [20, title ? 40 : 20, 620, 400] });
  drawMesh(axes, picture, points, triangles, view);
  show(picture, title || "A mesh");
}
