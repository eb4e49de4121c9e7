// `bundle.mjs [ROOT] [--image]` joins the modules of every program below ROOT into a few large files, without types: a server
// that starts from them compiles some 130 modules instead of a thousand. Packages stay where they are installed. The files are
// used as long as no source has changed since (bundle-state.mjs).
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { FOLDER, isBundleFresh, isEqual, MANIFEST, publishedFolder, stateOf } from './bundle-state.mjs';
import { isInUse } from './bundle-users.mjs';
import { join, manifestOf, modulesOf, roomsBelow, Sources } from './join.mjs';

const OWN_ROOT = path.dirname(path.dirname(import.meta.dirname));
/** Also read by a bundle: which packages there are, and this program. */
const READ_BESIDE = ['pnpm-lock.yaml', 'scripts/sources/bundle.mjs', 'scripts/sources/join.mjs'];
/** Two changes of a file within a tick of the kernel have the same time. */
const COARSE_MS = 10;
const TRIES = 3;
/** A program that has just begun may not have said yet which bundle it uses. */
const KEPT = 3;

/** Joins all programs below `root`. Returns false when a source changed meanwhile: then nothing is kept. */
export async function buildBundle(root, { isInImage = false } = {}) {
  const startedAt = Date.now();
  const home = path.join(root, FOLDER);
  const folder = `${startedAt}-${process.pid}`;
  const target = path.join(home, folder);
  mkdirSync(home, { recursive: true });
  let isPublished = false;
  try {
    const before = new Map(filesBelow(root).map((file) => [file, stateOf(path.join(root, file), false)]));
    const sources = new Sources(root, target);
    const { programs, inputs } = await join(sources);
    const manifests = roomsBelow(root)
      .map(manifestOf)
      .filter((file) => existsSync(path.join(root, file)));
    const files = [...new Set([...inputs, ...manifests, ...READ_BESIDE])];
    isPublished = files.every((file) => isStill(stateOf(path.join(root, file), false), before.get(file), startedAt));
    const states = files.map((file) => [file, ...stateOf(path.join(root, file), isInImage)]);
    if (isPublished) publish(home, { folder, isInImage, programs, states });
  } finally {
    if (!isPublished) removeUnused(target);
  }
  removeOld(root);
  return isPublished;
}

/** All that a bundle can be made of. */
const filesBelow = (root) => [
  ...roomsBelow(root).flatMap((room) => [manifestOf(room), ...modulesOf(root, room)]),
  ...READ_BESIDE,
];

function isStill(state, before, startedAt) {
  const changedAt = state.at(-1) ?? startedAt;
  return before !== undefined && isEqual(state, before) && Math.abs(changedAt - startedAt) >= COARSE_MS;
}

/** By a rename: another process reads the old manifest or the new one. */
function publish(home, manifest) {
  const target = path.join(home, manifest.folder);
  writeFileSync(path.join(target, 'package.json'), '{"type":"module"}');
  const outputs = readdirSync(target).map((name) => [name, statSync(path.join(target, name)).size]);
  const temporary = path.join(home, `${manifest.folder}.json`);
  writeFileSync(temporary, JSON.stringify({ ...manifest, outputs }));
  renameSync(temporary, path.join(home, MANIFEST));
}

/** A process that still runs loads modules on demand from the bundle that it began with. */
function removeOld(root) {
  const home = path.join(root, FOLDER);
  const folders = readdirSync(home).filter((name) => !name.endsWith('.json') && name !== publishedFolder(root));
  const old = folders.toSorted().slice(0, 1 - KEPT);
  for (const name of old) removeUnused(path.join(home, name));
}

/** What another user has made stays, and another builder may remove it at the same time. */
function removeUnused(folder) {
  try {
    if (!isInUse(folder)) rmSync(folder, { recursive: true, force: true });
  } catch {
    // It only takes room.
  }
}

if (import.meta.main) {
  const [folder = OWN_ROOT] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  const root = realpathSync(folder);
  const isInImage = process.argv.includes('--image');
  for (let tries = 1; !isBundleFresh(root) && !(await buildBundle(root, { isInImage })); tries++) {
    if (tries === TRIES) throw new Error('the sources change all the time');
  }
}
