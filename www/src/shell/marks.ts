/** Moments of a page's start, as marks of the browser's timeline: `npm run pages` and developers' tools show them. */

/** `"leastwise picture"`: something of the page's own was drawn. `"leastwise interactive"`: its first step is made, or it waits for the visitor. */
export type Moment = "picture" | "interactive";

const made = new Set<Moment>();

/** Marks a moment, the first time that it comes. */
export function mark(moment: Moment): void {
  if (made.has(moment)) return;
  made.add(moment);
  performance.mark(`leastwise ${moment}`);
}
