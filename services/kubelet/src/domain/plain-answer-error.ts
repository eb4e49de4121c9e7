/** The server answered a request over TLS in plain text: it speaks HTTP at this port. */
export class PlainAnswerError extends Error {
  override readonly name = 'PlainAnswerError';
  constructor(cause: unknown) {
    super('server gave HTTP response to HTTPS client', { cause });
  }
}
