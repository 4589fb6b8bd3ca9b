/** What is seen: three's scene, its lights, the bunny on its table, and the ball to drag it by. */
import * as THREE from "three/webgpu";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Model } from "./model.js";

export interface View {
  readonly renderer: THREE.WebGPURenderer;
  readonly camera: THREE.PerspectiveCamera;
  readonly controls: OrbitControls;
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.Material>;
  readonly position: THREE.BufferAttribute;
  readonly ball: THREE.Mesh<THREE.SphereGeometry, THREE.MeshStandardMaterial>;
  draw(): void;
}

const BACKGROUND = 0x0d1017;
/** Where the style sheet lets the panel span the screen. */
const NARROW = 640;

/** Makes the scene. The renderer works on `device` if there is one, else with WebGL. */
export async function makeView(canvas: HTMLCanvasElement, model: Model, device: GPUDevice | undefined): Promise<View> {
  const renderer = new THREE.WebGPURenderer({ canvas, antialias: true, ...(device ? { device } : { forceWebGL: true }) });
  await renderer.init();
  renderer.toneMapping = THREE.ACESFilmicToneMapping;
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFShadowMap;

  const scene = new THREE.Scene();
  scene.background = new THREE.Color(BACKGROUND);
  scene.fog = new THREE.Fog(BACKGROUND, 3.2, 6);
  addLights(scene);
  scene.add(makeGround());

  const position = new THREE.BufferAttribute(model.positions.slice(), 3);
  const mesh = makeMesh(model, position);
  const ball = makeBall(model.top);
  scene.add(mesh, ball);

  const camera = new THREE.PerspectiveCamera(38, 1, 0.05, 20);
  camera.position.set(0.35, 1.0, 2.55);
  const controls = new OrbitControls(camera, canvas);
  controls.target.set(0, 0.52, 0);
  controls.enableDamping = true;
  controls.enablePan = false;
  controls.minDistance = 1.2;
  controls.maxDistance = 4.5;
  controls.maxPolarAngle = 1.54;

  const fit = () => {
    const { clientWidth: width, clientHeight: height } = canvas;
    renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    renderer.setSize(width, height, false);
    camera.aspect = width / height;
    // On a narrow screen the width is what has to hold the bunny.
    camera.fov = width < height ? Math.min(70, (38 * height) / width) : 38;
    // Clear of the panel: beside it, or below it.
    const [right, down] = width > NARROW ? [Math.min(130, width / 8), 0] : [0, height / 12];
    camera.setViewOffset(width, height, -right, -down, width, height);
  };
  fit();
  new ResizeObserver(fit).observe(canvas);

  const draw = () => {
    controls.update();
    void renderer.render(scene, camera);
  };
  return { renderer, camera, controls, mesh, position, ball, draw };
}

function makeMesh(model: Model, position: THREE.BufferAttribute): View["mesh"] {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", position);
  geometry.setIndex(new THREE.BufferAttribute(model.triangles, 1));
  // The vertices live on the GPU, so the shader takes normals from the derivatives of what it draws.
  const material = new THREE.MeshStandardMaterial({ color: 0xd8c3a5, roughness: 0.62, metalness: 0.02, flatShading: true, side: THREE.DoubleSide });
  const mesh = new THREE.Mesh(geometry, material);
  mesh.castShadow = mesh.receiveShadow = true;
  mesh.frustumCulled = false;
  return mesh;
}

function makeBall(at: Model["top"]): View["ball"] {
  const material = new THREE.MeshStandardMaterial({ color: 0xff9a1f, emissive: 0xff7a00, emissiveIntensity: 0.35, roughness: 0.35 });
  const ball = new THREE.Mesh(new THREE.SphereGeometry(0.055, 32, 20), material);
  ball.position.set(...at);
  ball.castShadow = true;
  return ball;
}

function addLights(scene: THREE.Scene): void {
  scene.add(new THREE.HemisphereLight(0xbfd4ff, 0x2a1d12, 0.9));
  const key = new THREE.DirectionalLight(0xfff0dc, 3.2);
  key.position.set(1.6, 2.6, 1.8);
  key.castShadow = true;
  key.shadow.mapSize.set(1024, 1024);
  key.shadow.radius = 4;
  key.shadow.normalBias = 0.02;
  Object.assign(key.shadow.camera, { left: -1.5, right: 1.5, top: 1.7, bottom: -1.2, near: 0.5, far: 7 });
  const rim = new THREE.DirectionalLight(0x6fa8ff, 2.2);
  rim.position.set(-2.2, 1.2, -2);
  scene.add(key, rim);
}

function makeGround(): THREE.Mesh {
  const ground = new THREE.Mesh(new THREE.CircleGeometry(6, 64), new THREE.MeshStandardMaterial({ color: 0x1b2230, roughness: 0.95 }));
  ground.rotation.x = -Math.PI / 2;
  ground.receiveShadow = true;
  return ground;
}
