import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import type { Addresses } from './workspace.ts';

/** A text in quotes: a path of one of our modules, or the name of one of our packages. */
const OWN_SPECIFIER = /(['"])(\.{1,2}\/[^'"\n]*\.ts|@holdfast\/[a-z][a-z/-]*)\1/g;

/** One of our modules without its types. Each module keeps its place, so that threads and data files are found as in the workspace. */
export const toJavaScript = (source: string, file: string, addresses: Addresses): string =>
  withPaths(stripTypeScriptTypes(source).replace(TRAILING_SPACE, ''), file, addresses);

/** Names files instead of packages of the workspace, and what they are called in the package. */
export const withPaths = (text: string, file: string, addresses: Addresses): string =>
  text.replace(OWN_SPECIFIER, (whole, quote: string, specifier: string) => {
    const found = specifier.startsWith('.') ? specifier : relativePath(addresses.fileOf(specifier), file);
    return found === undefined ? whole : `${quote}${found.replace(/\.ts$/, '.js')}${quote}`;
  });

/** Types leave spaces behind. */
const TRAILING_SPACE = /[ \t]+$/gm;

function relativePath(target: string | undefined, from: string): string | undefined {
  if (target === undefined) return undefined;
  const relative = path.posix.relative(path.posix.dirname(from), target);
  return relative.startsWith('.') ? relative : `./${relative}`;
}
