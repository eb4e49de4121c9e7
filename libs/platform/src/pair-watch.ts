import { readFile } from 'node:fs/promises';
import type { Clock, Timer } from './clock.ts';
import type { Service } from './lifecycle.ts';
import type { Log } from './log.ts';
import { decidePair, type PairDecision, type SeenFile, type Suspicion, type TlsPair } from './served-pair.ts';
import { formatTime } from './time.ts';

export type { TlsPair } from './served-pair.ts';

/** A renewed certificate is served after this time at most. Kubernetes looks once a minute; two small files cost little. */
export const PAIR_LOOK_INTERVAL_MS = 10_000;

export interface PairWatchOptions {
  readonly certFile: string;
  readonly keyFile: string;
  /** What the server serves now, as it was read from the files. */
  readonly pair: TlsPair;
  /** Makes the server use another pair for new connections. */
  readonly renew: (pair: TlsPair) => void;
  readonly clock: Clock;
  readonly log: Log;
}

type Taken = Extract<PairDecision, { readonly do: 'take' }>;

/** Follows the files of a server's certificate and key while it serves: a renewal needs no restart. Start it after the server. */
export function watchPair(options: PairWatchOptions): Service {
  const watch = new PairWatch(options);
  return { name: 'certificate files', start: async () => watch.start(), stop: async () => watch.stop() };
}

class PairWatch {
  readonly #options: PairWatchOptions;
  #served: TlsPair;
  #suspicion: Suspicion | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: PairWatchOptions) {
    this.#options = options;
    this.#served = options.pair;
  }

  start(): void {
    this.#timer ??= this.#next();
  }

  /** Does not wait for a look that is under way: the files may lie on a file system that does not answer. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #next(): Timer {
    return this.#options.clock.timer(PAIR_LOOK_INTERVAL_MS, () => void this.#lookOnce());
  }

  async #lookOnce(): Promise<void> {
    const { certFile, keyFile, clock } = this.#options;
    const [certificate, key] = await Promise.all([readSeen(certFile), readSeen(keyFile)]);
    if (this.#isStopped) return;
    const state = { served: this.#served, suspicion: this.#suspicion };
    this.#apply(decidePair(state, { certificate, key }, clock.now()));
    this.#timer = this.#next();
  }

  #apply(decision: PairDecision): void {
    const { log, certFile } = this.#options;
    if (decision.do === 'take') {
      this.#take(decision);
      return;
    }
    this.#suspicion = decision.suspicion;
    if (decision.do === 'keep') return;
    log.warn('the renewed certificate cannot be used, and the one before stays', {
      file: certFile,
      why: decision.suspicion?.flaw,
      nextStep: 'Write a certificate and the key that belongs to it, both in PEM. No restart is needed.',
    });
  }

  /** A server that refuses it goes on with the one before, and is asked again. */
  #take(decision: Taken): void {
    const { log, certFile: file, renew } = this.#options;
    this.#suspicion = undefined;
    try {
      renew(decision.pair);
    } catch (error) {
      log.error('the server refuses the renewed certificate, and the one before stays', { file, error });
      return;
    }
    this.#served = decision.pair;
    this.#tellTaken(decision);
  }

  #tellTaken({ endsMs, hasExpired }: Taken): void {
    const { log, certFile: file } = this.#options;
    const validUntil = formatTime(endsMs);
    log.info('new connections get the renewed certificate', { file, validUntil });
    if (!hasExpired) return;
    const nextStep = 'Write one that is valid, with its key; or set the clock of this machine.';
    log.warn('the renewed certificate has expired', { file, validUntil, nextStep });
  }
}

async function readSeen(name: string): Promise<SeenFile> {
  const text = await readFile(name, 'utf8').catch(() => undefined);
  return { name, text };
}
