// `bundle.mjs [ROOT] [--image]` joins the modules of every program below ROOT into a few large files, without types: a server
// that starts from them compiles some 130 modules instead of a thousand. Packages stay where they are installed. The files are
// used as long as no source has changed since (bundle-state.mjs).
import { mkdirSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FOLDER, isBundleFresh, MANIFEST, stateOf } from './bundle-state.mjs';
import { join, Sources } from './join.mjs';

const OWN_ROOT = path.dirname(path.dirname(import.meta.dirname));
/** Also read by a bundle: which packages there are, and this program. */
const READ_BESIDE = ['pnpm-lock.yaml', 'scripts/sources/bundle.mjs', 'scripts/sources/join.mjs'];
/** A file that is changed now may have the time of the kernel's last tick. */
const COARSE_MS = 10;
const TRIES = 3;
/** A process that still runs loads modules on demand from the bundle that it began with. */
const KEPT = 5;

/** Joins all programs below `root`. Returns false when a source changed meanwhile: then nothing is kept. */
export async function buildBundle(root, { isInImage = false } = {}) {
  const startedAt = Date.now();
  const home = path.join(root, FOLDER);
  const folder = `${startedAt}-${process.pid}`;
  const sources = new Sources(root, path.join(home, folder));
  mkdirSync(home, { recursive: true });
  const { programs, inputs } = await join(sources);
  const files = [...inputs, ...sources.manifests(), ...READ_BESIDE];
  const isStill = files.every((file) => changedAt(path.join(root, file)) < startedAt - COARSE_MS);
  const states = files.map((file) => [file, ...stateOf(path.join(root, file), isInImage)]);
  if (isStill) publish(home, { folder, isInImage, states, programs });
  removeOld(home, isStill ? [] : [folder]);
  return isStill;
}

/** A file that is gone has just changed. */
const changedAt = (file) => stateOf(file, false).at(-1) ?? Number.POSITIVE_INFINITY;

/** By a rename: another process reads the old manifest or the new one. */
function publish(home, manifest) {
  const temporary = path.join(home, `${manifest.folder}.json`);
  writeFileSync(temporary, JSON.stringify(manifest));
  writeFileSync(path.join(home, manifest.folder, 'package.json'), '{"type":"module"}');
  renameSync(temporary, path.join(home, MANIFEST));
}

function removeOld(home, failed) {
  const folders = readdirSync(home).filter((name) => !name.endsWith('.json'));
  const old = folders.toSorted().slice(0, -KEPT);
  for (const name of [...old, ...failed]) rmSync(path.join(home, name), { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = OWN_ROOT] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  const root = realpathSync(folder);
  const isInImage = process.argv.includes('--image');
  for (let tries = 1; !isBundleFresh(root) && !(await buildBundle(root, { isInImage })); tries++) {
    if (tries === TRIES) throw new Error('the sources change all the time');
  }
}
