// The TypeScript of this repository reaches the process without its types. A second process takes them out, on another core,
// while this one compiles and runs what has come; it ends when it is done. Node would do it in this thread, for 0.4 ms
// a file and 25 MB that stay. Nothing outlives the processes: the files between the two have no names.
// Without this, or when the helper fails, Node strips the types itself: everything works the same.
import { spawn } from 'node:child_process';
import { openSync, readSync, realpathSync, unlinkSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Texts } from './texts.mjs';

const ROOT = path.dirname(path.dirname(import.meta.dirname));
/** Loaded while the helper warms up: what every server needs, and has no types. */
const BUILT_IN = ['node:child_process', 'node:crypto', 'node:net', 'node:stream', 'node:worker_threads'];
const PACKAGES = [['libs/platform', 'pino']];

/** From here on modules come from a helper. Resolves after time for its first ones. */
export async function useSources(entry) {
  const files = { texts: openUnnamed('texts'), wanted: openUnnamed('wanted') };
  if (files.texts === undefined || files.wanted === undefined) return;
  const helper = startHelper(files, realpathSync(entry));
  if (helper === undefined) return;
  const texts = new Texts(files, helper);
  // For programs of threads (`javascriptOf` of @holdfast/platform/sources).
  globalThis[Symbol.for('holdfast.sources')] = (url) => texts.of(fileURLToPath(url));
  registerHooks({ resolve: createResolve(), load: createLoad(texts) });
  for (const [folder, name] of PACKAGES) loadAhead(folder, name);
  await Promise.all(BUILT_IN.map((name) => import(name)));
}

function loadAhead(folder, name) {
  try {
    createRequire(path.join(ROOT, folder, 'package.json'))(name);
  } catch {
    // Its user reports a missing module.
  }
}

/** A file that is gone with the processes that have it open; none where nothing can be written. */
function openUnnamed(what) {
  const name = path.join(tmpdir(), `holdfast-${what}-${process.pid}-${process.hrtime.bigint()}`);
  try {
    const descriptor = openSync(name, 'wx+', 0o600);
    unlinkSync(name);
    return descriptor;
  } catch {
    return undefined;
  }
}

/** Optimizing code that runs for half a second costs more than it gains. */
const HELPER_FLAGS = ['--liftoff-only', '--wasm-lazy-compilation', '--single-threaded', '--max-semi-space-size=16'];

function startHelper({ texts, wanted }, entry) {
  const program = path.join(import.meta.dirname, 'strip.mjs');
  const args = [...HELPER_FLAGS, '--disable-warning=ExperimentalWarning', program, ROOT, entry];
  const child = spawn(process.execPath, args, { stdio: ['ignore', texts, 'ignore', wanted, 'pipe'] });
  child.on('error', () => {});
  child.unref();
  if (child.pid === undefined) return undefined;
  const [, , , , line] = child.stdio;
  line.unref();
  return { hasEnded: () => isClosed(line) };
}

/** Nothing is ever sent on this pipe. It closes with the helper, even while this thread waits and gets no event. */
function isClosed(line) {
  if (line.destroyed) return true;
  const { fd: descriptor = -1 } = line._handle ?? {};
  if (descriptor < 0) return false;
  try {
    return readSync(descriptor, Buffer.alloc(1)) === 0;
  } catch (error) {
    return error.code !== 'EAGAIN';
  }
}

/** Our own modules name exact files, and one of our packages is the same for all importers. */
function createResolve() {
  const packages = new Map();
  return (specifier, context, next) => {
    if (specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.endsWith('.ts')) {
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
    }
    if (!specifier.startsWith('@holdfast/')) return next(specifier, context);
    const known = packages.get(specifier) ?? { ...next(specifier, context), shortCircuit: true };
    packages.set(specifier, known);
    return known;
  };
}

function createLoad(texts) {
  const ours = pathToFileURL(ROOT + path.sep).href;
  return (url, context, next) => {
    if (!url.startsWith(ours) || !url.endsWith('.ts')) return next(url, context);
    const source = texts.of(fileURLToPath(url));
    if (source !== undefined) return { format: 'module', source, shortCircuit: true };
    return next(url, { ...context, format: 'module-typescript' });
  };
}
