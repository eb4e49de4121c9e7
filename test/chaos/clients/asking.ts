import type { ApiClient } from '@holdfast/client';
import { TransportError } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Random } from '@holdfast/platform';
import type { Asked, Outcome } from '../checkers/acknowledged.ts';

/** The cluster as clients see it, on real containers or on virtual time. */
export interface Scenery {
  /** One client for each API server, which asks nobody else. */
  readonly users: readonly ApiClient[];
  readonly random: Random;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** A request that has ended, for the checkers and for the timeline. */
export interface Request extends Asked {
  /** The number of the API server. */
  readonly server: number;
  endedMs?: number;
  /** 503 and the like, or no answer at all. */
  isFailed?: boolean;
}

/** How a write ended. `value`: what was answered. `unknown` may have happened, `unsent` and `refused` have not. */
export type Told<T> =
  | { readonly outcome: 'acknowledged'; readonly value: T }
  | { readonly outcome: Exclude<Outcome, 'acknowledged'> | 'unsent' };

const TOO_MANY = 429;

/** What clients have asked, when, and how it ended. */
export class Asking {
  readonly requests: Request[] = [];
  readonly #scenery: Scenery;

  constructor(scenery: Scenery) {
    this.#scenery = scenery;
  }

  /** Asks one API server; it never rejects. */
  async ask<T>(what: string, server: number, send: (user: ApiClient) => Promise<T>): Promise<Told<T>> {
    const { users } = this.#scenery;
    const user = users[server % users.length];
    if (user === undefined) throw new Error('the cluster has no API server');
    const request: Request = { what, server: server % users.length, beganMs: this.#scenery.now() };
    this.requests.push(request);
    try {
      return { outcome: 'acknowledged', value: await send(user) };
    } catch (error) {
      const outcome = outcomeOf(error);
      request.isFailed = outcome !== 'refused';
      return { outcome };
    } finally {
      request.endedMs = this.#scenery.now();
    }
  }
}

function outcomeOf(error: unknown): 'unknown' | 'refused' | 'unsent' {
  if (error instanceof StatusError)
    return error.code === TOO_MANY ? 'unsent' : error.code < 500 ? 'refused' : 'unknown';
  return error instanceof TransportError && !error.possiblySent ? 'unsent' : 'unknown';
}
