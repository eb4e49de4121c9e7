/** A TLS target: an address, or a service of the cluster. */
export interface CallTarget {
  /** With scheme, host and path. */
  readonly url: string;
  /** The connection address when it differs from the URL. */
  readonly connectTo?: { readonly host: string; readonly port: number };
  /** PEM. Absent: the authorities that the machine trusts. */
  readonly ca?: string;
  /** True: any certificate will do. */
  readonly insecure?: boolean;
}

/**
 * Sends a review to a webhook and returns the body of its answer. Throws a WebhookCallError with words that name what
 * failed: no connection, a certificate that does not fit, a status other than 200, an answer that is too long, a time-out.
 */
export interface WebhookCaller {
  readonly call: (target: CallTarget, body: string, timeoutMs: number) => Promise<string>;
}

export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
}
