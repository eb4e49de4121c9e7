import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { OperatorError } from '@holdfast/platform';

export const PRIVATE_FOLDER = 0o700;
export const OF_OTHERS = 0o077;
const WRITTEN_BY_OTHERS = 0o022;

/** Files in a data directory. Each may have been left as `.new` by a start that was killed. */
const FILES = ['lock', 'tokens.csv', 'kubeconfig', 'runtime', 'pod-network'];
const FOLDERS = ['pki', 'nodes'];
/** Their contents have their own modes. `compose` is the state of that form, which the folder `.holdfast` has beside. */
const OTHER_FOLDERS = ['store', 'history', 'network', 'compose'];
/** A directory with one of these has had a cluster. */
const MARKS = ['lock', 'tokens.csv', 'kubeconfig'];
/** A new file system has it. */
const OF_THE_SYSTEM = 'lost+found';
const FILE_OF_STORE = /^store\.sqlite(?:-wal|-shm)?$/;

/**
 * Creates one folder at a time: with `recursive` Node retries for ever where a file system creates none (/proc, an
 * automounter).
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  mkdirSync(folder, { mode: PRIVATE_FOLDER });
}

export interface Places {
  readonly home: string;
  /** The working directory. */
  readonly here: string;
}

/**
 * A directory that has other things and that others use, such as a home: its modes must not change, nor may it be hidden from
 * pods. A directory that somebody made for this cluster may have files that the flags name.
 */
export function refuseForeign(folder: string, { home, here }: Places): void {
  const real = realpathSync(folder);
  const names = readdirSync(real);
  if (names.some((name) => MARKS.includes(name))) return;
  const foreign = names.find((name) => !isOurs(name) && name !== OF_THE_SYSTEM);
  const holds = [home, here].some((place) => isIn(real, existsSync(place) ? realpathSync(place) : place));
  if (foreign === undefined || !(holds || isOfOthers(real))) return;
  throw new OperatorError({
    code: 'DataDirectoryForeign',
    message: `${folder} is not a data directory: it has ${foreign} and none of the files of a cluster`,
    nextStep: `Name a new or empty directory with --data-dir, such as ${path.join(folder, 'holdfast')}.`,
    exitCode: 2,
  });
}

/** True for the folder itself, too. */
const isIn = (folder: string, place: string): boolean => {
  const way = path.relative(folder, place);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
};

/** A folder of the system, of another user, or one in which others write. */
function isOfOthers(folder: string): boolean {
  const { mode, uid } = lstatSync(folder);
  return (
    path.dirname(path.dirname(folder)) === path.dirname(folder) ||
    uid !== process.getuid?.() ||
    (mode & WRITTEN_BY_OTHERS) !== 0
  );
}

const isOurs = (name: string): boolean => isOurFile(name) || FOLDERS.includes(name) || OTHER_FOLDERS.includes(name);

const isOurFile = (name: string): boolean => FILES.includes(name.replace(/\.new$/, '')) || FILE_OF_STORE.test(name);

/**
 * Also restricts files that an earlier version or a restored backup left open, but only our own files: a link may point
 * anywhere.
 */
export function tightenModes(folder: string): void {
  tighten(folder);
  for (const name of readdirSync(folder)) if (isOurFile(name)) tighten(path.join(folder, name));
  for (const inner of FOLDERS.map((name) => path.join(folder, name))) {
    if (lstatSync(inner, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    tighten(inner);
    for (const name of readdirSync(inner)) tighten(path.join(inner, name));
  }
}

function tighten(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isSymbolicLink() || found.uid !== process.getuid?.()) return;
  if ((found.mode & OF_OTHERS) !== 0) chmodSync(file, found.mode & ~OF_OTHERS & 0o7777);
}
