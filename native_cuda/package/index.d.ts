/** What was found on this machine. Versions are written `13.0`. */
export interface Found {
  /** The CUDA version that the driver supports. */
  readonly driver: string | null;
  /** The compiler of kernels. */
  readonly nvrtc: string | null;
  /** Nothing depends on it. */
  readonly cublas: string | null;
  readonly gpus: readonly Gpu[];
  /** Why CUDA can't be used, and what to install; null where it can. */
  readonly missing: string | null;
}

export interface Gpu {
  /** What `init({ backend: "cuda", cudaDevice })` takes. */
  readonly index: number;
  readonly name: string;
  /** Compute capability: major and minor number. */
  readonly architecture: readonly [number, number];
  /** Bytes of its memory. */
  readonly bytes: number;
}

/** Looks for the driver, NVRTC, cuBLAS and GPUs. Never throws. */
export declare function probe(): Found;

/** For `leastwise`, which wraps what it gives: `init({ backend: "cuda" })`. */
export declare function openCuda(precision: "f32" | "f64", limits: object | undefined, device: number): Promise<object>;
/** The same engine on the CPU: for tests. */
export declare function openCpu(precision: "f32" | "f64", limits: object | undefined): Promise<object>;
