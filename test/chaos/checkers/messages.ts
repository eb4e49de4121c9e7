/** A numbered message, published again and again until it was acknowledged. Times are monotonic milliseconds. */
export interface Published {
  readonly message: string;
  readonly beganMs: number;
  /** Absent: nobody knows whether it is stored. */
  acknowledged?: { readonly atMs: number; readonly sequence: number };
}

/** A message in the stream. */
export interface StoredMessage {
  readonly message: string;
  readonly sequence: number;
}

/**
 * What was acknowledged is in the stream once, at the place that was named, and before everything that was published
 * afterwards. What was not acknowledged is there once at most. `stored`: the whole stream, in its order.
 */
export function brokenMessages(published: readonly Published[], stored: readonly StoredMessage[]): readonly string[] {
  const places = new Map<string, number[]>();
  for (const { message, sequence } of stored) places.set(message, [...(places.get(message) ?? []), sequence]);
  const known = new Set(published.map(({ message }) => message));
  const strange = [...places.keys()].filter((message) => !known.has(message));
  return [
    ...published.flatMap((each) => wrongWith(each, places.get(each.message) ?? [])),
    ...strange.map((message) => `${message} is in the stream, and nobody has published it`),
    ...misplaced(published, stored),
  ];
}

function wrongWith({ message, acknowledged }: Published, places: readonly number[]): readonly string[] {
  const [place] = places;
  if (places.length > 1) return [`${message} is in the stream ${places.length} times: ${places.join(', ')}`];
  if (acknowledged === undefined) return [];
  if (place === undefined) return [`${message} was acknowledged as ${acknowledged.sequence}, and is not in the stream`];
  if (place === acknowledged.sequence) return [];
  return [`${message} was acknowledged as ${acknowledged.sequence}, and is in the stream as ${place}`];
}

/** Messages behind one that was published only after they had been acknowledged. */
function misplaced(published: readonly Published[], stored: readonly StoredMessage[]): readonly string[] {
  const byMessage = new Map(published.map((each) => [each.message, each]));
  let latest: Published | undefined;
  const wrong: string[] = [];
  for (const { message } of stored) {
    const each = byMessage.get(message);
    if (each === undefined) continue;
    if (latest !== undefined && (each.acknowledged?.atMs ?? Infinity) < latest.beganMs)
      wrong.push(`${latest.message} was published after ${message} had been acknowledged, and is before it`);
    if (latest === undefined || each.beganMs > latest.beganMs) latest = each;
  }
  return wrong;
}
