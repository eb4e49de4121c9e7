import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** An import from one folder of a package into another. */
export interface FolderImport {
  readonly from: string;
  readonly to: string;
  /** `verbs/create.ts -> http/body.ts` */
  readonly files: string;
}

/** Tests and their helpers may import every folder. The root of a package puts its folders together. */
const TEST_CODE = /\.test\.ts$|(^|\/)(testing|contract[^/]*)(\/|\.ts$)/;
/** The compiler removes these imports, so no code depends on them: a folder may name the types of its users. */
const TYPES_ONLY = [
  /(?:^|\n)(?:import|export) type [^;]*;/g,
  /(?:^|\n)(?:import|export) \{(?:\s*type \w+(?: as \w+)?,?)+\s*\} from [^;]*;/g,
];
const RELATIVE = /(?:\bfrom|\bimport|createRequire\(import\.meta\.url\))\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** Imports between the folders directly below `src` that exist at run time. `files` maps paths from there to their text. */
export function folderImports(files: ReadonlyMap<string, string>): readonly FolderImport[] {
  const found: FolderImport[] = [];
  for (const [file, text] of files) {
    if (TEST_CODE.test(file)) continue;
    const code = TYPES_ONLY.reduce((rest, pattern) => rest.replace(pattern, ''), text);
    for (const [, reference = ''] of code.matchAll(RELATIVE)) {
      const target = path.posix.join(path.posix.dirname(file), reference);
      const [from, to] = [folderOf(file), folderOf(target)];
      if (from !== '' && to !== '' && from !== to) found.push({ from, to, files: `${file} -> ${target}` });
    }
  }
  return found;
}

const folderOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : '');

/** Those of the imports that lie on a circle: from the imported folder a way leads back. */
export function circularImports(imports: readonly FolderImport[]): readonly FolderImport[] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of imports) next.set(from, (next.get(from) ?? new Set()).add(to));
  const reachable = new Map([...next.keys()].map((folder) => [folder, reachableFrom(folder, next)]));
  return imports.filter(({ from, to }) => reachable.get(to)?.has(from) === true);
}

function reachableFrom(start: string, next: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [start];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const other of next.get(folder) ?? []) {
      if (seen.has(other)) continue;
      seen.add(other);
      open.push(other);
    }
  }
  return seen;
}

/** The sources below a folder, by their path from there. */
export function readSources(folder: string): ReadonlyMap<string, string> {
  const files = globSync('**/*.ts', { cwd: folder, exclude: ['**/generated/**', '**/node_modules/**'] });
  return new Map(files.map((file) => [file.replaceAll(path.sep, '/'), readFileSync(path.join(folder, file), 'utf8')]));
}
