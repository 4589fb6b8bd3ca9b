/** Numbers in sentences. */

/** A number and its noun: "1 closure", "1,200 closures". */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
