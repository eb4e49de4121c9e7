// For `node --import`. Its threads also get it but do not need it: their programs have no types.
import { isMainThread } from 'node:worker_threads';

const entry = process.argv[1];
if (isMainThread && entry?.endsWith('.ts')) {
  const { useSources } = await import('./hooks.mjs');
  await useSources(entry);
}
