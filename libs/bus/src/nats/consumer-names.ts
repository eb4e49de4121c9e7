import { createHash } from 'node:crypto';
import { NODE_CONSUMERS_MAX } from '../limits.ts';
import { subjectToken } from '../subjects.ts';
import { consumerStanding, deleteConsumer, type Request } from './jetstream-api.ts';

const NODE_USER_PREFIX = 'node-';
/** NATS takes names of 255 characters; the number of the consumer needs two. */
const READABLE_CHARACTERS_MAX = 200;

/** User name of a node on the bus. */
export function nodeUserName(nodeName: string): string {
  return `${NODE_USER_PREFIX}${nodeName}`;
}

/**
 * The only names that consumers of a node's user can have. Permissions allow no other one, so they bound how many consumers a node
 * credential can create, whatever their kind. `undefined`: this user is no node and may use any name.
 */
export function consumerNamesOf(user: string): readonly string[] | undefined {
  if (!user.startsWith(NODE_USER_PREFIX)) return undefined;
  const readable = subjectToken(user);
  // No node name has an underscore, so a shortened name is never the name of another node.
  const base =
    readable.length <= READABLE_CHARACTERS_MAX ? readable : `node_${createHash('sha256').update(user).digest('hex')}`;
  return Array.from({ length: NODE_CONSUMERS_MAX }, (_, slot) => `${base}-${slot}`);
}

/**
 * The first name without a consumer, or with one that nobody listens to, which is deleted: the server would continue it where it
 * stands if it has the same settings. `undefined` when somebody listens to each of them.
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
