import type { FlowSchema } from '../generated/types.ts';

type Ranked = Pick<FlowSchema, 'metadata' | 'spec'>;

/** Orders flow schemas by the precedence in which they match requests. */
export function byPrecedence(a: Ranked, b: Ranked): number {
  const difference = (a.spec.matchingPrecedence ?? 0) - (b.spec.matchingPrecedence ?? 0);
  if (difference !== 0) return difference;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}
