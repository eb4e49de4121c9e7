/**
 * The header, and annotation of bookmarks, in which an API server tells our clients which history, and how much of it,
 * they have seen. The client returns it with its next list or watch, so that a server whose data went back or diverged
 * is detected. The token is opaque except for its part before the first dot, which names the history.
 */
export const SEEN_HEADER = 'holdfast-seen';
export const SEEN_ANNOTATION = 'holdfast.io/seen';
/** A client that has seen nothing sends this to request a token. */
export const NOTHING_SEEN = 'none';

/** True when two tokens name different histories. */
export function isOtherHistory(a: string, b: string): boolean {
  return a.slice(0, a.indexOf('.') + 1) !== b.slice(0, b.indexOf('.') + 1);
}
