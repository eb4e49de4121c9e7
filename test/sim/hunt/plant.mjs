// For `node --import .../plant.mjs?bug=NAME,...`: loads the product with one planted bug or several. The sources on disk are
// unchanged, so that no release can contain it.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { editsOf, PLANTED_BUGS, plantInto } from './planted.mjs';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const names = new URL(import.meta.url).searchParams.get('bug') ?? '';
if (names !== '') {
  const planted = names.split(',').flatMap((name) => {
    const bug = PLANTED_BUGS.find((each) => each.name === name);
    if (bug === undefined) throw new Error(`there is no planted bug "${name}"; see test/sim/hunt/planted.mjs`);
    return editsOf(bug);
  });
  const edits = Map.groupBy(planted, (edit) => pathToFileURL(path.join(ROOT, edit.file)).href);
  registerHooks({
    load: (url, context, next) => {
      const own = edits.get(url);
      if (own === undefined) return next(url, context);
      const source = own.reduce((text, edit) => plantInto(edit, text), readFileSync(fileURLToPath(url), 'utf8'));
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
