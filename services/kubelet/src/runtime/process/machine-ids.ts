import { readFileSync } from 'node:fs';
import type { RuntimeAbilities } from '../port.ts';

/** `nobody`: pods may use it. */
const NOBODY = 65_534;

/** Reads the ids in use on this machine. External directories (LDAP) are not included. */
export const readMachineIds = (): NonNullable<RuntimeAbilities['ids']> => ({
  users: idsIn('/etc/passwd'),
  groups: idsIn('/etc/group'),
});

function idsIn(file: string): ReadonlyMap<number, string> {
  const lines = textOf(file)
    .split('\n')
    .map((line) => line.split(':'));
  return new Map(
    lines.flatMap(([name = '', , id = '']): [number, string][] =>
      /^\d+$/.test(id) && Number(id) !== NOBODY ? [[Number(id), name]] : [],
    ),
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // A machine without such a file has no such users.
    return '';
  }
}
