import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

/**
 * The program of the commit thread as one JavaScript URL. A thread that reads TypeScript itself keeps its own copy of what
 * strips the types, about 18 MB for as long as it lives.
 */
export function commitThreadProgram(): URL {
  const entry = new URL('./commit-thread-main.ts', import.meta.url);
  return import.meta.url.endsWith('.ts') ? withModules(entry) : new URL('./commit-thread-main.js', import.meta.url);
}

/** A module whose imports from our own code are such URLs again: relative paths mean nothing inside of them. */
function withModules(file: URL): URL {
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8')).replace(
    / from '((?:\.|@holdfast\/)[^']*)'/g,
    (_, specifier: string) => ` from '${withModules(new URL(resolved(specifier, file))).href}'`,
  );
  return new URL(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}

const resolved = (specifier: string, from: URL): string =>
  specifier.startsWith('.') ? new URL(specifier, from).href : import.meta.resolve(specifier);
