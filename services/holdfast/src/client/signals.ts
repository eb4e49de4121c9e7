import { once } from 'node:events';

/** Resolves when somebody asks this process to end. Nothing listens afterwards: a second signal ends it at once. */
export async function askedToEnd(source: NodeJS.Process): Promise<void> {
  const listening = new AbortController();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  await Promise.race(signals.map((signal) => once(source, signal, { signal: listening.signal })));
  listening.abort();
}
