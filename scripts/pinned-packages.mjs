// Downloads packages from the npm registry before the installation: only those with a hash in toolchain.json. Plain
// JavaScript with only Node imports.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const pinned = JSON.parse(readFileSync(new URL('toolchain.json', import.meta.url), 'utf8'));

/** pnpm and its program, which is a package of its own for each platform. */
export const PNPM_PACKAGES = { pnpm: pinned.pnpm, [`@pnpm/exe.${process.platform}-${process.arch}`]: pinned.pnpm };

/** The contents of its own package.json: npm trusts the lock file. */
const PNPM_PARTS = { hasInstallScript: true, bin: { pnpm: 'pnpm' } };

export const withoutHash = (packages) => Object.keys(packages).find((name) => pinned.integrity[name] === undefined);

/** Makes a folder in which `npm ci` installs exactly these packages, and refuses what has another hash. */
export function writeLock(folder, packages) {
  const locked = Object.entries(packages).map(([name, version]) => [
    `node_modules/${name}`,
    { version, integrity: pinned.integrity[name], ...(name === 'pnpm' ? PNPM_PARTS : {}) },
  ]);
  const root = { name: 'toolchain', version: '0.0.0', private: true, dependencies: packages };
  const lock = { name: 'toolchain', version: '0.0.0', lockfileVersion: 3, requires: true };
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(root)}\n`);
  const text = JSON.stringify({ ...lock, packages: { '': root, ...Object.fromEntries(locked) } });
  writeFileSync(path.join(folder, 'package-lock.json'), `${text}\n`);
}
