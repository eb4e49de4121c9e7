// For `node --import`. Its threads get it too, and need nothing of it: they are given programs without types.
import { isMainThread } from 'node:worker_threads';

const entry = process.argv[1];
if (isMainThread && entry?.endsWith('.ts')) {
  const { useSources } = await import('./hooks.mjs');
  await useSources(entry);
}
