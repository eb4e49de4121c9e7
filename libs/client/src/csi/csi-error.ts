import { MESSAGE_MAX_LENGTH } from './limits.ts';

/** A call to a CSI driver failed. The message is that of the driver, as Kubernetes shows it. */
export class CsiError extends Error {
  override readonly name = 'CsiError';
  /** The name of the gRPC status code. */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(`rpc error: code = ${code} desc = ${message.slice(0, MESSAGE_MAX_LENGTH)}`, { cause });
    this.code = code;
  }
}

/** After these codes the driver may still be working, or may have done it: the outcome is unknown. */
const UNKNOWN_OUTCOME: ReadonlySet<string> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'Unavailable',
  'Aborted',
  'ResourceExhausted',
]);

/** True when the driver has refused and did nothing. */
export const isFinal = (error: unknown): boolean => error instanceof CsiError && !UNKNOWN_OUTCOME.has(error.code);
