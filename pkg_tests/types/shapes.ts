// Compiled, never run: shapes, and what their instances are in residual functions.
import { column, exp, huber, manifold, quaternion, se2, se3, select, sim3, so2, so3, sphere, subset } from "leastwise";
import type { Constants, Element, Engine, F32, F64, Manifold, Quat, Scalar, Se2, Se3, Shape, Sim3, So2, Table, Variables, Vec, Vec2, Vec3, Vec4 } from "leastwise";
import { bindAttribute } from "leastwise/three";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

export async function adjustBundle(lw: Engine, cameras: F64, points: F64, cameraOf: Uint32Array, pointOf: Uint32Array, pixels: F64) {
  const problem = lw.problem();
  const camera = problem.variables("camera", { shape: { q: quaternion, t: 3, f: 1, k: 2 }, values: cameras });
  const point = problem.variables("point", { shape: 3, values: points });
  problem.residuals("reprojection", { of: { cam: camera.at(cameraOf), X: point.at(pointOf) }, data: { seen: column(pixels, 2) }, loss: huber(1) },
    ({ cam, X }, { seen }) => {
      const p = cam.q.rotate(X).add(cam.t);
      const u = p.xy.div(p.z.neg()), r2 = u.normSq();
      const bend = r2.mul(r2.mul(cam.k.y).add(cam.k.x)).add(1);                            // 1 + k₁r² + k₂r⁴
      return u.mul(cam.f.mul(bend)).sub(seen);
    });
  const report = await problem.solve({ linear: "schur", onIteration: it => console.log(it.index, it.cost) });
  return { report: String(report), points: await point.read(new Float64Array(points.length)) };
}

export function poses(lw: Engine, idx: Uint32Array, floats: F32) {
  const p = lw.problem();
  const pose = p.variables("pose", { shape: { q: quaternion, t: 3 }, values: floats }), n = p.variables("n", { shape: sphere(3), values: floats });
  is<Same<typeof pose, Variables<{ readonly q: Quat; readonly t: Vec3 }>>>(); is<Same<typeof n, Variables<Vec3>>>();
  const term = p.residuals("t", { over: idx, of: [pose, n, pose.at(0), pose.rows({ offsets: idx, indices: idx })],
    data: { frame: column(floats, quaternion), edge: column(floats, { q: so3, t: 3, w: 1 }) } },
    ([a, b, c, d], data) => {
      is<Same<typeof a.q, Quat>>(); is<Same<typeof a.t, Vec3>>(); is<Same<typeof b, Vec3>>(); is<Same<typeof c.q, Quat>>();
      is<Same<typeof d, readonly { readonly q: Quat; readonly t: Vec3 }[]>>();
      is<Same<typeof data.frame, Quat>>(); is<Same<typeof data.edge.q, Quat>>(); is<Same<typeof data.edge.w, Scalar>>();
      // @ts-expect-error a quaternion is not a 4-vector
      a.q.add(a.q);
      // @ts-expect-error no such field
      a.r;
      // @ts-expect-error fields can't be replaced
      a.t = c.t;
      // @ts-expect-error a record is no vector
      a.sub(c);
      // @ts-expect-error nor may a select choose between records
      select(b.x.gt(0), a, c);
      return [a.q.rotate(b), data.frame.mul(data.edge.q)];
    });
  term.set({ frame: floats, edge: column(floats, { q: so3, t: 3, w: 1 }) });
  // @ts-expect-error another record
  term.set({ edge: column(floats, { q: so3, t: 3 }) });
  // @ts-expect-error a record is not a residual
  p.residuals("record", { of: [pose] }, ([a]) => a);
  // @ts-expect-error three draws vectors
  bindAttribute({}, { array: floats, itemSize: 3, needsUpdate: false }, pose);
  bindAttribute({}, { array: floats, itemSize: 3, needsUpdate: false }, n);
}

