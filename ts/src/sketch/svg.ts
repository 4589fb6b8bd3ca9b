/**
 * Path data of SVG (SVG 2, section 9.3), read and written: all commands, absolute and relative. y is downwards there and upwards in
 * sketches. Arcs of circles are arcs, other curves cubic Bézier splines; elliptical arcs are approximated by these.
 */
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import type { Geometry } from "./geometry.js";
import type { SketchOf } from "./model.js";
import type { Drawing, SketchArc, SketchLine, SketchPoint, SketchSpline } from "./shapes.js";
import { beziersOf } from "./spline.js";

/**
 * Geometry that path data of SVG drew, in its order.
 *
 * @example
 * const { lines, arcs }: ReadPaths = sketch(lw).addSVG("M0 0 H4 V3 Z");
 */
export interface ReadPaths {
  /** Points that the path goes through, each once. */
  readonly points: readonly SketchPoint[];
  readonly lines: readonly SketchLine[];
  readonly arcs: readonly SketchArc[];
  readonly splines: readonly SketchSpline[];
}

type Place = readonly [number, number];

/** Numbers that each command takes, in lower case. */
const TAKES: { readonly [command: string]: number } = { m: 2, l: 2, h: 1, v: 1, c: 6, s: 4, q: 4, t: 2, a: 7, z: 0 };
const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y, SEPARATOR = /[\s,]*/y;
/** Relative difference of radii up to which an elliptical arc is one of a circle. */
const ROUND = 1e-9;

const refuse = (message: string): never => { throw new LeastwiseError("invalid-option", `addSVG(path): ${message}`); };

/** Commands with their numbers; a command that is given once for several runs of numbers is repeated. */
function commandsOf(path: string): { readonly command: string; readonly numbers: readonly number[] }[] {
  const commands: { command: string; numbers: number[] }[] = [];
  let at = 0;
  const skip = (): void => { SEPARATOR.lastIndex = at; SEPARATOR.exec(path); at = SEPARATOR.lastIndex; };
  const number = (command: string, k: number): number => {
    skip();
    // Flags of arcs may stand without a separator.
    const isFlag = command.toLowerCase() === "a" && (k === 3 || k === 4);
    if (isFlag && /[01]/.test(path[at] ?? "")) return Number(path[at++]);
    NUMBER.lastIndex = at;
    const [text] = NUMBER.exec(path) ?? refuse(`at ${at}: "${command}" takes ${TAKES[command.toLowerCase()]} numbers`);
    at = NUMBER.lastIndex;
    return Number(text);
  };
  for (skip(); at < path.length; skip()) {
    const letter = path[at]!, isCommand = Object.hasOwn(TAKES, letter.toLowerCase()), last = commands.at(-1)?.command;
    if (isCommand) at++;
    else if (last === undefined || last.toLowerCase() === "z" || !/[-+.\d]/.test(letter)) refuse(`at ${at}: ${shownValue(letter)} is no command of path data`);
    // Further numbers after a move are lines.
    const command = isCommand ? letter : last === "M" ? "L" : last === "m" ? "l" : last!;
    if (commands.length === 0 && command.toLowerCase() !== "m") refuse(`path data begins with "M", not "${command}"`);
    commands.push({ command, numbers: Array.from({ length: TAKES[command.toLowerCase()]! }, (_, k) => number(command, k)) });
  }
  return commands;
}

