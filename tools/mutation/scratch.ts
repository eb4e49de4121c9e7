import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A copy of the tree that tests run in. Packages of others are linked, the project's own are those of the copy. */
export interface Scratch {
  readonly tree: string;
  /** The temporary folder of its tests. */
  readonly temporary: string;
  readonly remove: () => void;
}

/** Folders that no test reads. */
const LEFT_OUT = new Set(['.git', '.toolchain', '.holdfast', 'hunt-found']);
/** The package manager's store: 200 MB that nothing changes. */
const PACKAGES = '.pnpm';

export function createScratch(root: string): Scratch {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'holdfast-mutation-')));
  const tree = path.join(home, 'tree');
  const temporary = path.join(home, 'tmp');
  const remove = (): void => rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  mkdirSync(temporary);
  copyFolder(root, tree);
  return {
    tree,
    temporary,
    remove: () => {
      process.off('exit', remove);
      remove();
    },
  };
}

/** Rooms link to each other relative to where they stand, so copies of the links lead to the rooms of the copy. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (LEFT_OUT.has(entry.name)) continue;
    if (entry.name === PACKAGES) symlinkSync(source, target);
    else if (entry.isDirectory()) copyFolder(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.isFile()) copyFileSync(source, target);
  }
}