export function groups(lw: Engine, floats: F32) {
  const p = lw.problem();
  is<Same<typeof so3, typeof quaternion>>(); is<Same<typeof so2, Manifold<So2>>>();
  const rig = p.constants("rig", { shape: { wheel: so2, base: se2, arm: { upper: se3, lower: se3 }, map: sim3 }, values: floats });
  is<Same<typeof rig, Constants<{ readonly wheel: So2; readonly base: Se2; readonly arm: { readonly upper: Se3; readonly lower: Se3 }; readonly map: Sim3 }>>>();
  p.residuals("groups", { of: [rig] }, ([{ wheel, base, arm, map }]) => {
    const angle = wheel.mul(wheel.inverse()).angle(), at = base.mul(base).transform(base.inverse().t), turned = base.r.rotate(at);
    const reach = arm.upper.mul(arm.lower.inverse()), point = map.inverse().mul(map).transform(reach.t);
    is<Same<typeof angle, Scalar>>(); is<Same<typeof turned, Vec2>>(); is<Same<typeof reach, Se3>>(); is<Same<typeof point, Vec3>>(); is<Same<typeof map.s, Scalar>>(); is<Same<typeof reach.q, Quat>>();
    // @ts-expect-error motions of the plane and of space
    base.mul(reach);
    // @ts-expect-error a point of the plane
    reach.transform(at);
    // @ts-expect-error groups have no sum
    reach.add(reach);
    return [angle, turned, point];
  });
}

export function manifolds(lw: Engine, floats: F32) {
  const p = lw.problem();
  const partly = subset(4, [3]), positive = manifold({ ambient: 1, tangent: 1, retract: (x, d) => { is<Same<typeof x, Scalar>>(); is<Same<typeof d, Scalar>>(); return x.mul(exp(d)); } });
  const line = manifold({ ambient: 6, tangent: 4, retract: (x, d) => { is<Same<typeof x, Vec<6>>>(); is<Same<typeof d, Vec4>>(); return [d.x.add(x.at(0)), d.y.add(x.at(1)), d.z, d.w, x.at(4), x.at(5)]; } });
  is<Same<typeof partly, Manifold<Vec4>>>(); is<Same<typeof positive, Manifold<Scalar>>>(); is<Same<typeof line, Manifold<Vec<6>>>>();
  is<Same<Element<typeof line>, Vec<6>>>(); is<Same<Element<{ readonly a: 1; readonly b: Manifold<Quat> }>, { readonly a: Scalar; readonly b: Quat }>>();
  is<Same<typeof line.tangent, number>>();
  const some: Shape = Math.random() < 0.5 ? 3 : { a: partly, b: { c: positive } };
  p.variables("some", { shape: some, values: floats });
  const any: Table<Vec4> = p.variables("any", { shape: partly, values: floats });
  const dim: number = floats.length;
  const direction = p.variables("direction", { shape: sphere(dim), values: floats });        // sizes known at run time only
  p.residuals("dim", { of: [direction, any] }, ([d]) => d.dot(d).sub(1));
  // @ts-expect-error a manifold is made by a function of ours
  p.variables("fake", { shape: { ambient: 4, tangent: 3, toString: () => "" }, values: floats });
  // @ts-expect-error not a shape
  p.variables("text", { shape: "quaternion", values: floats });
  // @ts-expect-error nor is a list of shapes
  p.variables("list", { shape: [quaternion, 3], values: floats });
  // @ts-expect-error nor a field of it
  p.variables("field", { shape: { q: quaternion, t: [3] }, values: floats });
  // @ts-expect-error a retraction is an expression
  manifold({ ambient: 2, tangent: 1, retract: () => 1 });
  // @ts-expect-error of x and of nothing else than a step
  manifold({ ambient: 2, tangent: 1, retract: (x, d, e) => x.mul(e) });
  // @ts-expect-error it has no sizes
  manifold({ retract: (x) => x });
}
