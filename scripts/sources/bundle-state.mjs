// Which bundle there is (bundle.mjs), and whether it is made of the sources that are there now. Also for the Node of the front door.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** Below the root of the checkout. */
export const FOLDER = '.bundle';
export const MANIFEST = 'manifest.json';

/** The bundle that has this program. */
export function bundleOf(root, entry) {
  const manifest = freshManifest(root);
  const program = path.relative(root, realpathSync(entry));
  if (manifest === undefined || !Object.hasOwn(manifest.programs, program)) return undefined;
  return { root, folder: path.join(root, FOLDER, manifest.folder), programs: manifest.programs };
}

export const isBundleFresh = (root) => freshManifest(root) !== undefined;

/** The folder of the bundle that is published. */
export const publishedFolder = (root) => readManifest(root)?.folder;

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

export const isEqual = (state, known) =>
  state.length === known.length && state.every((each, index) => each === known[index]);

/** Not one that is damaged: its files have the lengths that they were written with. */
function freshManifest(root) {
  const manifest = readManifest(root);
  if (manifest === undefined) return undefined;
  const { folder, outputs, states, isInImage } = manifest;
  const isWhole = outputs.every(([name, bytes]) => stateOf(path.join(root, FOLDER, folder, name), true)[0] === bytes);
  const isFresh = () => states.every(([file, ...known]) => isEqual(stateOf(path.join(root, file), isInImage), known));
  return isWhole && isFresh() ? manifest : undefined;
}

function readManifest(root) {
  try {
    const manifest = JSON.parse(readFileSync(path.join(root, FOLDER, MANIFEST), 'utf8'));
    const { folder, programs, outputs, states } = manifest;
    const isOne =
      typeof folder === 'string' && programs !== undefined && Array.isArray(outputs) && Array.isArray(states);
    return isOne ? manifest : undefined;
  } catch {
    return undefined;
  }
}
