import { init } from "leastwise";
import { run } from "../../../program.mjs";

export const dynamic = "force-dynamic";

export async function GET() {
  return Response.json(await run(init, { backend: "cpu" }));
}
