/** Defaulting helpers: an absent, null or (where Go cannot distinguish it) zero value takes the default. */
export function setDefault<T, K extends keyof T>(target: T, key: K, value: NonNullable<T[K]>): void {
  target[key] ??= value;
}

/** An absent spec becomes an empty one; validation reports its missing fields. */
export function setEmptySpec(object: { spec?: unknown }): void {
  object.spec ??= {};
}

/** For fields where Go cannot distinguish zero from absent. */
export function setDefaultOfZero<T, K extends keyof T>(target: T, key: K, value: NonNullable<T[K]>): void {
  const current: unknown = target[key];
  if (current === undefined || current === null || current === 0 || current === '') target[key] = value;
}

/** Null bytes become empty bytes. */
export function setEmptyBytes(entries: Record<string, string> | undefined): void {
  if (entries === undefined) return;
  for (const key of Object.keys(entries)) entries[key] ??= '';
}

/** A zero time in a nested object is serialized as null. */
export function setZeroTime(metadata: { creationTimestamp?: string }): void {
  if (metadata.creationTimestamp === undefined) Object.assign(metadata, { creationTimestamp: null });
}

/** Unset times of a condition are serialized as null. */
export function setConditionTimes<T extends object>(
  conditions: readonly T[] | undefined,
  ...times: readonly (keyof T)[]
): void {
  for (const condition of conditions ?? []) {
    for (const time of times) if (condition[time] === undefined) Object.assign(condition, { [time]: null });
  }
}
