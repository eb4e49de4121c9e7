/** `durable` is on the disk; `floor` was seen, and may be lost in a crash. */
export interface SeenTokens {
  readonly floor: number;
  readonly durable: number;
}

export type TokenVerdict =
  | { readonly kind: 'stale' }
  /** Everything that it rests on is on the disk. */
  | { readonly kind: 'accept' }
  /** To be accepted once it is on the disk. */
  | { readonly kind: 'save'; readonly token: number };

/** A writer is refused when any greater token was seen, also one that has not reached the disk. */
export function judgeToken({ floor, durable }: SeenTokens, token: number): TokenVerdict {
  if (token < floor) return { kind: 'stale' };
  return token > durable ? { kind: 'save', token } : { kind: 'accept' };
}
