import type { SuccessPolicy, SuccessPolicyRule } from '@holdfast/api';
import { IndexSet } from './indexes.ts';

/** The position of the first rule that is met. */
export function metRule(
  policy: SuccessPolicy | undefined,
  succeeded: IndexSet,
  completions: number,
): number | undefined {
  const position = (policy?.rules ?? []).findIndex((rule) => isMet(rule, succeeded, completions));
  return position < 0 ? undefined : position;
}

function isMet({ succeededIndexes, succeededCount }: SuccessPolicyRule, succeeded: IndexSet, end: number): boolean {
  if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.size >= succeededCount;
  const required = IndexSet.parse(succeededIndexes, end);
  return required.size > 0 && succeeded.countOf(required) >= (succeededCount ?? required.size);
}
