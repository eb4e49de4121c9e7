// Which bundle there is (bundle.mjs), and whether it is made of the sources that are there now. Also for the Node of the front door.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** Below the root of the checkout. */
export const FOLDER = '.bundle';
export const MANIFEST = 'manifest.json';

/** The bundle that has this program. */
export function bundleOf(root, entry) {
  const manifest = readManifest(root);
  const program = path.relative(root, realpathSync(entry));
  if (manifest === undefined || !Object.hasOwn(manifest.programs, program) || !isFresh(root, manifest))
    return undefined;
  return { root, folder: path.join(root, FOLDER, manifest.folder), programs: manifest.programs };
}

export function isBundleFresh(root) {
  const manifest = readManifest(root);
  return manifest !== undefined && isFresh(root, manifest);
}

/**
 * What changes with a file. Its time of change is new even when its other times were set back. In an image that one is new on every
 * machine, and of the other only the seconds are kept.
 */
export function stateOf(file, isInImage) {
  const state = statSync(file, { throwIfNoEntry: false });
  if (state === undefined) return [];
  const { size, mtimeMs, ctimeMs } = state;
  return isInImage ? [size, Math.floor(mtimeMs / 1000)] : [size, mtimeMs, ctimeMs];
}

function readManifest(root) {
  try {
    return JSON.parse(readFileSync(path.join(root, FOLDER, MANIFEST), 'utf8'));
  } catch {
    return undefined;
  }
}

const isFresh = (root, { isInImage, states }) =>
  states.every(([file, ...known]) => isEqual(stateOf(path.join(root, file), isInImage), known));

const isEqual = (state, known) => state.length === known.length && state.every((each, index) => each === known[index]);
