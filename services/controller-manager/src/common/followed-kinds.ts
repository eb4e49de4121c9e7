import type { ResourceRef } from '@holdfast/api';

/** Kinds of which nobody here keeps a copy: events own nothing, hold nothing up, and there are more of them than of all else. */
const UNFOLLOWED: ReadonlySet<string> = new Set(['events']);

export const isFollowed = ({ plural }: ResourceRef): boolean => !UNFOLLOWED.has(plural);