/** @internal */
export function addPaths(sketch: SketchOf, path: unknown, drawing: Drawing): ReadPaths {
  if (typeof path !== "string") return refuse(`path data is a string, not ${shownValue(path)}`);
  const made = { points: [] as SketchPoint[], lines: [] as SketchLine[], arcs: [] as SketchArc[], splines: [] as SketchSpline[] };
  const commands = commandsOf(path);
  let at: Place = [0, 0], start: Place = [0, 0], from: SketchPoint | undefined, first: SketchPoint | undefined, control: Place = [0, 0], before = "";
  const pointAt = ([x, y]: Place): SketchPoint => { const point = sketch.point(x, -y); made.points.push(point); return point; };
  const isThere = (a: Place, b: Place): boolean => Math.hypot(a[0] - b[0], a[1] - b[1]) <= 1e-9 * Math.max(1, ...[...a, ...b].map(Math.abs));
  /** Points at both ends of a segment; the first one again where the path comes back to it. */
  const ends = (to: Place): [SketchPoint, SketchPoint] => {
    const begin = (from ??= first = pointAt(at)), end = isThere(to, start) && begin !== first ? first! : pointAt(to);
    from = end;
    return [begin, end];
  };
  const lineTo = (to: Place): void => { if (!isThere(at, to)) made.lines.push(sketch.line(...ends(to), drawing)); };
  const curveTo = (a: Place, b: Place, to: Place): void => {
    const [begin, end] = ends(to);
    made.splines.push(sketch.spline([begin, sketch.point(a[0], -a[1]), sketch.point(b[0], -b[1]), end], drawing));
  };
  for (const { command, numbers } of commands) {
    const lower = command.toLowerCase(), [ox, oy] = command === lower ? at : [0, 0];
    const place = (k: number): Place => [ox + numbers[k]!, oy + numbers[k + 1]!];
    const mirrored = (of: string): Place => (of.includes(before) && before ? [2 * at[0] - control[0], 2 * at[1] - control[1]] : at);
    let to = at;
    switch (lower) {
      case "m": start = to = place(0); from = first = undefined; break;
      case "l": lineTo(to = place(0)); break;
      case "h": lineTo(to = [ox + numbers[0]!, at[1]]); break;
      case "v": lineTo(to = [at[0], oy + numbers[0]!]); break;
      case "c": case "s": {
        const [a, b] = lower === "c" ? [place(0), place(2)] : [mirrored("cs"), place(0)];
        curveTo(a, control = b, to = place(lower === "c" ? 4 : 2));
        break;
      }
      case "q": case "t": {
        const middle: Place = lower === "q" ? place(0) : mirrored("qt"), third = (end: Place): Place => [end[0] + (2 / 3) * (middle[0] - end[0]), end[1] + (2 / 3) * (middle[1] - end[1])];
        to = place(lower === "q" ? 2 : 0);
        curveTo(third(at), third(to), to);
        control = middle;
        break;
      }
      case "a": {
        to = place(5);
        const arc = centreOf(at, to, numbers);
        if (!arc) lineTo(to);
        else if (!isThere(at, to) && arc.isRound) {
          const [begin, end] = ends(to), centre = sketch.point(arc.centre[0], -arc.centre[1]);
          // With y downwards, a sweep is clockwise.
          made.arcs.push(arc.sweep < 0 ? sketch.arc(centre, begin, end, drawing) : sketch.arc(centre, end, begin, drawing));
        } else if (!isThere(at, to)) for (const piece of arc.pieces) { curveTo(...piece); at = piece[2]; }
        break;
      }
      case "z": lineTo(to = start); from = first; break;
    }
    at = to;
    before = lower;
  }
  return made;
}

interface Elliptic { readonly centre: Place; readonly sweep: number; readonly isRound: boolean; readonly pieces: readonly (readonly [Place, Place, Place])[] }

