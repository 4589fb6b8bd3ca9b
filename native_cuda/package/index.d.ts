/** What was found on this machine. Versions are written `13.0`. */
export interface Found {
  /** The CUDA version that the driver supports. */
  readonly driver: string | null;
  /** The compiler of kernels. */
  readonly nvrtc: string | null;
  /** Kernels that came compiled with this package: the NVRTC that made them and compute capabilities, or why their file can't be read; null where there is none. */
  readonly images: string | null;
  /** Nothing depends on it. */
  readonly cublas: string | null;
  /** Several GPUs exchange numbers by it; one needs none. */
  readonly nccl: string | null;
  readonly gpus: readonly Gpu[];
  /** Why CUDA can't be used, and what to install; null where it can. */
  readonly missing: string | null;
}

export interface Gpu {
  /** What `init({ backend: "cuda", cudaDevice })` and `devices` take. */
  readonly index: number;
  readonly name: string;
  /** Compute capability: major and minor number. */
  readonly architecture: readonly [number, number];
  /** Bytes of its memory. */
  readonly bytes: number;
}

/** Looks for the driver, NVRTC, cuBLAS and GPUs. Never throws. */
export declare function probe(): Found;

/** One of several ranks, for `init({ backend: "cuda", world })` of `leastwise`. */
export interface World {
  /** Number of this process, from 0. */
  readonly rank: number;
  /** Number of processes. */
  readonly size: number;
  /** What all of them have in common. */
  readonly id: Uint8Array;
}

/** The world that `leastwise-cuda run` has started this process in; undefined in any other process, which has one GPU. */
export declare function world(): World | undefined;

/**
 * The id of a new world: 128 bytes, which one process makes and gives to all others by whatever channel there is. It lives until all have
 * made their engines. Throws without NCCL, and says what is missing.
 */
export declare function worldId(): Uint8Array;

/** For `leastwise`, which wraps what it gives: `init({ backend: "cuda" })`. */
export declare function openCuda(precision: "f32" | "f64", limits: object | undefined, device: number | undefined, world: World | undefined, devices: readonly number[] | undefined, timeoutMs: number | undefined): Promise<object>;
/** The same engine on the CPU: for tests. */
export declare function openCpu(precision: "f32" | "f64", limits: object | undefined, world: World | undefined, devices: readonly number[] | undefined, timeoutMs: number | undefined): Promise<object>;
