// For `node --require`, which also applies to threads: each reports at its end which modules Node has read with their types.
import { writeSync } from 'node:fs';
import { registerHooks } from 'node:module';

const sources = new Set();
registerHooks({
  load: (url, context, next) => {
    if (url.endsWith('.ts')) sources.add(url);
    return next(url, context);
  },
});
process.on('exit', () => {
  for (const url of sources) writeSync(2, `SOURCE ${url}\n`);
});
