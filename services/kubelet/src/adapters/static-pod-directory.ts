import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '@holdfast/api';
import type { Json } from '@holdfast/machinery';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import { readStaticPod } from '../domain/static-pod.ts';
import { STATIC_POD_POLL_MS, STATIC_POD_SETTLE_MS } from '../limits.ts';
import type { StaticPodSource } from '../pod/static-pods.ts';

/** Every file of the directory is one pod in YAML or JSON. It is read on file system events and periodically. */
export function createStaticPodDirectory(deps: {
  readonly directory: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
}): StaticPodSource {
  const { directory, clock, log } = deps;
  let timer: Timer | undefined;
  let watcher: FSWatcher | undefined;
  let stopped = false;
  const known = new Map<string, { readonly text: string; readonly pod: Pod | undefined }>();
  const look = async (onChange: (pods: readonly Pod[]) => void): Promise<void> => {
    timer?.cancel();
    try {
      const { parse } = await import('yaml');
      const pods = await readAll(deps, known, (text) => parse(text) as Json);
      if (!stopped) onChange(pods);
    } catch (error) {
      // An unreadable directory does not count as empty.
      log.error('the directory of static pods cannot be read', { directory, error: describeError(error) });
    }
    if (!stopped) timer = clock.timer(STATIC_POD_POLL_MS, () => void look(onChange));
  };
  return {
    start: async (onChange) => {
      await look(onChange);
      try {
        watcher = watch(directory, { persistent: false }, () => {
          timer?.cancel();
          if (!stopped) timer = clock.timer(STATIC_POD_SETTLE_MS, () => void look(onChange));
        });
        watcher.on('error', () => watcher?.close());
      } catch (error) {
        log.warn('the directory of static pods cannot be watched and is only polled', {
          directory,
          error: describeError(error),
        });
      }
    },
    stop: () => {
      stopped = true;
      timer?.cancel();
      watcher?.close();
    },
  };
}

async function readAll(
  { directory, nodeName, clock, log }: Parameters<typeof createStaticPodDirectory>[0],
  known: Map<string, { readonly text: string; readonly pod: Pod | undefined }>,
  parse: (text: string) => Json,
): Promise<readonly Pod[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
  const pods: Pod[] = [];
  for (const name of names.toSorted()) {
    const text = await readFile(join(directory, name), 'utf8');
    let entry = known.get(name);
    if (entry?.text !== text) {
      entry = { text, pod: tryRead(() => readStaticPod(parse(text), nodeName, clock.now()), { log, name }) };
      known.set(name, entry);
    }
    if (entry.pod !== undefined) pods.push(entry.pod);
  }
  return pods;
}

function tryRead(read: () => Pod, { log, name }: { readonly log: Log; readonly name: string }): Pod | undefined {
  try {
    return read();
  } catch (error) {
    log.error('a file is not a valid static pod and is ignored', { file: name, error: describeError(error) });
    return undefined;
  }
}
