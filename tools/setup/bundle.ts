import { spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** Servers that tests start then begin with the bundle of these sources, as with `npm start`. From the sources they start later. */
export function ensureBundle(): void {
  const { status, stderr, error } = spawnSync(process.execPath, [path.join(root, 'scripts/sources/bundle.mjs')], {
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(`the modules could not be joined: ${error?.message ?? stderr}\n`);
}
