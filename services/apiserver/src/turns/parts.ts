/** Long work in parts: between any two of them others may work. */
export type Parts<T> = Generator<undefined, T, undefined>;

/** Runs all parts without a pause. */
export function whole<T>(parts: Parts<T>): T {
  for (;;) {
    const next = parts.next();
    if (next.done === true) return next.value;
  }
}

/** Calls `goOn` between the parts and awaits its result. */
export async function inTurns<T>(parts: Parts<T>, goOn: () => Promise<void> | undefined): Promise<T> {
  for (;;) {
    const next = parts.next();
    if (next.done === true) return next.value;
    const turn = goOn();
    if (turn !== undefined) await turn;
  }
}

/** Objects so deep are written member by member. */
const WRITTEN_BY_MEMBERS = 3;

/** The same as `JSON.stringify`, of a document of objects. */
export function* jsonParts(value: unknown, depth = WRITTEN_BY_MEMBERS): Parts<string> {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) {
    yield;
    return JSON.stringify(value);
  }
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${yield* jsonParts(member, depth - 1)}`);
  }
  return `{${members.join(',')}}`;
}
