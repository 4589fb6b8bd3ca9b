// The language service in a worker of its own: TypeScript is loaded here, when the editor is first used.
import ts from "./typescript.mjs";
import { languageOf } from "./language.mjs";

const language = fetch(new URL("declarations.json", import.meta.url)).then((answer) => answer.json()).then((files) => languageOf(ts, new Map(Object.entries(files))));

onmessage = async ({ data: { id, question, given } }) => {
  try {
    postMessage({ id, answer: (await language)[question](...given) });
  } catch (error) {
    postMessage({ id, error: String(error?.message ?? error) });
  }
};
