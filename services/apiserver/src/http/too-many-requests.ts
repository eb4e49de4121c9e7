/** A request that flow control rejects. Kubernetes answers it in plain text, before any part of the API runs. */
export class TooManyRequests extends Error {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('Too many requests, please try again later.');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
