import type { Clock } from '@holdfast/platform/clock';
import { TICKET_LIFETIME_MS, TICKETS_MAX, TICKETS_OF_SESSION_MAX } from '../limits.ts';
import type { Sessions } from './sessions.ts';

interface Kept {
  readonly id: string;
  readonly guard: string;
  readonly endsAt: number;
}

export interface TicketsDeps {
  readonly clock: Clock;
  /** An unguessable text. */
  readonly secret: () => string;
}

/**
 * A browser's WebSocket carries no header of ours, so it cannot send the guard of its session. It sends a ticket, which
 * the page has fetched with the guard: it opens one connection, at once, for the same session.
 */
export class Tickets {
  readonly #sessions: Sessions;
  readonly #deps: TicketsDeps;
  readonly #kept = new Map<string, Kept>();

  constructor(sessions: Sessions, deps: TicketsDeps) {
    this.#sessions = sessions;
    this.#deps = deps;
  }

  /** For the session of both secrets, which the caller has checked. `undefined` while too many of others wait. */
  issue(id: string, guard: string): string | undefined {
    const now = this.#deps.clock.monotonic();
    for (const [ticket, { endsAt }] of this.#kept) if (endsAt <= now) this.#kept.delete(ticket);
    const own = [...this.#kept].filter(([, kept]) => kept.id === id);
    const [oldest] = own;
    if (oldest !== undefined && own.length >= TICKETS_OF_SESSION_MAX) this.#kept.delete(oldest[0]);
    if (this.#kept.size >= TICKETS_MAX) return undefined;
    const ticket = this.#deps.secret();
    this.#kept.set(ticket, { id, guard, endsAt: now + TICKET_LIFETIME_MS });
    return ticket;
  }

  /** The token of the session, once. A ticket that comes with the cookie of another session is used up, too. */
  redeem(ticket: string, id: string): string | undefined {
    const kept = this.#kept.get(ticket);
    this.#kept.delete(ticket);
    if (kept === undefined || kept.endsAt <= this.#deps.clock.monotonic() || kept.id !== id) return undefined;
    return this.#sessions.tokenOf(id, kept.guard);
  }
}
