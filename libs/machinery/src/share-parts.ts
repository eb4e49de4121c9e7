import { isJsonObject } from './json.ts';

type Members = Record<string, unknown>;

/**
 * Replaces parts of `value` by the equal parts of `like`, so that objects that are much alike take the memory of one. Answers `like` where
 * the whole is equal: same members in the same order. Changes `value` in place, but nothing that is frozen, and no content. `like` has to
 * be deep-frozen. Arrays that are kept lose the room that they have grown by.
 */
export function shareParts<T>(value: T, like: unknown): T;
export function shareParts(value: unknown, like: unknown): unknown {
  if (value === like) return like;
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) return shareItems(value, Array.isArray(like) ? like : NONE);
  return isJsonObject(value) ? shareMembers(value as Members, isJsonObject(like) ? like : NOTHING) : value;
}

const NONE: readonly unknown[] = Object.freeze([]);
const NOTHING: Readonly<Members> = Object.freeze({});

function shareItems(items: unknown[], like: readonly unknown[]): readonly unknown[] {
  let isEqual = items.length === like.length && like !== NONE;
  for (let i = 0; i < items.length; i++) {
    const shared = shareParts(items[i], like[i]);
    items[i] = shared;
    if (shared !== like[i]) isEqual = false;
  }
  return isEqual ? like : items.slice();
}

function shareMembers(object: Members, like: Readonly<Members>): Readonly<Members> {
  const keys = Object.keys(object);
  const likeKeys = Object.keys(like);
  let isEqual = keys.length === likeKeys.length && like !== NOTHING;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] ?? '';
    // As an assignment it would be another thing than a member.
    if (key === '__proto__') {
      isEqual = false;
      continue;
    }
    const known = Object.hasOwn(like, key) ? like[key] : undefined;
    const shared = shareParts(object[key], known);
    object[key] = shared;
    if (key !== likeKeys[i] || shared !== known) isEqual = false;
  }
  return isEqual ? like : object;
}
