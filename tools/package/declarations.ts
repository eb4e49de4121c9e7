import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withPaths } from './javascript.ts';
import { type Addresses, ROOT } from './workspace.ts';

const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']*)\.js'/g;

/** The declarations that the types of these entries need, by file: `services/cluster/src/index.d.ts`. */
export function declarationsOf(
  entries: readonly string[],
  sources: readonly string[],
  addresses: Addresses,
): ReadonlyMap<string, string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-types-'));
  try {
    emit(folder, sources);
    const found = new Map<string, string>();
    const visit = (file: string): void => {
      if (found.has(file)) return;
      const text = withPaths(readFileSync(path.join(folder, file), 'utf8'), file, addresses);
      found.set(file, text);
      for (const [, imported = ''] of text.matchAll(IMPORTED)) {
        visit(path.posix.join(path.posix.dirname(file), `${imported}.d.ts`));
      }
    };
    for (const entry of entries) visit(entry.replace(/\.ts$/, '.d.ts'));
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function emit(folder: string, sources: readonly string[]): void {
  const config = path.join(folder, 'tsconfig.json');
  const options = {
    noEmit: false,
    noCheck: true,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: ROOT,
    outDir: folder,
  };
  const base = path.join(ROOT, 'tsconfig.base.json');
  const typeRoots = [path.join(ROOT, 'node_modules', '@types')];
  const files = sources.map((file) => path.join(ROOT, file));
  writeFileSync(config, JSON.stringify({ extends: base, compilerOptions: { ...options, typeRoots }, files }));
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', config], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the declarations cannot be made:\n${stdout}${stderr}`);
}
