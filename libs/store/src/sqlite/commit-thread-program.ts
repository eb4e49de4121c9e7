import { javascriptOf } from '@holdfast/platform/sources';

/** The program of the commit thread as one JavaScript URL: its types are taken out before, and not by the thread. */
export function commitThreadProgram(): URL {
  const entry = new URL('./commit-thread-main.ts', import.meta.url);
  return import.meta.url.endsWith('.ts') ? withModules(entry) : new URL('./commit-thread-main.js', import.meta.url);
}

/** A module whose imports from our own code are such URLs again: relative paths mean nothing inside of them. */
function withModules(file: URL): URL {
  const code = javascriptOf(file).replace(
    / from '((?:\.|@holdfast\/)[^']*)'/g,
    (_, specifier: string) => ` from '${withModules(new URL(resolved(specifier, file))).href}'`,
  );
  return new URL(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}

const resolved = (specifier: string, from: URL): string =>
  specifier.startsWith('.') ? new URL(specifier, from).href : import.meta.resolve(specifier);
