import type { ResourceRef } from '@holdfast/api';

/** Kinds without a cache: events own nothing, block nothing, and outnumber all other objects. */
const UNFOLLOWED: ReadonlySet<string> = new Set(['events']);

export const isFollowed = ({ plural }: ResourceRef): boolean => !UNFOLLOWED.has(plural);
