import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { type Addresses, ROOT } from './workspace.ts';

/** What `holdfast sim` starts, and what that starts. */
const PROGRAMS = ['tools/hunt/packaged-main.ts', 'test/sim/hunt/worker-main.ts'];
const SPECIFIER = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']*\.ts|@holdfast\/[a-z/-]+)'/g;
const PLANTED = /plant/;

/** The modules of the simulator from the root of the workspace: those that its programs load, and no planted bug. */
export function simulatorFiles(addresses: Addresses): readonly string[] {
  const found = new Set<string>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    if (PLANTED.test(file)) throw new Error(`the package would contain ${file}`);
    found.add(file);
    const text = stripTypeScriptTypes(readFileSync(path.join(ROOT, file), 'utf8'));
    for (const [, specifier = ''] of text.matchAll(SPECIFIER)) {
      const next = specifier.startsWith('.')
        ? path.posix.join(path.posix.dirname(file), specifier)
        : addresses.fileOf(specifier);
      if (next !== undefined) visit(next);
    }
  };
  PROGRAMS.forEach(visit);
  return [...found];
}
