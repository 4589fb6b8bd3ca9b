/** What is used of three.js' loaders, so that the package's types need none of three's. */
interface ThreeGeometry {
  readonly attributes: { readonly position?: { readonly count: number; getX(k: number): number; getY(k: number): number; getZ(k: number): number } };
  readonly index: { readonly count: number; getX(k: number): number } | null;
  applyMatrix4(matrix: unknown): ThreeGeometry;
}

interface ThreeObject {
  readonly isMesh?: boolean;
  readonly geometry?: ThreeGeometry;
  readonly matrixWorld: unknown;
  traverse(visit: (object: ThreeObject) => void): void;
  updateMatrixWorld(force?: boolean): void;
}

interface GltfParser {
  readonly json: {
    readonly bufferViews?: readonly { readonly buffer: number; readonly byteOffset?: number; readonly byteLength: number }[];
    readonly buffers?: readonly { readonly uri?: string }[];
  };
}

declare module "three/addons/loaders/OBJLoader.js" {
  export class OBJLoader { parse(text: string): ThreeObject }
}
declare module "three/addons/loaders/PLYLoader.js" {
  export class PLYLoader { parse(data: ArrayBuffer): ThreeGeometry }
}
declare module "three/addons/loaders/STLLoader.js" {
  export class STLLoader { parse(data: ArrayBuffer): ThreeGeometry }
}
declare module "three/addons/loaders/GLTFLoader.js" {
  export class GLTFLoader {
    register(plugin: (parser: GltfParser) => object): this;
    parseAsync(data: ArrayBuffer, path: string): Promise<{ readonly scene: ThreeObject }>;
  }
}
