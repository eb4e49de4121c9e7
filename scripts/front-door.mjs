// The door of `npm start`, `npm test` and of `npm run` with check, unit, holdfast, images, hunt, chaos, mutate, walks and package. Runs on the Node that is there (20 or later), brings the pinned Node and pnpm from the
// npm registry, compared with the hashes in scripts/toolchain.json, installs the dependencies when the lock file changed, then hands over. Plain JavaScript without imports
// beyond Node and this folder: it must work before anything is installed.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { PNPM_PACKAGES, pinned, withoutHash, writeLock } from './pinned-packages.mjs';
import { isBundleFresh } from './sources/bundle-state.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const PROGRAMS = {
  start: ['services/holdfast/src/main.ts', 'start'],
  test: ['tools/test/main.ts'],
  check: ['tools/test/check.ts'],
  unit: ['tools/test/main.ts', 'unit'],
  holdfast: ['services/holdfast/src/main.ts'],
  hunt: ['tools/hunt/main.ts'],
  chaos: ['tools/chaos/main.ts'],
  mutate: ['tools/mutation/main.ts'],
  walks: ['tools/walks/main.ts'],
  images: ['scripts/images/build.ts'],
  package: ['tools/package/main.ts'],
};

/** Attempts of a download from the npm registry. npm and pnpm retry only some failures themselves. */
const TRIES = 3;
const PAUSE_MS = 3_000;
const LINES_SHOWN = 8;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Permanent failures, and the next step. */
const FINAL = [
  [
    /\bEINTEGRITY\b/,
    'The registry delivers another package than the one in scripts/toolchain.json: ask who runs it, or use another.',
  ],
  [/\bENOSPC\b/, 'Free some space on the disk, then try again.'],
  [/\b(?:EACCES|EROFS)\b/, 'Let this user write to the checkout and to ~/.npm, then try again.'],
  [/\bERR_PNPM_(?:OUTDATED|BROKEN|NO)_LOCKFILE\b/, 'Restore pnpm-lock.yaml and each package.json, then try again.'],
];

/** Each helper thread of V8 costs about 3 MB; two are as good as four where the cores are shared with pods. */
const NODE_FLAGS = [
  '--disable-warning=ExperimentalWarning',
  '--v8-pool-size=2',
  `--import=${pathToFileURL(path.join(root, 'scripts', 'sources', 'use.mjs')).href}`,
];
/**
 * One malloc arena for all threads: memory that one has freed is available to others. With one arena each, a server
 * uses 12 MB more.
 */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '1' };

const [command = '', ...rest] = process.argv.slice(2);
const program = PROGRAMS[command];
if (program === undefined)
  fail(
    `unknown command "${command}"`,
    'Use `npm start`, `npm test`, or `npm run` with check, unit, holdfast, images, hunt, chaos, mutate, walks or package.',
  );
const node = prepared(pinnedNode);
prepared(installDependencies);
if (command === 'start') joinModules();
handOver(node, program, rest);

/** A checkout that cannot be written is the operator's to mend: no stack. */
function prepared(step) {
  try {
    return step();
  } catch (error) {
    if (error.syscall === undefined && !(error instanceof SyntaxError)) throw error;
    const final = FINAL.find(([pattern]) => pattern.test(error.message));
    fail(`the checkout cannot be prepared: ${error.message}`, final?.[1] ?? `Correct that in ${root}, then try again.`);
  }
}

