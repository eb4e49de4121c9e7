import type { Revision } from '../port.ts';
import { StoreUnavailable } from '../port.ts';

/** What a process has seen of the log, or what a snapshot says. */
export interface Seen {
  readonly position: number;
  readonly revision: Revision;
  readonly digest: string;
}

/** What was read contradicts what this process has seen already. */
export class WentBack extends Error {
  override readonly name = 'WentBack';
}

/**
 * Invariant I1: what a process serves never gets older. An outdated leader may know only of snapshots older than what was
 * applied here: another server is asked. A newer one with a lower revision, or another state at the same place, is the
 * state of another history.
 */
export function assertNotOlder(seen: Seen, read: Seen): void {
  if (read.position < seen.position) throw new StoreUnavailable('an outdated snapshot was read');
  if (read.revision < seen.revision)
    throw new WentBack(
      `the log went back: revision ${seen.revision} was seen, a snapshot behind it has ${read.revision}`,
    );
  if (read.position === seen.position && read.digest !== seen.digest)
    throw new WentBack(`the log went back: a snapshot has another state at entry ${seen.position}`);
}
