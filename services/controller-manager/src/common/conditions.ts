/** The fields that conditions of all workload kinds share. */
export interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export const findCondition = <C extends StatusCondition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined => conditions?.find((condition) => condition.type === type);

export const withoutCondition = <C extends StatusCondition>(conditions: readonly C[], type: string): readonly C[] =>
  conditions.filter((condition) => condition.type !== type);

/** Replaces the condition of the same type or appends it. */
export function withCondition<C extends StatusCondition>(conditions: readonly C[], condition: C): readonly C[] {
  const known = conditions.some((existing) => existing.type === condition.type);
  if (!known) return [...conditions, condition];
  return conditions.map((existing) => (existing.type === condition.type ? condition : existing));
}
