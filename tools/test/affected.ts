import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const SOURCES = '{libs,services,test,tools,bench,scripts}/**/*.{ts,js,mjs}';

/** Files, from the root, that differ from where the branch left main, and those that git does not know yet. */
export function changedFiles(root: string, git = gitIn(root)): readonly string[] {
  const bases = ['main', 'origin/main'].map((branch) => git(['merge-base', 'HEAD', branch])[0]);
  const base = bases.find((each) => each !== undefined) ?? 'HEAD';
  const known = git(['diff', '--name-only', base]);
  const unknown = git(['ls-files', '--others', '--exclude-standard']);
  return [...new Set([...known, ...unknown])].filter((file) => existsSync(path.join(root, file)));
}

/** The lines of git's output; none when the branch is unknown. */
type Git = (args: readonly string[]) => readonly string[];

function gitIn(root: string): Git {
  return (args) => {
    const { stdout, stderr, status } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    if (status === 0) return stdout.split('\n').filter((line) => line !== '');
    // The branch may not exist. Any other failure would select no test and look like a success.
    if (args[0] === 'merge-base') return [];
    throw new Error(`git ${args.join(' ')} failed: ${stderr ?? 'there is no git'}`);
  };
}

/** Returns the `files` that changed, or that import a changed file directly or indirectly. */
export function affectedFiles(root: string, changed: readonly string[], files: readonly string[]): readonly string[] {
  const importers = readImporters(root);
  const affected = new Set(changed);
  for (const file of affected) for (const importer of importers.get(file) ?? []) affected.add(importer);
  return files.filter((file) => affected.has(file));
}

function readImporters(root: string): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>();
  for (const file of globSync(SOURCES, { cwd: root, exclude: ['**/node_modules/**'] })) {
    for (const imported of importsOf(root, file)) {
      const list = importers.get(imported) ?? [];
      list.push(file);
      importers.set(imported, list);
    }
  }
  return importers;
}

/** Types are checked by the compiler: a change of one changes no behaviour. */
export const TYPES_ONLY = /^(?:import|export) type [^;]*;/gm;
/** Also threads and child processes, which name their file. */
const REFERENCE = /['"`](\.{1,2}\/[^'"`\n]+\.(?:ts|js|mjs)|@holdfast\/[a-z\-/]+)['"`]/g;

function importsOf(root: string, file: string): readonly string[] {
  const text = readFileSync(path.join(root, file), 'utf8').replace(TYPES_ONLY, '');
  return [...text.matchAll(REFERENCE)].flatMap(([, reference = '']) =>
    reference.startsWith('.') ? [path.join(path.dirname(file), reference)] : exportOf(root, reference),
  );
}

/** `@holdfast/room/part` is what the package of the room exports under that name. */
export function exportOf(root: string, reference: string): readonly string[] {
  const [, room = '', ...rest] = reference.split('/');
  const folder = ['libs', 'services'].map((group) => path.join(group, room)).find((each) => isPackage(root, each));
  if (folder === undefined) return [];
  const manifest = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')) as {
    readonly exports?: Readonly<Record<string, string>>;
  };
  const exported = new Map(Object.entries(manifest.exports ?? {})).get(['.', ...rest].join('/'));
  return exported === undefined ? [] : [path.join(folder, exported)];
}

const isPackage = (root: string, folder: string): boolean => existsSync(path.join(root, folder, 'package.json'));
