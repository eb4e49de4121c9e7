// For `node --import`: a program starts from its bundle, else from its sources with a helper that strips their types. With
// `use.mjs?sources` always from its sources. Threads also get this but do not need it: their programs have no types.
import path from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { bundleOf } from './bundle-state.mjs';

const ROOT = path.dirname(path.dirname(import.meta.dirname));
const entry = process.argv[1];
if (isMainThread && entry?.endsWith('.ts')) {
  const bundle = import.meta.url.endsWith('?sources') ? undefined : bundleOf(ROOT, entry);
  if (bundle === undefined) {
    const { useSources } = await import('./hooks.mjs');
    await useSources(entry);
  } else {
    const { useBundle } = await import('./bundled.mjs');
    useBundle(bundle, entry);
  }
}