/** The pinned Node: this one when the version is equal, else the copy under .toolchain. */
function pinnedNode() {
  if (process.versions.node === pinned.node) return process.execPath;
  const name = `node${process.platform === 'darwin' && process.arch === 'arm64' ? '-bin' : ''}-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const home = path.join(root, '.toolchain');
  const folder = path.join(home, 'node_modules', name);
  const binary = path.join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (!existsSync(binary) || versionOf(folder) !== pinned.node) {
    if (!hasLibraryOf(name)) {
      fail(
        `the pinned Node ${pinned.node} needs glibc, which this Linux lacks`,
        'Use a Linux with glibc, such as Debian.',
      );
    }
    say(`bringing Node ${pinned.node} (once)`);
    bring(home, { [name]: pinned.node }, process.env);
  }
  return binary;
}

/** The Linux packages of Node are for glibc. On another C library the program would be there and not be found. */
function hasLibraryOf(name) {
  return !name.startsWith('node-linux-') || process.report.getReport().header.glibcVersionRuntime !== undefined;
}

/** Installs exactly these packages. npm refuses what has another hash than the one in toolchain.json. */
function bring(folder, packages, env) {
  const unknown = withoutHash(packages);
  if (unknown !== undefined) {
    fail(
      `scripts/toolchain.json has no hash of ${unknown} ${packages[unknown]}, so it is not brought from the registry`,
      unknown.startsWith('node-') ? `Install Node ${pinned.node} and start this with it.` : 'Add its hash there.',
    );
  }
  writeLock(folder, packages);
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], folder, env);
}

/** The pinned pnpm, beside the pinned Node. */
function pinnedPnpm(env) {
  const folder = path.join(root, '.toolchain', 'pnpm');
  const program = path.join(folder, 'node_modules', '.bin', process.platform === 'win32' ? 'pnpm.cmd' : 'pnpm');
  const own = path.join(folder, 'node_modules', 'pnpm');
  if (existsSync(program) && existsSync(own) && versionOf(own) === pinned.pnpm) return program;
  bring(folder, PNPM_PACKAGES, env);
  return program;
}

function versionOf(folder) {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version;
}

function installDependencies() {
  const stampFile = path.join(root, 'node_modules', '.holdfast-installed');
  const wanted = manifestHash();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return;
  say('installing dependencies (once)');
  const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}`, CI: 'true' };
  run(pinnedPnpm(env), ['install', '--frozen-lockfile', '--reporter=append-only'], root, env);
  writeFileSync(stampFile, wanted);
}

/** A start from the sources works the same, and takes twice as long. */
function joinModules() {
  if (isBundleFresh(root)) return;
  say('joining the modules (once for these sources)');
  const { status, error, stderr } = spawnSync(node, [path.join(root, 'scripts', 'sources', 'bundle.mjs')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) say(`that failed, so this start takes longer:\n${lastLines(error?.message ?? stderr)}`);
}

/** Changes whenever an install could change something. */
function manifestHash() {
  const hash = createHash('sha256').update(pinned.node);
  const manifests = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', 'test/package.json'];
  for (const group of ['libs', 'services']) {
    for (const entry of readdirSync(path.join(root, group)).sort()) manifests.push(`${group}/${entry}/package.json`);
  }
  for (const file of manifests) {
    if (existsSync(path.join(root, file))) hash.update(file).update(readFileSync(path.join(root, file)));
  }
  return hash.digest('hex');
}

/**
 * Runs the program in the foreground. The IPC channel only signals the death of this process, so nothing is left
 * behind.
 */
function handOver(binary, [script, ...fixed], args) {
  const child = spawn(binary, [...NODE_FLAGS, path.join(root, script), ...fixed, ...args], {
    cwd: process.env.INIT_CWD ?? root,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...ENVIRONMENT, ...process.env, HOLDFAST_ROOT: root },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) =>
    fail(
      `Node ${pinned.node} could not be started: ${error.message}`,
      `Remove ${path.join(root, '.toolchain')} and try again.`,
    ),
  );
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
}

/** A registry that fails now and then must not fail the start; of what works nothing is shown. */
function run(program, args, cwd, env) {
  for (let tries = 1; ; tries++) {
    const result = spawnSync(program, args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    if (result.error?.code === 'ENOENT')
      fail(`${program} could not be started: ${result.error.message}`, `Install ${program} and try again.`);
    if (result.error === undefined && result.status === 0) return;
    const why = result.error?.message ?? lastLines(`${result.stdout}\n${result.stderr}`);
    if (['SIGINT', 'SIGTERM', 'SIGHUP'].includes(result.signal))
      fail(`${program} was ended by ${result.signal}`, 'Try again.');
    const final = FINAL.find(([pattern]) => pattern.test(`${why}\n${result.stdout}\n${result.stderr}`));
    if (final !== undefined) fail(`${program} ${args.join(' ')} failed:\n${why}`, final[1]);
    if (tries === TRIES) {
      fail(
        `${program} ${args.join(' ')} failed ${TRIES} times (${result.status ?? result.signal}):\n${why}`,
        'Check that the npm registry can be reached (`npm ping`, `npm config get registry`), then try again.',
      );
    }
    say(`${program} failed and is tried again:\n${why}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
}

function lastLines(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return lines
    .slice(-LINES_SHOWN)
    .map((line) => `    ${line}`)
    .join('\n');
}

function say(text) {
  process.stderr.write(`holdfast: ${text}\n`);
}

function fail(what, nextStep) {
  process.stderr.write(`holdfast: ${what}\n  ${nextStep}\n`);
  process.exit(1);
}
