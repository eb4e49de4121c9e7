/** Helpers of defaulting: an absent, null or (where Go cannot tell) zero value takes the default. */
export function setDefault<T, K extends keyof T>(target: T, key: K, value: NonNullable<T[K]>): void {
  target[key] ??= value;
}

/** A spec that was left out is an empty one: what it lacks is for validation to miss. */
export function setEmptySpec(object: { spec?: unknown }): void {
  object.spec ??= {};
}

/** For fields where Go cannot tell zero from absent. */
export function setDefaultOfZero<T, K extends keyof T>(target: T, key: K, value: NonNullable<T[K]>): void {
  const current: unknown = target[key];
  if (current === undefined || current === null || current === 0 || current === '') target[key] = value;
}

/** Bytes that were sent as null are none. */
export function setEmptyBytes(entries: Record<string, string> | undefined): void {
  if (entries === undefined) return;
  for (const key of Object.keys(entries)) entries[key] ??= '';
}

/** A zero time inside another object travels as null. */
export function setZeroTime(metadata: { creationTimestamp?: string }): void {
  if (metadata.creationTimestamp === undefined) Object.assign(metadata, { creationTimestamp: null });
}

/** Times of a condition that nobody gave travel as null. */
export function setConditionTimes<T extends object>(
  conditions: readonly T[] | undefined,
  ...times: readonly (keyof T)[]
): void {
  for (const condition of conditions ?? []) {
    for (const time of times) if (condition[time] === undefined) Object.assign(condition, { [time]: null });
  }
}
