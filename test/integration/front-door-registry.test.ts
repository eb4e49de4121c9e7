import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';

const SCRIPTS = path.resolve(import.meta.dirname, '../../scripts');
const DEADLINE_MS = 60_000;

const PLATFORM = `${process.platform}-${process.arch}`;
const HASHES = { [`node-${PLATFORM}`]: 'sha512-node', pnpm: 'sha512-pnpm', [`@pnpm/exe.${PLATFORM}`]: 'sha512-exe' };

type At = (...names: readonly string[]) => string;

/** A checkout with nothing installed, whose npm and pnpm fail with these complaints, one a call, and then work. */
function newCheckout(
  t: TestContext,
  complaints: readonly string[],
  wanted: { readonly node?: string; readonly integrity?: object } = {},
) {
  const root = mkdtempSync(path.join(tmpdir(), 'holdfast-checkout-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const at: At = (...names) => path.join(root, ...names);
  for (const folder of ['scripts/sources', 'services/holdfast/src', 'libs', 'bin', 'node_modules'])
    mkdirSync(at(folder), { recursive: true });
  const door = readFileSync(path.join(SCRIPTS, 'front-door.mjs'), 'utf8');
  writeFileSync(at('scripts/front-door.mjs'), door.replace('PAUSE_MS = 3_000', 'PAUSE_MS = 1'));
  for (const name of ['toolchain.json', 'pinned-packages.mjs', 'lock-pnpm.mjs'])
    copyFileSync(path.join(SCRIPTS, name), at('scripts', name));
  if (wanted.node !== undefined)
    writeFileSync(
      at('scripts/toolchain.json'),
      JSON.stringify({ node: wanted.node, pnpm: '1.0.0', integrity: wanted.integrity ?? HASHES }),
    );
  writeFileSync(at('scripts/sources/use.mjs'), '');
  writeFileSync(at('scripts/sources/bundle-state.mjs'), 'export const isBundleFresh = () => true;');
  writeFileSync(at('services/holdfast/src/main.ts'), `console.log('handed over');`);
  writeFileSync(at('complaints'), complaints.map((each) => `${each}\n`).join(''));
  const folder = `node_modules/node-${PLATFORM}`;
  const installed = `mkdir -p ${folder}/bin && ln -sf "${process.execPath}" ${folder}/bin/node && echo '{"version":"${wanted.node}"}' > ${folder}/package.json
mkdir -p node_modules/.bin node_modules/pnpm && cp "${at('bin/pnpm')}" node_modules/.bin/pnpm && echo '{"version":"1.0.0"}' > node_modules/pnpm/package.json`;
  const program = (then: string): string => `#!/bin/sh
echo "$(basename "$0")" >> "${at('calls')}"
complaint=$(sed -n "$(wc -l < "${at('calls')}")p" "${at('complaints')}")
[ "$complaint" = "" ] || { echo "$complaint" >&2; exit 7; }
${then}
`;
  writeFileSync(at('bin/npm'), program(installed));
  writeFileSync(at('bin/pnpm'), program(':'));
  for (const name of ['npm', 'pnpm']) chmodSync(at('bin', name), 0o755);
  return {
    lockPnpm: (...args: readonly string[]) => {
      const { status, stderr } = spawnSync(process.execPath, [at('scripts/lock-pnpm.mjs'), ...args], {
        encoding: 'utf8',
        timeout: DEADLINE_MS,
      });
      return { status, stderr };
    },
    at,
    start: (...environment: readonly string[]) => {
      const command = [
        `PATH=${at('bin')}:/usr/bin:/bin`,
        ...environment,
        process.execPath,
        at('scripts/front-door.mjs'),
        'start',
      ];
      const { status, stdout, stderr } = spawnSync('env', command, { encoding: 'utf8', timeout: DEADLINE_MS });
      return { status, stdout, stderr };
    },
    lockOf: (...names: readonly string[]): unknown =>
      JSON.parse(readFileSync(at('.toolchain', ...names, 'package-lock.json'), 'utf8')).packages,
    calls: () => readFileSync(at('calls'), 'utf8').trim().split('\n'),
  };
}

test('a request to a registry that fails sometimes is retried, for Node and for the dependencies', (t) => {
  const { start, calls } = newCheckout(t, ['no route', 'reset'], { node: '99.0.0' });
  const { status, stdout, stderr } = start();
  assert.equal(stdout, 'handed over\n', stderr);
  assert.equal(status, 0);
  assert.deepEqual(calls(), ['npm', 'npm', 'npm', 'npm', 'pnpm']);
  assert.match(stderr, /npm failed and is tried again:\n {4}no route\n/);
});

test('a registry that keeps failing is reported with its own message, and the next step', (t) => {
  const { start, calls } = newCheckout(t, ['', 'no route', 'reset', 'no such host']);
  const { status, stdout, stderr } = start();
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.deepEqual(calls(), ['npm', 'pnpm', 'pnpm', 'pnpm']);
  assert.match(stderr, /pnpm install .* failed 3 times \(7\):\n {4}no such host\n {2}Check that the npm/);
});

test('modules that cannot be joined make a start longer, and no more', (t) => {
  const { start, at } = newCheckout(t, []);
  writeFileSync(at('scripts/sources/bundle-state.mjs'), 'export const isBundleFresh = () => false;');
  writeFileSync(at('scripts/sources/bundle.mjs'), '');
  const joined = start();
  assert.equal(joined.stdout, 'handed over\n');
  assert.match(joined.stderr, /holdfast: joining the modules \(once for these sources\)\n$/);
  writeFileSync(at('scripts/sources/bundle.mjs'), `throw new Error('no place left');`);
  const { status, stdout, stderr } = start();
  assert.deepEqual([status, stdout], [0, 'handed over\n']);
  assert.match(stderr, /that failed, so this start takes longer:\n[^]*Error: no place left/);
});

test('an error that a retry cannot solve is reported at once, with its remedy', (t) => {
  const { start, calls } = newCheckout(t, ['', 'ENOSPC: no space left on device, write']);
  const { status, stderr } = start();
  assert.equal(status, 1);
  assert.deepEqual(calls(), ['npm', 'pnpm']);
  assert.match(stderr, /pnpm .* failed:\n {4}ENOSPC: no space left on device, write\n {2}Free some space on the disk/);
});

test('a checkout that cannot be written, or on a full disk, is reported without a stack', (t) => {
  for (const [spoil, says] of [
    [(at: At) => writeFileSync(at('.toolchain'), ''), /prepared: E(?:NOTDIR|EXIST)[^]*\n {2}Correct that in \//],
    [
      (at: At) => {
        mkdirSync(at('.toolchain'));
        symlinkSync('/dev/full', at('.toolchain/package.json'));
      },
      /prepared: ENOSPC[^]*\n {2}Free some space on the disk/,
    ],
  ] as const) {
    const { at, start } = newCheckout(t, [], { node: '99.0.0' });
    spoil(at);
    const { status, stderr } = start();
    assert.equal(status, 1, stderr);
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, /\n {4}at /);
  }
});

test('on a Linux without glibc the pinned Node is not downloaded', { skip: process.platform !== 'linux' }, (t) => {
  const { start, at } = newCheckout(t, [], { node: '99.0.0' });
  const musl = 'data:text/javascript,process.report.getReport=()=>({header:{}})';
  const { status, stderr } = start(`NODE_OPTIONS=--import=${musl}`);
  assert.equal(status, 1);
  assert.match(stderr, /the pinned Node 99\.0\.0 needs glibc, which this Linux lacks\n {2}Use a Linux with glibc/);
  assert.equal(existsSync(at('calls')), false);
});

test('downloads must have the hashes of toolchain.json: npm verifies them', (t) => {
  const { start, lockOf } = newCheckout(t, [], { node: '99.0.0' });
  assert.equal(start().status, 0);
  assert.deepEqual(Reflect.get(Object(lockOf()), `node_modules/node-${PLATFORM}`), {
    version: '99.0.0',
    integrity: 'sha512-node',
  });
  const pnpm = Object(lockOf('pnpm'));
  assert.equal(Reflect.get(pnpm, 'node_modules/pnpm').integrity, 'sha512-pnpm');
  const program = Reflect.get(pnpm, `node_modules/@pnpm/exe.${PLATFORM}`);
  assert.deepEqual(program, { version: '1.0.0', integrity: 'sha512-exe' });
});

test('a program without a hash is not downloaded', (t) => {
  const { start } = newCheckout(t, [], { node: '99.0.0', integrity: {} });
  const { status, stderr } = start();
  assert.equal(status, 1);
  assert.match(
    stderr,
    /toolchain.json has no hash of node-\S+ 99.0.0, .*\n {2}Install Node 99.0.0 and start this with it/,
  );
});

test('images are built with the pinned pnpm, and nothing is downloaded by its version alone', (t) => {
  const { lockPnpm, at } = newCheckout(t, [], { node: '99.0.0' });
  assert.deepEqual(lockPnpm(at('pnpm')), { status: 0, stderr: '' });
  const { packages } = JSON.parse(readFileSync(at('pnpm/package-lock.json'), 'utf8'));
  assert.equal(packages['node_modules/pnpm'].integrity, 'sha512-pnpm');
  assert.equal(packages[`node_modules/@pnpm/exe.${PLATFORM}`].integrity, 'sha512-exe');
  assert.match(lockPnpm().stderr, /no folder is given/);
  const unpinned = newCheckout(t, [], { node: '99.0.0', integrity: {} });
  const refused = unpinned.lockPnpm(unpinned.at('pnpm'));
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /toolchain.json has no hash of pnpm 1.0.0/);
  for (const file of ['../Dockerfile', 'images/holdfast-image.ts', 'front-door.mjs'])
    assert.doesNotMatch(readFileSync(path.join(SCRIPTS, file), 'utf8'), /\b(?:npx|npm install)\b/, file);
});

test('images have no user with id 1000, which pods of a process node could not use', () => {
  assert.match(readFileSync(path.join(SCRIPTS, '../Dockerfile'), 'utf8'), /^RUN .*userdel --remove node/m);
  assert.doesNotMatch(readFileSync(path.join(SCRIPTS, 'images/stand-ins.ts'), 'utf8'), /:x:1000:/);
});
