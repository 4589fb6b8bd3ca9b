/** Progress bars on the error output, where a person looks at it. */
import { SingleBar } from "cli-progress";

export class Progress {
  readonly #shown: boolean;
  #bar: SingleBar | undefined;

  constructor({ quiet }: { quiet: boolean }) {
    this.#shown = !quiet && process.stderr.isTTY === true;
  }

  /** Begins a bar in place of the last; gives what moves it. */
  stage(name: string): (done: number, total: number) => void {
    this.end();
    if (!this.#shown) return () => undefined;
    const bar = new SingleBar({ format: `${name.padEnd(12)} {bar} {percentage} %  {duration_formatted}`, stream: process.stderr, hideCursor: true, clearOnComplete: true, stopOnComplete: false });
    bar.start(1, 0);
    this.#bar = bar;
    return (done, total) => {
      bar.setTotal(total);
      bar.update(done);
    };
  }

  /** Takes the bar away, and gives the cursor back. */
  end(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }
}
