// Declarations for the examples of exports: an engine `lw`, a `problem` with tables and a term, and the expressions of a residual function.
declare const lw: import("leastwise").Engine;
declare const set: import("leastwise/fits").FitSet<"mean">;
declare const problem: import("leastwise").Problem;
declare const report: import("leastwise").Report;
declare const x: import("leastwise").Variables<import("leastwise").Vec3>;
declare const scale: import("leastwise").Variables<import("leastwise").Scalar>;
declare const uv: import("leastwise").Variables<import("leastwise").Vec2>;
declare const pose: import("leastwise").Variables<{ readonly q: import("leastwise").Quat; readonly t: import("leastwise").Vec3 }>;
declare const term: import("leastwise").Term<{ seen: Float64Array }>;

// In a residual function.
declare const a: import("leastwise").Vec3, b: import("leastwise").Vec3, c: import("leastwise").Vec3, d: import("leastwise").Vec3, turn: import("leastwise").Vec3;
declare const s: import("leastwise").Scalar, u: import("leastwise").Scalar;
declare const m: import("leastwise").Mat3;
declare const q: import("leastwise").Quat;

// Vectors, tensors and files.
declare const points: Float32Array<ArrayBuffer>;
declare const triangles: Uint32Array;
declare const mesh: import("leastwise/mesh").Mesh;
declare const bytes: Uint8Array<ArrayBuffer>;
declare const index: import("leastwise").VectorIndex;
declare const weights: import("leastwise").Tensor, logits: import("leastwise").Tensor, images: import("leastwise").Tensor, filters: import("leastwise").Tensor;
declare const queries: import("leastwise").Tensor, keys: import("leastwise").Tensor, values: import("leastwise").Tensor;
declare const model: import("leastwise/nn").Module;

// Of other packages, and of the other entry.
declare const renderer: object;
declare const geometry: { readonly attributes: { readonly position: import("leastwise/three").BindableAttribute } };
declare const threadedInit: typeof import("leastwise/threads").init;
