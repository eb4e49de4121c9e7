import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

/**
 * The JavaScript of a module of ours, for the program of a thread: a thread that reads TypeScript itself keeps its own copy of
 * what strips the types, about 18 MB for as long as it lives. Where this process was started with a helper that
 * strips them (scripts/sources), it has the text already.
 */
export function javascriptOf(file: URL): string {
  const helper: unknown = Reflect.get(globalThis, Symbol.for('holdfast.sources'));
  const text: unknown = typeof helper === 'function' ? helper(file) : undefined;
  return typeof text === 'string' ? text : stripTypeScriptTypes(readFileSync(file, 'utf8'));
}
