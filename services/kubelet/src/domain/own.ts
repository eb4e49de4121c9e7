/** Records that are keyed by users' names also answer to `constructor` and the like, unless they are asked this way. */
export function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
