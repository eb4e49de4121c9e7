/** What every service is to its composition. Both calls are idempotent. */
export interface Service {
  readonly name: string;
  /** Resolves when the service does its work; rejects with a sentence an operator can act on. */
  start(): Promise<void>;
  /** Resolves when nothing of the service runs any more. */
  stop(): Promise<void>;
}
