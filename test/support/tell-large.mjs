// For `node --require`, which also applies to threads: each reports at its end which large parts of Node it has loaded.
import { writeSync } from 'node:fs';

process.on('exit', () => {
  for (const part of ['amaro', 'undici']) {
    if (process.moduleLoadList.some((name) => name.includes(part))) writeSync(2, `LARGE ${part}`);
  }
});
