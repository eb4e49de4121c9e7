import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

/**
 * Returns the JavaScript of one of our modules, for the program of a thread. A thread that reads TypeScript itself
 * loads its own type stripper, which takes about 18 MB as long as the thread lives. A process that was started with the
 * stripping loader (scripts/sources) has the text already.
 */
export function javascriptOf(file: URL): string {
  const helper: unknown = Reflect.get(globalThis, Symbol.for('holdfast.sources'));
  const text: unknown = typeof helper === 'function' ? helper(file) : undefined;
  return typeof text === 'string' ? text : stripTypeScriptTypes(readFileSync(file, 'utf8'));
}

/** The program in the bundle that this process began with (scripts/sources), unless that was removed meanwhile. */
export function bundledModule(file: URL): URL | undefined {
  const find: unknown = Reflect.get(globalThis, Symbol.for('holdfast.bundled'));
  const found: unknown = typeof find === 'function' ? find(file) : undefined;
  return found instanceof URL && existsSync(found) ? found : undefined;
}
