// Reads an STL and an OFF file where three can't be loaded; prints the error's code and message, and the OFF file's triangles.
import { readMesh } from "leastwise/mesh/files";

const { code, message } = await readMesh("solid a\nendsolid a\n", { format: "stl" }).then(() => ({}), (error) => error);
const { triangles } = await readMesh("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", { format: "off" });
console.log(JSON.stringify({ code, message, triangles: triangles.length / 3 }));
