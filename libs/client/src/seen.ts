/**
 * Header, and annotation of bookmarks, with which an API server tells a client of ours what it has seen of which history. The client sends
 * it back with its next list or watch, so that a server whose data went back, or another way, is found out. The text is opaque but for
 * its first part, up to the first dot: it names the history.
 */
export const SEEN_HEADER = 'holdfast-seen';
export const SEEN_ANNOTATION = 'holdfast.io/seen';
/** Sent by a client that has seen nothing: it wants to be told. */
export const NOTHING_SEEN = 'none';

/** Whether two tokens are about different histories. */
export function isOtherHistory(a: string, b: string): boolean {
  return a.slice(0, a.indexOf('.') + 1) !== b.slice(0, b.indexOf('.') + 1);
}
