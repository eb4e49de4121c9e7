import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  type Stats,
} from 'node:fs';

/** Linux' `O_PATH`, the same number everywhere; Node has no name for it. */
const O_PATH = 0o10000000;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const ANYTHING = O_PATH | constants.O_NOFOLLOW;
const INHERIT_GROUP = 0o2000;

export interface BeneathOptions {
  /** Mode of directories that are made where they are missing. Their owners are those of the directory around. */
  readonly make?: number;
  /** Before each name is looked up. */
  readonly beforeStep?: (name: string) => void;
}

/** A name on the way is a link, or not what it has to be. */
export class BeneathError extends Error {
  override readonly name = 'BeneathError';
}

/** The path of an open descriptor, for calls that know only paths: it leads to the very file, whatever its name leads to by now. */
export const descriptorPath = (descriptor: number): string => `/proc/self/fd/${descriptor}`;

/**
 * Opens `names` below `root` one after the other without following links (`openat` with `O_NOFOLLOW`). So no writer of
 * that tree can redirect the caller outside of it, not even by swapping a name meanwhile. The caller closes the
 * descriptor, which only serves as a location (`O_PATH`).
 */
export function openBeneath(root: string, names: readonly string[], options: BeneathOptions = {}): number {
  let current = openSync(root, O_PATH | constants.O_DIRECTORY);
  for (const [index, name] of names.entries()) {
    try {
      if (name === '' || name === '.' || name === '..' || name.includes('/'))
        throw new BeneathError(`${JSON.stringify(name)} is not a file name`);
      options.beforeStep?.(name);
      const next = step(current, name, { ...options, isLast: index === names.length - 1 });
      closeSync(current);
      current = next;
    } catch (error) {
      closeSync(current);
      throw error;
    }
  }
  return current;
}

/** The current path of the descriptor. */
export const pathOfDescriptor = (descriptor: number): string => readlinkSync(descriptorPath(descriptor));

function step(
  directory: number,
  name: string,
  { make, isLast }: BeneathOptions & { readonly isLast: boolean },
): number {
  const path = `${descriptorPath(directory)}/${name}`;
  const isMade = make !== undefined && makeDirectory(path);
  const opened = openStep(path, name, isLast && !isMade);
  try {
    if (fstatSync(opened).isSymbolicLink()) throw new BeneathError(`${JSON.stringify(name)} is a link`);
    if (isMade) giveAs(fstatSync(directory), opened, make);
    return opened;
  } catch (error) {
    closeSync(opened);
    throw error;
  }
}

/** Gives the permissions of the enclosing directory to the created one. */
function giveAs(around: Stats, made: number, mode: number): void {
  if (process.getuid?.() === 0) chownSync(descriptorPath(made), around.uid, around.gid);
  chmodSync(descriptorPath(made), mode | (around.mode & INHERIT_GROUP));
}

function openStep(path: string, name: string, mayBeFile: boolean): number {
  try {
    return openSync(path, mayBeFile ? ANYTHING : DIRECTORY);
  } catch (error) {
    if (hasCode(error, 'ENOTDIR', 'ELOOP'))
      throw new BeneathError(`${JSON.stringify(name)} is a link or not a directory`);
    throw error;
  }
}

/** False: there is something of that name. */
function makeDirectory(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Makes the directories `names` below `root` where they are missing. */
export function makeBeneath(root: string, names: readonly string[], make: number): void {
  closeSync(openBeneath(root, names, { make }));
}

/** Makes an empty file of this name in a directory, unless something of that name is there. */
export function makeFileBeneath(root: string, names: readonly string[], mode: number): void {
  const name = names.at(-1) ?? '';
  const directory = openBeneath(root, names.slice(0, -1), { make: 0o755 });
  try {
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
    closeSync(openSync(`${descriptorPath(directory)}/${name}`, flags, mode));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    closeSync(directory);
  }
}

export const statOf = (descriptor: number): Stats => fstatSync(descriptor);

const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
