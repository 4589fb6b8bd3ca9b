// How long test programs take.

/** Seconds by test program that cargo ran, of its output: "Running tests/solve.rs (…)", then "finished in 1.23s". */
export function timesOfCargo(output) {
  const times = [];
  let running;
  for (const line of output.split("\n")) {
    const started = /^\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))/.exec(line);
    if (started) running = started[1] ?? `doc-tests of ${started[2]}`;
    const took = /finished in ([\d.]+)s/.exec(line);
    if (took && running) times.push([running, Number(took[1])]);
  }
  return times.sort(([, a], [, b]) => b - a);
}
