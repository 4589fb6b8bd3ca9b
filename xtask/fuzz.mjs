// `npm run fuzz -- --minutes 10 --seed 1 [--part "in double-floats"]`: random programs against independent evaluators, for as long as one likes.
import { gpuEnvironment } from "./lib/gpu.mjs";
import { entry, passThrough, StepError } from "./lib/run.mjs";

function options(args) {
  const values = { minutes: "10", seed: String(Math.floor(Math.random() * 1e6)), part: "" };
  for (let k = 0; k < args.length; k += 2) {
    const name = args[k].replace(/^--/, "");
    const valid = name === "part" ? args[k + 1] : name in values && Number(args[k + 1]) >= 0;
    if (!valid) throw new StepError(`npm run fuzz -- --minutes 10 --seed 1 --part "in double-floats": what is \`${args.slice(k).join(" ")}\`?`);
    values[name] = args[k + 1];
  }
  return values;
}

await entry(import.meta, async () => {
  const { minutes, seed, part } = options(process.argv.slice(2));
  console.log(`fuzzing for ${minutes} minutes from seed ${seed}`);
  await passThrough("fuzz", "cargo", ["test", "--test", "fuzz", "--", "campaign", "--ignored", "--nocapture"],
    { env: { ...gpuEnvironment(), LEASTWISE_FUZZ_MINUTES: minutes, LEASTWISE_FUZZ_SEED: seed, LEASTWISE_FUZZ_PART: part, RUST_BACKTRACE: "0" } });
});
