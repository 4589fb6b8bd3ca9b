/** `leastwise demo`: bends a sphere, and draws what became of it. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "../arguments.js";
import { COMMON_OPTIONS, withEngine } from "../engine.js";
import { mustBeWritable, writeAtomically } from "../files.js";
import { draw, lines, png, type Colour } from "../picture.js";
import { bend, sphere, type Sphere } from "../sphere.js";
import { counted, short, time } from "../text.js";

const BODY: Colour = [226, 214, 196], BOTTOM: Colour = [66, 112, 178], TOP: Colour = [232, 104, 52];
const SUBDIVISIONS = 4;
/** What is left of the cost then is not seen. */
const TOLERANCE = 1e-3;

export const demo: Command = {
  name: "demo",
  summary: "bend a sphere, and draw it here and into a file",
  positionals: [],
  options: { output: { short: "o", value: "FILE", help: "where the picture goes; leastwise-demo.png unless given" }, ...COMMON_OPTIONS },
  notes: `A sphere is held at its bottom (blue), and lifted and turned at its top (orange); what is between stays as rigid as possible.
The solve is of this package, on the backend that this machine has.`,

  async run(args, signal) {
    const output = resolve(args.text("output") ?? "leastwise-demo.png");
    await mustBeWritable([output], []);
    const mesh = sphere(SUBDIVISIONS);
    await withEngine(args, async (lw) => {
      const { report, positions } = await bend(lw, mesh, TOLERANCE, signal);
      const colours = coloursOf(mesh);
      const meshes = [mesh.rest, positions].map((positions) => ({ positions, triangles: mesh.triangles, colours }));
      await writeAtomically(output, [png(draw(meshes, 1200, 720))]);
      const { cost, initialCost, termination, iterations } = report, vertices = mesh.rest.length / 3, picture = pathToFileURL(output).href;
      if (args.has("json")) return console.log(JSON.stringify({ backend: lw.backend, reason: lw.reason, vertices, initialCost, cost, iterations: iterations.length, termination, ms: report.time.solveMs, picture }));
      const terminal = process.stdout.isTTY === true, width = Math.min(78, (process.stdout.columns ?? 80) - 2);
      console.log(lines(draw(meshes, width, 2 * Math.round(width / 3)), terminal && process.env["NO_COLOR"] === undefined));
      console.log(`\n${counted(vertices, "vertex", "vertices")}, ${counted(6 * vertices, "unknown")}, on ${lw.backend}: ${lw.reason}`);
      console.log(`cost ${short(initialCost)} → ${short(cost)} in ${counted(iterations.length, "iteration")}, ${time(report.time.solveMs)}: ${termination}`);
      console.log(`picture: ${picture}\n\nnpx leastwise doctor says which backends this machine has.`);
    });
  },
};

function coloursOf({ rest, handles }: Sphere): readonly Colour[] {
  const held = new Set(handles);
  return Array.from({ length: rest.length / 3 }, (_, i) => (!held.has(i) ? BODY : rest[3 * i + 1]! > 0 ? TOP : BOTTOM));
}
