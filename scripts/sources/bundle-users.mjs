// Which processes run from a bundle: each leaves a file with its id there, and removes it at its end.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const MARK = /^used-(\d+)$/;

/** Where nothing can be written, as in an image, no bundle is removed either. */
export function markUse(folder) {
  const mark = path.join(folder, `used-${process.pid}`);
  try {
    writeFileSync(mark, '');
    process.on('exit', () => rmSync(mark, { force: true }));
  } catch {
    // Another user's.
  }
}

export const isInUse = (folder) =>
  readdirSync(folder).some((name) => {
    const [, pid] = MARK.exec(name) ?? [];
    return pid !== undefined && isAlive(Number(pid));
  });

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
