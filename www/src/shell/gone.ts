/** Rejects what was asked of a loop whose page went on with another problem: there is nothing left to ask, and nothing went wrong. */
export class LoopGone extends Error {
  constructor() { super("the page went on with another problem"); }
}