/** Centre, sweep and Bézier pieces of an elliptical arc (SVG 2, appendix B.2.4); undefined for one without radii, which is a line. */
function centreOf(from: Place, to: Place, [rx0 = 0, ry0 = 0, degrees = 0, large, sweeps]: readonly number[]): Elliptic | undefined {
  if (rx0 === 0 || ry0 === 0) return undefined;
  const turn = (degrees * Math.PI) / 180, [c, s] = [Math.cos(turn), Math.sin(turn)], dx = (from[0] - to[0]) / 2, dy = (from[1] - to[1]) / 2;
  const [x, y] = [c * dx + s * dy, c * dy - s * dx], grow = Math.max(1, Math.hypot(x / rx0, y / ry0)), [rx, ry] = [Math.abs(rx0) * grow, Math.abs(ry0) * grow];
  const share = (y * rx) ** 2 + (x * ry) ** 2, root = (large === sweeps ? -1 : 1) * Math.sqrt(Math.max(0, ((rx * ry) ** 2 - share) / share));
  const [u, v] = [(root * rx * y) / ry, (-root * ry * x) / rx];
  const centre: Place = [c * u - s * v + (from[0] + to[0]) / 2, s * u + c * v + (from[1] + to[1]) / 2];
  const begin = Math.atan2((y - v) / ry, (x - u) / rx), end = Math.atan2((-y - v) / ry, (-x - u) / rx), around = 2 * Math.PI;
  const sweep = sweeps ? (((end - begin) % around) + around) % around : -((((begin - end) % around) + around) % around);
  const count = Math.max(1, Math.ceil(Math.abs(sweep) / (Math.PI / 2) - 1e-9)), step = sweep / count, reach = (4 / 3) * Math.tan(step / 4);
  const at = (angle: number, along: number): Place => {
    const [p, q] = [rx * (Math.cos(angle) - along * Math.sin(angle)), ry * (Math.sin(angle) + along * Math.cos(angle))];
    return [centre[0] + c * p - s * q, centre[1] + s * p + c * q];
  };
  const pieces = Array.from({ length: count }, (_, k) => [at(begin + k * step, reach), at(begin + (k + 1) * step, -reach), k === count - 1 ? to : at(begin + (k + 1) * step, 0)] as const);
  return { centre, sweep, isRound: Math.abs(rx - ry) <= ROUND * rx, pieces };
}

/** Path data of what is not construction geometry; segments that follow each other go on without a new "M". @internal */
export function pathsOf(geometry: Geometry): string {
  const path: string[] = [];
  const place = (point: number): Place => [geometry.x(point), geometry.y(point)], pair = ([x, y]: Place): string => `${shown(x)} ${shown(-y)}`;
  let last: number | undefined, first: number | undefined;
  const go = (from: number, to: number, text: string): void => {
    if (from !== last) { path.push(`M${pair(place(from))}`); first = from; }
    path.push(text);
    last = to;
    if (to === first) { path.push("Z"); last = undefined; }
  };
  const round = (centre: Place, start: Place, rx: number, ry: number, degrees: number): void => {
    const opposite: Place = [2 * centre[0] - start[0], 2 * centre[1] - start[1]], arc = `A${shown(rx)} ${shown(ry)} ${shown(degrees)} 1 0 `;
    path.push(`M${pair(start)}`, `${arc}${pair(opposite)}`, `${arc}${pair(start)}`, "Z");
    last = undefined;
  };
  for (const { shape, parts: { points, scalar }, construction } of geometry.shapes) {
    if (construction) continue;
    const [a, b, c] = points as [number, number, number], radius = scalar === undefined ? 0 : geometry.scalars[scalar]!;
    if (shape === "line") go(a, b, `L${pair(place(b))}`);
    else if (shape === "circle") round(place(a), [geometry.x(a) + radius, geometry.y(a)], radius, radius, 0);
    else if (shape === "ellipse") round(place(a), place(b), geometry.apart(a, b), radius, (-Math.atan2(geometry.y(b) - geometry.y(a), geometry.x(b) - geometry.x(a)) * 180) / Math.PI);
    else if (shape === "spline") go(a, points.at(-1)!, beziersOf(points.map(place)).map((piece) => `C${piece.slice(1).map(pair).join(" ")}`).join(" "));
    else {
      // From b counter-clockwise to c; or backwards, if the path has come to c.
      const isBack = c === last, [from, to] = isBack ? [c, b] : [b, c], turn = (Math.atan2(geometry.y(c) - geometry.y(a), geometry.x(c) - geometry.x(a)) - Math.atan2(geometry.y(b) - geometry.y(a), geometry.x(b) - geometry.x(a)) + 4 * Math.PI) % (2 * Math.PI);
      go(from, to, `A${shown(radius)} ${shown(radius)} 0 ${turn > Math.PI ? 1 : 0} ${isBack ? 1 : 0} ${pair(place(to))}`);
    }
  }
  return path.join(" ");
}

/** A number with the digits that it takes to read it back; −0 is 0. */
const shown = (value: number): string => String(value === 0 ? 0 : value);
