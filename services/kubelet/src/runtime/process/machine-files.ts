import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { MachineFiles } from './mount-plan.ts';

const OTHERS_WRITE = 0o022;

export const machineFiles: MachineFiles = {
  resolve: (path) => {
    const missing: string[] = [];
    let existing = path;
    while (!existsSync(existing)) {
      missing.unshift(basename(existing));
      existing = dirname(existing);
    }
    return join(realpathSync(existing), ...missing);
  },
  exists: (path) => existsSync(path),
  isDirectory: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
  isOpenToOthers: (path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    const own = process.getuid?.() ?? 0;
    return found !== undefined && ((found.mode & OTHERS_WRITE) !== 0 || (found.uid !== 0 && found.uid !== own));
  },
  entries: (path) =>
    readdirSync(path, { withFileTypes: true })
      .filter(({ name }) => path !== '/dev' || !CONSOLES_AND_DISKS.test(name))
      .map((entry) => ({
        name: entry.name,
        kind: entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'directory' : 'file',
      })),
};

/** About a hundred device files: mounting each into every container would double the start time. */
const CONSOLES_AND_DISKS = /^(?:tty[A-Z0-9]|vcs|loop|ram|nbd|sd[a-z]|nvme)/;
