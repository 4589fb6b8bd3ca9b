"use client";

import { init } from "leastwise";
import { useEffect } from "react";
import { run } from "../program.mjs";

export default function Page() {
  useEffect(() => { window.result = run(init, { backend: "cpu" }); }, []);
  return <p>In the browser</p>;
}
