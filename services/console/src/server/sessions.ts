import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@holdfast/platform/clock';
import { ATTEMPT_LIFETIME_MS, CODE_LIFETIME_MS, CODES_MAX, SESSION_LIFETIME_MS, SESSIONS_MAX } from '../limits.ts';

export interface SessionsDeps {
  readonly clock: Clock;
  /** An unguessable text. */
  readonly secret: () => string;
}

export interface OpenedSession {
  /** For the cookie, which scripts cannot read. */
  readonly id: string;
  /** For the page, which keeps it for its origin alone: cookies know no ports, so another program of this machine could see the id. */
  readonly guard: string;
}

interface Kept {
  /** The credential of the person. Every request goes through the authentication of the API server with it. */
  readonly token: string;
  /** As the API server names the owner of the token. */
  readonly user: string;
  readonly endsAt: number;
}

interface KeptCode extends Kept {
  /** Digest of the attempt that used it. */
  readonly usedBy?: string;
}

interface KeptSession extends Kept {
  readonly guard: string;
}

/** One-time codes and browser sessions. They exist only in memory: the end of the process ends all of them. */
export class Sessions {
  readonly deps: SessionsDeps;
  /** Keyed by digest, so that the time of a lookup reveals nothing. */
  readonly #codes = new Map<string, KeptCode>();
  readonly #sessions = new Map<string, KeptSession>();

  constructor(deps: SessionsDeps) {
    this.deps = deps;
  }

  /** A code that opens one session with this token; `undefined` while too many wait. */
  issueCode(token: string, user: string): string | undefined {
    const now = this.deps.clock.monotonic();
    dropEnded(this.#codes, now);
    if (this.#codes.size >= CODES_MAX) {
      // The user with the most gives way to others, and gets no more.
      const [oldest, ...others] = ofCrowd(this.#codes);
      if (oldest === undefined || others.length === 0 || this.#codes.get(oldest)?.user === user) return undefined;
      this.#codes.delete(oldest);
    }
    const code = this.deps.secret();
    this.#codes.set(digest(code), { token, user, endsAt: now + CODE_LIFETIME_MS });
    return code;
  }

  /** The token of a code. Afterwards only the same attempt can use the code again, and only for a moment. */
  redeem(code: string, attempt?: string): string | undefined {
    const key = digest(code);
    const found = this.#codes.get(key);
    const now = this.deps.clock.monotonic();
    const usedBy = attempt === undefined ? undefined : digest(attempt);
    if (found?.usedBy !== undefined) return found.usedBy === usedBy && found.endsAt > now ? found.token : undefined;
    this.#codes.delete(key);
    if (found === undefined || found.endsAt <= now) return undefined;
    if (usedBy !== undefined) this.#codes.set(key, { ...found, usedBy, endsAt: now + ATTEMPT_LIFETIME_MS });
    return found.token;
  }

  open(token: string, user: string): OpenedSession {
    const now = this.deps.clock.monotonic();
    dropEnded(this.#sessions, now);
    const [oldest] = ofCrowd(this.#sessions);
    if (oldest !== undefined && this.#sessions.size >= SESSIONS_MAX) this.#sessions.delete(oldest);
    const opened = { id: this.deps.secret(), guard: this.deps.secret() };
    this.#sessions.set(digest(opened.id), {
      token,
      user,
      guard: digest(opened.guard),
      endsAt: now + SESSION_LIFETIME_MS,
    });
    return opened;
  }

  /** The token of a session, for who has both secrets. */
  tokenOf(id: string, guard: string): string | undefined {
    const session = this.#sessions.get(digest(id));
    if (session === undefined || session.endsAt <= this.deps.clock.monotonic()) return undefined;
    return sameDigest(session.guard, digest(guard)) ? session.token : undefined;
  }

  close(id: string): void {
    this.#sessions.delete(digest(id));
  }
}

function dropEnded(kept: Map<string, Kept>, now: number): void {
  for (const [key, { endsAt }] of kept) if (endsAt <= now) kept.delete(key);
}

/** The keys of the user who has the most, the oldest first. */
function ofCrowd(kept: ReadonlyMap<string, Kept>): readonly string[] {
  const byUser = Map.groupBy(kept.keys(), (key) => kept.get(key)?.user);
  let crowd: readonly string[] = [];
  for (const keys of byUser.values()) if (keys.length > crowd.length) crowd = keys;
  return crowd;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64');

const sameDigest = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Browsers do not send what follows `#`: the code is in no log of a server or a proxy. */
export const linkPath = (code: string): string => `/ui/#code=${code}`;
