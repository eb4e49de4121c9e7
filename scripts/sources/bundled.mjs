// A start from the bundle of bundle.mjs.
import { realpathSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { markUse } from './bundle-users.mjs';

/** From here on this program, and the programs of its threads, are those of the bundle. */
export function useBundle({ root, folder, programs }, entry) {
  const bundled = (url) => {
    const program = path.relative(root, fileURLToPath(url));
    return Object.hasOwn(programs, program) ? pathToFileURL(path.join(folder, programs[program])) : undefined;
  };
  markUse(folder);
  // For programs of threads (`bundledModule` of @holdfast/platform/sources).
  globalThis[Symbol.for('holdfast.bundled')] = bundled;
  const own = pathToFileURL(realpathSync(entry));
  const hooks = registerHooks({
    load: (url, context, next) => {
      if (url !== own.href) return next(url, context);
      hooks.deregister();
      return { format: 'module', source: `import ${JSON.stringify(bundled(own).href)};`, shortCircuit: true };
    },
  });
}
