import { type ApiResponse, wholeAnswer } from '@holdfast/client';
import type { Clock } from '@holdfast/platform/clock';
import { WRITE_ANSWER_BYTES_MAX, WRITE_KEPT_MS, WRITES_OF_SESSION_MAX } from '../limits.ts';
import { malformed, tooMany, unkept } from './answers.ts';

/** The page's own name of a write. A repetition carries the same one. */
export const WRITE_HEADER = 'x-holdfast-write';
const WRITE_ID = /^[0-9a-f-]{8,64}$/;

interface Kept {
  /** The answer to a repetition. */
  readonly answer: Promise<ApiResponse>;
  /** Absent: the write has not been answered. */
  endsAt?: number;
}

/**
 * Makes each write of a page once, however often the page sends it. A browser breaks all its connections when any
 * network of its machine comes or goes; then the page asks again and gets the answer of the first time.
 */
export class Writes {
  readonly #clock: Clock;
  readonly #bySession = new Map<string, Map<string, Kept>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `session` is a secret of a session that the caller has checked. */
  async once(session: string, id: string, write: () => Promise<ApiResponse>): Promise<ApiResponse> {
    if (!WRITE_ID.test(id)) throw malformed(`the header ${WRITE_HEADER} is a UUID`);
    this.#dropEnded();
    const own = this.#bySession.get(session) ?? new Map<string, Kept>();
    const known = own.get(id);
    if (known !== undefined) return known.answer;
    makeRoom(own);
    this.#bySession.set(session, own);
    const whole = write().then(wholeAnswer);
    const kept: Kept = { answer: whole.then(shortAnswer) };
    own.set(id, kept);
    const settle = (): void => {
      kept.endsAt = this.#clock.monotonic() + WRITE_KEPT_MS;
    };
    kept.answer.then(settle, settle);
    return whole;
  }

  #dropEnded(): void {
    const now = this.#clock.monotonic();
    for (const [session, own] of this.#bySession) {
      for (const [id, { endsAt }] of own) if (endsAt !== undefined && endsAt <= now) own.delete(id);
      if (own.size === 0) this.#bySession.delete(session);
    }
  }
}

/** The oldest answer makes room. A write under way never does: it could be made twice. */
function makeRoom(own: Map<string, Kept>): void {
  if (own.size < WRITES_OF_SESSION_MAX) return;
  const oldest = [...own].find(([, { endsAt }]) => endsAt !== undefined);
  if (oldest === undefined) throw tooMany('too many changes of this session are under way');
  own.delete(oldest[0]);
}

function shortAnswer(response: ApiResponse): ApiResponse {
  const { status, headers, body } = response;
  if (body.kind !== 'json') return response;
  const bytes = body.bytes();
  if (bytes.length > WRITE_ANSWER_BYTES_MAX) throw unkept(status);
  return { status, headers, body: { kind: 'json', bytes: () => bytes, value: body.value } };
}
