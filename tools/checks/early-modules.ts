import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exportOf, TYPES_ONLY } from '../test/affected.ts';

const STATIC = /^(?:import|export)\s[^;]*?'(\.{1,2}\/[^'\n]+|@holdfast\/[a-z\-/]+)';/gm;

/** The modules of ours, from the root, that Node loads before the first line of `entry` runs. */
export function earlyModules(root: string, entry: string): ReadonlySet<string> {
  const modules = new Set([entry]);
  for (const file of modules) {
    const text = readFileSync(path.join(root, file), 'utf8').replace(TYPES_ONLY, '');
    for (const [, reference = ''] of text.matchAll(STATIC)) {
      const targets = reference.startsWith('.')
        ? [path.join(path.dirname(file), reference)]
        : exportOf(root, reference);
      for (const target of targets) modules.add(target);
    }
  }
  return modules;
}
