import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { bundledModule, javascriptOf } from './sources.ts';

export interface ThreadOptions {
  /** The thread reads a copy of this with `threadData()`. */
  readonly data: unknown;
  readonly resourceLimits: ResourceLimits;
  /**
   * Initial size of one half of the young generation. V8 begins with 1 MB each and grows them when much survives, but
   * `limitHeap` stops that growth for all threads at once.
   */
  readonly semiSpaceMb?: number;
}

/**
 * Starts a thread that runs the module `source`. Our own modules are passed to it without types (see `javascriptOf`).
 */
export function startThread(source: URL, { data, resourceLimits, semiSpaceMb }: ThreadOptions): Worker {
  const entry = bundledModule(source) ?? source;
  const sources = entry.href.endsWith('.ts') ? strippedSources(entry) : new Map<string, string>();
  // The thread reads this flag when it creates its heap. Other threads that start at the same time read it too, within
  // their own limits.
  if (semiSpaceMb !== undefined) beginYoungWith(semiSpaceMb);
  const worker = new Worker(LOADER, { eval: true, resourceLimits, workerData: { entry: entry.href, sources, data } });
  if (semiSpaceMb !== undefined) worker.once('online', () => beginYoungWith(0));
  return worker;
}

const beginYoungWith = (semiSpaceMb: number): void => setFlagsFromString(`--min-semi-space-size=${semiSpaceMb}`);

const LOADER = `
const { registerHooks } = require('node:module');
const { entry, sources } = require('node:worker_threads').workerData;
registerHooks({
  load: (url, context, next) => {
    const source = sources.get(url);
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true };
  },
});
import(entry).then(() => sources.clear());
`;

const OWN_IMPORT = /(?:\bfrom|\bimport) *\(?'((?:\.|@holdfast\/)[^']*)'/g;

function strippedSources(entry: URL): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  const visit = (file: URL): void => {
    if (sources.has(file.href)) return;
    const source = javascriptOf(file);
    sources.set(file.href, source);
    for (const [, specifier = ''] of source.matchAll(OWN_IMPORT)) visit(resolved(specifier, file));
  };
  visit(entry);
  return sources;
}

const resolved = (specifier: string, from: URL): URL =>
  specifier.startsWith('.') ? new URL(specifier, from) : pathToFileURL(createRequire(from).resolve(specifier));
