import { init } from "leastwise";
import { run } from "../../program.mjs";

export const dynamic = "force-dynamic";

export default async function Page() {
  return <pre>{`result: ${JSON.stringify(await run(init, { backend: "cpu" }))}`}</pre>;
}
