import { type ApiResponse, wholeAnswer } from '@holdfast/client';
import type { Clock } from '@holdfast/platform/clock';
import { WRITE_ANSWER_BYTES_MAX, WRITE_DEADLINE_MS, WRITE_KEPT_MS, WRITES_OF_SESSION_MAX } from '../limits.ts';
import { malformed, tooMany, unanswered, unkept } from './answers.ts';

/** The page's own name of a write. A repetition carries the same one. */
export const WRITE_HEADER = 'x-holdfast-write';
const WRITE_ID = /^[0-9a-f-]{8,64}$/;

/** The request, which ends when the signal aborts. */
type Write = (signal: AbortSignal) => Promise<ApiResponse>;

export interface Writer {
  /** A secret of a session that the caller has checked. */
  readonly session: string;
  /** False when the session has ended. */
  readonly isOpen: () => boolean;
}

interface Kept {
  /** The answer to a repetition. */
  readonly answer: Promise<ApiResponse>;
  readonly ending: AbortController;
  /** Absent: the write has not been answered. */
  endsAt?: number;
}

interface Own {
  readonly isOpen: () => boolean;
  readonly byId: Map<string, Kept>;
}

/**
 * Makes each write of a page once, however often the page sends it. A browser breaks all its connections when any
 * network of its machine comes or goes; then the page asks again and gets the answer of the first time.
 */
export class Writes {
  readonly #clock: Clock;
  readonly #bySession = new Map<string, Own>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async once({ session, isOpen }: Writer, id: string, write: Write): Promise<ApiResponse> {
    if (!WRITE_ID.test(id)) throw malformed(`the header ${WRITE_HEADER} is a UUID`);
    this.#dropEnded();
    const own = this.#bySession.get(session) ?? { isOpen, byId: new Map<string, Kept>() };
    const known = own.byId.get(id);
    if (known !== undefined) return known.answer;
    makeRoom(own.byId);
    this.#bySession.set(session, own);
    const ending = new AbortController();
    const whole = this.#inTime(write, ending);
    const kept: Kept = { answer: whole.then(shortAnswer), ending };
    own.byId.set(id, kept);
    const settle = (): void => {
      kept.endsAt = this.#clock.monotonic() + WRITE_KEPT_MS;
    };
    kept.answer.then(settle, settle);
    return whole;
  }

  /** The source of an answer may not hear the signal: its end is not waited for. */
  #inTime(write: Write, ending: AbortController): Promise<ApiResponse> {
    const { signal } = ending;
    const ended = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => ended.reject(signal.reason), { once: true });
    const late = `no whole answer within ${WRITE_DEADLINE_MS / 1000} s`;
    const deadline = this.#clock.timer(WRITE_DEADLINE_MS, () => ending.abort(unanswered(late)));
    return Promise.race([write(signal).then(wholeAnswer), ended.promise]).finally(() => deadline.cancel());
  }

  #dropEnded(): void {
    const now = this.#clock.monotonic();
    for (const [session, { isOpen, byId }] of this.#bySession) {
      const isOver = !isOpen();
      for (const [id, { endsAt, ending }] of byId) {
        if (isOver && endsAt === undefined) ending.abort(unanswered('the session has ended'));
        if (isOver || (endsAt !== undefined && endsAt <= now)) byId.delete(id);
      }
      if (byId.size === 0) this.#bySession.delete(session);
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
