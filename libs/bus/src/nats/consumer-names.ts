import { createHash } from 'node:crypto';
import { NODE_CONSUMERS_MAX } from '../limits.ts';
import { subjectToken } from '../subjects.ts';
import { consumerStanding, deleteConsumer, type Request } from './jetstream-api.ts';

const NODE_USER_PREFIX = 'node-';
/** NATS accepts names of 255 characters; the number of the consumer needs two. */
const READABLE_CHARACTERS_MAX = 200;

export function nodeUserName(nodeName: string): string {
  return `${NODE_USER_PREFIX}${nodeName}`;
}

/**
 * Returns the only names that the consumers of a node's user can have. The permissions allow no other name, so they
 * bound the number of consumers that one node credential can create. Returns `undefined` for a user that is not a node:
 * it may use any name.
 */
export function consumerNamesOf(user: string): readonly string[] | undefined {
  if (!user.startsWith(NODE_USER_PREFIX)) return undefined;
  const readable = subjectToken(user);
  // A node name never contains an underscore, so a shortened name cannot equal the name of another node.
  const base =
    readable.length <= READABLE_CHARACTERS_MAX ? readable : `node_${createHash('sha256').update(user).digest('hex')}`;
  return Array.from({ length: NODE_CONSUMERS_MAX }, (_, slot) => `${base}-${slot}`);
}

/**
 * Returns the first name that has no consumer, or whose consumer has no listener. In the second case it deletes that
 * consumer first: otherwise the server would continue it at its old position when the settings are equal. Returns
 * `undefined` when every consumer has a listener.
 */
export async function freeName(request: Request, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const standing = await consumerStanding(request, name);
    if (standing === 'heard') continue;
    if (standing === 'unheard') await deleteConsumer(request, name);
    return name;
  }
  return undefined;
}
