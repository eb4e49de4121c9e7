import type { Terminal } from '../command.ts';

/** Work that takes long, as one looks at it. */
export interface Work extends Disposable {
  /** `total`: absent while nobody knows it. */
  at(done: number, total?: number): void;
}

const REDRAW_MS = 100;
const PLAIN_MS = 10_000;

/**
 * Shows how far work is: a bar on a terminal, else a line every ten seconds, so that short work says nothing. Dispose it
 * before the result is printed.
 */
export function showWork(title: string, { clock, live, tell }: Pick<Terminal, 'clock' | 'live' | 'tell'>): Work {
  const everyMs = live === undefined ? PLAIN_MS : REDRAW_MS;
  const tellPlain = (text: string): void => (live === undefined ? tell(text) : live.show(text));
  // A bar appears at once, a line only when the work takes long.
  let nextMs = clock.monotonic() + (live === undefined ? PLAIN_MS : 0);
  return {
    at: (done, total) => {
      const now = clock.monotonic();
      if (now < nextMs) return;
      nextMs = now + everyMs;
      tellPlain(live === undefined ? `${title}: ${countOf(done, total)}` : barOf(title, done, total));
    },
    [Symbol.dispose]: () => live?.show(''),
  };
}

const BAR_WIDTH = 24;

/** `backup  [########................] 1200 of 3600`. */
export function barOf(title: string, done: number, total: number | undefined): string {
  if (total === undefined) return `${title}  ${countOf(done, total)}`;
  const part = total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
  const full = Math.floor(part * BAR_WIDTH);
  return `${title}  [${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${countOf(done, total)}`;
}

const countOf = (done: number, total: number | undefined): string =>
  total === undefined ? `${done}` : `${Math.min(done, total)} of ${total}`;
