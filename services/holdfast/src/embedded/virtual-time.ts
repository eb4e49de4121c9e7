import type { ApiHandler } from '@holdfast/client';
import { ClusterTime, Requests } from '@holdfast/cluster/time';
import { type Clock, createSystemRandom } from '@holdfast/platform';
import { withRealWatches } from '../play/real-watches.ts';
import type { PlayTime } from '../play/time.ts';

/** Real time in which clients of other processes answer to what they were told. */
const SETTLE_MS = 5;

/** The time of a cluster that stands still until somebody advances it. */
export interface VirtualTime extends PlayTime, Pick<Requests, 'around' | 'fromOutside'> {
  readonly clock: Clock;
  /** For what lives outside of the cluster: browsers, connections. */
  readonly real: Clock;
  /** Around what clients outside of the cluster ask of the API server. */
  readonly watches: (handle: ApiHandler) => ApiHandler;
  /** Waits for the end of components; time passes for what they wait for. */
  readonly end: (ending: Promise<void>) => Promise<void>;
}

/** Begins at the time of the machine. */
export function createVirtualTime(real: Clock): VirtualTime {
  const requests = new Requests();
  const time = new ClusterTime({ isVirtual: true, startMs: real.now(), requests, settleMs: SETTLE_MS });
  return {
    clock: time.clock,
    real,
    around: requests.around,
    fromOutside: requests.fromOutside,
    watches: (handle) => withRealWatches(handle, { clock: real, random: createSystemRandom() }),
    advance: (ms, signal) => time.advance(ms, signal),
    end: (ending) => time.end(ending),
  };
}
