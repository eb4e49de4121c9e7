import path from 'node:path';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { GroupSettings } from './groups.ts';

/** A process whose tests have ended and that is still alive after this time fails: a test left something open. */
const IDLE_MS = 20_000;

/**
 * Runs the tests of several files in this process, so that the modules they share are loaded once. Each file is a suite
 * with its path as the name, so its hooks apply to its own tests only. A file is loaded when the tests of the previous
 * one have ended.
 */
export async function runGroup(files: readonly string[], settings: GroupSettings): Promise<void> {
  for (const file of files) await runFile(file, settings);
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    process.stderr.write(`the tests of ${files.join(', ')} have ended and left open: ${open}\n`);
    process.exit(1);
  }, IDLE_MS).unref();
}

/** Resolves when the tests of the file have ended, or when it cannot be loaded. */
function runFile(file: string, { root, timeoutMsPerFile }: GroupSettings): Promise<void> {
  const ended = Promise.withResolvers<void>();
  void describe(file, { timeout: timeoutMsPerFile }, async () => {
    // Before the hooks of the file: a hook that fails ends the row of hooks.
    after(() => ended.resolve());
    try {
      await import(pathToFileURL(path.join(root, file)).href);
    } catch (error) {
      ended.resolve();
      throw error;
    }
  });
  return ended.promise;
}
