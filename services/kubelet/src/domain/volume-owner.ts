import type { Pod } from '@holdfast/api';
import type { RuntimeAbilities } from '../runtime/port.ts';
import type { UserRange } from './user-ranges.ts';

/** Who the files that are made for a pod belong to: ids of the machine. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
  /** The pod names the group (`fsGroup`): whoever is in it may read, and write where the pod may. */
  readonly group: boolean;
  /** The ids are those of the pod's own users. */
  readonly isShifted: boolean;
}

const ROOT = 0;

/** USERNS-03: `fsGroup` is an id inside. `undefined`: everything belongs to the node, as it is made. */
export function ownerOf({ spec }: Pod, { user }: RuntimeAbilities, range: UserRange | undefined): Owner | undefined {
  const { fsGroup } = spec.securityContext ?? {};
  if (user !== 'any' || (range === undefined && fsGroup === undefined)) return undefined;
  const first = range?.firstId ?? ROOT;
  const gid = first + (fsGroup ?? ROOT);
  return { uid: first, gid, group: fsGroup !== undefined, isShifted: range !== undefined };
}

const GROUP_READS = 0o040;

export const ownedFileMode = (mode: number, owner: Owner | undefined): number =>
  owner?.group === true ? mode | GROUP_READS : mode;
