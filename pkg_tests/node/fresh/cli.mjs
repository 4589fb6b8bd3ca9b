// `npx leastwise` many times in one process, which saves a start of Node for each. A message from the parent is `{ args, cwd }`, and is answered by
// what the command printed and how it ended.
import { pathToFileURL } from "node:url";

const [main] = process.argv.slice(2);
const home = process.cwd();
let calls = 0;

process.on("message", async ({ args, cwd }) => {
  const said = { stdout: "", stderr: "" }, own = {};
  for (const stream of ["stdout", "stderr"]) {
    own[stream] = process[stream].write;
    process[stream].write = (text) => { said[stream] += text; return true; };
  }
  process.chdir(cwd ?? home);
  process.argv.splice(1, Infinity, main, ...args);
  process.exitCode = undefined;
  // A module of another address is evaluated anew; what it imports is there.
  await import(`${pathToFileURL(main)}?call=${calls++}`);
  const code = process.exitCode ?? 0;
  process.exitCode = undefined;
  for (const signal of ["SIGINT", "SIGTERM"]) process.removeAllListeners(signal);
  process.stdout.removeAllListeners("error");
  for (const stream of ["stdout", "stderr"]) process[stream].write = own[stream];
  process.send({ code, ...said });
});
