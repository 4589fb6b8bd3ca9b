// The deformed bunny: rest pose on the left, result on the right, handles coloured.
import { isTop } from "./arap.mjs";
import { Picture, toView, vertexNormals } from "./raster.mjs";

const WIDTH = 1600, HEIGHT = 800;
const COLOURS = { body: [226, 214, 196], base: [66, 112, 178], top: [232, 104, 52] };

/** Writes the picture. `positions` are the deformed vertices, flat. */
export function drawBeforeAndAfter(path, { rest, triangles, handles }, positions) {
  const pinned = new Set(handles);
  const colours = Array.from({ length: rest.length / 3 }, (_, i) => (pinned.has(i) ? (isTop(rest, i) ? COLOURS.top : COLOURS.base) : COLOURS.body));
  const picture = new Picture(WIDTH, HEIGHT);
  picture.drawBeside([rest, positions].map(toView).map((points) => ({ points, normals: vertexNormals(points, triangles), colours, triangles })));
  picture.write(path);
}
