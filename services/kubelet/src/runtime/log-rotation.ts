import { existsSync, renameSync } from 'node:fs';

/** Gives the file the name of the youngest older part, and drops the oldest one. */
export function moveAside(path: string, maxFiles: number): void {
  for (let age = maxFiles - 2; age >= 1; age--)
    if (existsSync(`${path}.${age}`)) renameSync(`${path}.${age}`, `${path}.${age + 1}`);
  renameSync(path, `${path}.1`);
}
