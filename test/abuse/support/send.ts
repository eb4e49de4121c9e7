import { type Agent, request } from 'node:https';
import type { PlainRequest } from '../corpus.ts';

/** The address and certificate of a server. */
export interface Target {
  readonly port: number;
  readonly ca: string;
}

export interface Sending {
  readonly token: string;
  readonly agent: Agent | undefined;
  /** Its answer does not end: the first bytes are enough. */
  readonly staysOpen?: true | undefined;
}

/** A request whose body is made already. */
export interface ReadyRequest extends Omit<PlainRequest, 'body'> {
  readonly text?: string | undefined;
}

export const readyRequest = ({ body, ...rest }: PlainRequest): ReadyRequest => ({ ...rest, text: body?.() });

const ANSWER_WITHIN_MS = 60_000;

/** The status of the answer, whose bytes are thrown away. */
export function send(target: Target, ready: ReadyRequest, sending: Sending): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { method, path, headers, text } = ready;
  const length = text === undefined ? {} : { 'content-length': `${Buffer.byteLength(text)}` };
  const sent = request(
    {
      host: '127.0.0.1',
      port: target.port,
      ca: target.ca,
      agent: sending.agent,
      method,
      path,
      headers: { authorization: `Bearer ${sending.token}`, ...length, ...headers },
      timeout: ANSWER_WITHIN_MS,
    },
    (response) => {
      const status = response.statusCode ?? 0;
      if (sending.staysOpen === true) {
        resolve(status);
        sent.destroy();
      }
      response
        .resume()
        .once('end', () => resolve(status))
        .once('error', reject);
    },
  );
  sent.once('timeout', () =>
    sent.destroy(new Error(`no answer within ${ANSWER_WITHIN_MS} ms: ${method} ${path.slice(0, 80)}`)),
  );
  // More than one: what is destroyed on purpose may hang up as well.
  sent.on('error', reject);
  sent.end(text);
  return promise;
}
