import type { Pod } from '@holdfast/api';
import type { RuntimeAbilities } from '../runtime/port.ts';
import { defaultUserId, onlyUserId } from './pod-users.ts';
import type { UserRange } from './user-ranges.ts';

/** The owner of files that are created for a pod, as ids of the machine. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
  /** The pod sets the group (`fsGroup`): its members may read, and write where the pod may. */
  readonly group: boolean;
  /** The ids are those of the pod's own users. */
  readonly isShifted: boolean;
}

const ROOT = 0;

/**
 * USERNS-03: `fsGroup` is an id inside. `undefined`: everything belongs to the node, as it is made. A pod that names no user gets one of the
 * node's choice, which owns what is made for it.
 */
export function ownerOf(pod: Pod, abilities: RuntimeAbilities, range: UserRange | undefined): Owner | undefined {
  const { fsGroup } = pod.spec.securityContext ?? {};
  if (abilities.user !== 'any') return undefined;
  const own = ownUserId(pod, abilities, range) ?? ROOT;
  if (range === undefined && fsGroup === undefined && own === ROOT) return undefined;
  const first = range?.firstId ?? ROOT;
  const gid = first + (fsGroup ?? own);
  return { uid: first + own, gid, group: fsGroup !== undefined, isShifted: range !== undefined };
}

/** The user of the node's choice where every container has it: id inside. */
function ownUserId(pod: Pod, abilities: RuntimeAbilities, range: UserRange | undefined): number | undefined {
  const given = defaultUserId(pod, abilities, range !== undefined);
  return given !== undefined && onlyUserId(pod, given) === given ? given : undefined;
}

/** The machine's id of the one user of all containers: the only one to read the pod's tokens. `undefined`: there are several, or who knows. */
export function tokenUser(pod: Pod, abilities: RuntimeAbilities, range: UserRange | undefined): number | undefined {
  if (abilities.user !== 'any') return abilities.user.uid;
  const user = onlyUserId(pod, defaultUserId(pod, abilities, range !== undefined));
  return user === undefined ? undefined : (range?.firstId ?? ROOT) + user;
}

/**
 * Returns the owner of a claim's directory: the single user of the pod, and the group that the pod sets. `undefined`
 * when there is neither, or this node cannot change owners.
 */
export function claimOwner(
  abilities: RuntimeAbilities,
  { owner, tokenUser: user }: { readonly owner?: Owner | undefined; readonly tokenUser?: number | undefined },
): Owner | undefined {
  if (abilities.user !== 'any' || (owner === undefined && user === undefined)) return undefined;
  const uid = user ?? owner?.uid ?? ROOT;
  const group = owner?.group === true;
  return { uid, gid: group ? owner.gid : uid, group, isShifted: owner?.isShifted === true };
}

const GROUP_READS = 0o040;

export const ownedFileMode = (mode: number, owner: Owner | undefined): number =>
  owner?.group === true ? mode | GROUP_READS : mode;

const ONLY_OWNER = 0o600;

/** As in Kubernetes: with a known user, or a group that may read, no other user may read it. */
export const tokenFileMode = (mode: number, owner: Owner | undefined, user: number | undefined): number =>
  user === undefined && owner?.group !== true ? mode : ownedFileMode(ONLY_OWNER, owner);
