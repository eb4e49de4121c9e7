import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Only root of the machine writes here. The programs that set a container up come from these directories, whatever `PATH` the
 * container or this process has.
 */
const TRUSTED_DIRECTORIES = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/run/current-system/sw/bin'] as const;

/** The whole environment of helpers: nothing that a container gave, such as `LD_PRELOAD`, reaches a program that runs as root. */
export const HELPER_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: TRUSTED_DIRECTORIES.join(':'),
  LC_ALL: 'C',
};

const found = new Map<string, string>();

/** Absolute path of a program of the machine. Of one that is missing: where it should be, so that its start names it. */
export function helper(name: string): string {
  const known = found.get(name);
  if (known !== undefined) return known;
  const path = findHelper(name);
  if (path !== undefined) found.set(name, path);
  return path ?? join('/usr/bin', name);
}

export const hasHelper = (name: string): boolean => findHelper(name) !== undefined;

const findHelper = (name: string): string | undefined =>
  TRUSTED_DIRECTORIES.map((directory) => join(directory, name)).find((path) => existsSync(path));
