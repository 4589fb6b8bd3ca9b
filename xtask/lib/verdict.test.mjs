// The kit's script with programs that stand in for its own, and what `npm test` says of its verdicts.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kitVerdict, packedFrom, runScript } from "./verdict.mjs";

const folderOf = (t) => {
  const folder = mkdtempSync(join(tmpdir(), "leastwise-kit-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** A kit that is unpacked already, whose programs say that so many tests passed and failed. */
function kitOf(t, { device: [passed, failed], node: [pass, fail] }) {
  const kit = folderOf(t);
  mkdirSync(join(kit, "work"));
  const program = (name, text) => {
    writeFileSync(join(kit, "work", name), `#!/usr/bin/env bash\n${text}\n`);
    chmodSync(join(kit, "work", name), 0o755);
  };
  program("cuda-tests", `echo "test result: ok. ${passed} passed; ${failed} failed; 0 ignored"; exit ${failed ? 1 : 0}`);
  program("node", `printf 'ℹ tests %s\\nℹ pass %s\\nℹ fail %s\\n' ${pass + fail} ${pass} ${fail}; exit ${fail ? 1 : 0}`);
  writeFileSync(join(kit, "run.sh"), runScript({ files: ["a.test.mjs"], pattern: "^x", packed: "0123abc" }));
  return (...parts) => {
    const done = spawnSync("bash", [join(kit, "run.sh"), ...parts], { encoding: "utf8", env: { ...process.env, OUT: join(kit, "out") } });
    const [when, packed, , counts, verdict] = readFileSync(join(kit, "out/kit.txt"), "utf8").trim().split(" | ");
    assert.match(when, /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/);
    return { status: done.status, packed, counts, verdict };
  };
}

test("the kit writes one line of verdict, of the parts that it has run", (t) => {
  const run = kitOf(t, { device: [19, 0], node: [551, 0] });
  assert.deepEqual(run("device"), { status: 0, packed: "0123abc", counts: "device 19 passed 0 failed, images not run, addon not run, suite not run", verdict: "incomplete" });
  const whole = { status: 0, packed: "0123abc", counts: "device 19 passed 0 failed, images 19 passed 0 failed, addon 551 passed 0 failed, suite 551 passed 0 failed", verdict: "passed" };
  assert.deepEqual(run("images", "addon", "suite"), whole, "parts may come one by one");
  assert.deepEqual(run(), whole);
});

test("a kit fails where a test failed, or where there was none", (t) => {
  const failing = kitOf(t, { device: [18, 1], node: [551, 0] })();
  assert.deepEqual([failing.status, failing.verdict], [1, "FAILED"]);
  assert.match(failing.counts, /^device 18 passed 1 failed, /);
  const empty = kitOf(t, { device: [19, 0], node: [0, 0] })();
  assert.deepEqual([empty.status, empty.verdict], [1, "FAILED"]);
});

test("npm test says what changed since the kit passed", (t) => {
  const tree = folderOf(t);
  const git = (...args) => {
    const done = spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: tree, encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout.trim();
  };
  const write = (path, text) => {
    mkdirSync(join(tree, path, ".."), { recursive: true });
    writeFileSync(join(tree, path), text);
  };
  git("init", "-q");
  write("src/lib.rs", "1");
  write("docs/a.md", "1");
  git("add", ".");
  git("commit", "-qm", "first");
  assert.match(kitVerdict(tree).lines[0], /no verdict in benches\/results\/kit.txt; .*`npm run kit`/);
  const commit = packedFrom(tree);
  assert.equal(commit, git("rev-parse", "HEAD"));
  const verdict = (packed, how) => {
    mkdirSync(join(tree, "benches/results"), { recursive: true });
    appendFileSync(join(tree, "benches/results/kit.txt"), `2026-11-23T12:00Z | ${packed} | NVIDIA H200 | device 19 passed 0 failed | ${how}\n`);
  };
  verdict(commit, "passed");
  assert.deepEqual([packedFrom(tree), kitVerdict(tree).passed], [`${commit} dirty`, true], "a verdict is not the engine");
  write("docs/a.md", "2");
  assert.deepEqual(kitVerdict(tree).lines.slice(1), ["  no file of the engine changed since"]);
  git("add", ".");
  git("commit", "-qm", "the verdict");
  assert.ok(kitVerdict(tree).passed, "a commit of other files is not the engine either");
  write("src/lib.rs", "2");
  write("shaders/new.wgsl", "1");
  const { passed, lines } = kitVerdict(tree);
  assert.ok(!passed);
  assert.match(lines[1], /^ {2}2 files of src\/, shaders\/, native_cuda\/ changed since: src\/lib.rs, shaders\/new.wgsl; /);
  git("add", ".");
  git("commit", "-qm", "second");
  assert.equal(kitVerdict(tree).passed, false, "committed or not");
  for (const [packed, how] of [[packedFrom(tree), "FAILED"], [`${packedFrom(tree)} dirty`, "passed"], ["0000000", "passed"]]) {
    verdict(packed, how);
    assert.equal(kitVerdict(tree).passed, false, `${packed} ${how}`);
  }
});
