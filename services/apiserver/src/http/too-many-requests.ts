/** A request that flow control turns away. Kubernetes answers it with plain text, before anything of the API is asked. */
export class TooManyRequests extends Error {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('Too many requests, please try again later.');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
