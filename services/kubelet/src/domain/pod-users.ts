import { createHash } from 'node:crypto';
import type { Container, Pod } from '@holdfast/api';
import type { ProcessUser, RuntimeAbilities } from '../runtime/port.ts';
import { ContainerConfigError } from './environment.ts';
import { supplementalGroups } from './sandbox-isolation.ts';
import { USER_RANGE_LENGTH } from './user-ranges.ts';

/** docs/decisions/0010-users-of-process-pods.md explains why. */
const ROOT = 0;
/** Above the ids of people, services and container managers, and below those that the kernel and systemd keep. */
export const FIRST_POD_USER = 0x7000_0000;
export const POD_USERS = 0x0ffe_0000;
/** The default user, as an inner id, of a pod with a user namespace. */
export const OWN_DEFAULT_USER = 65_532;

const allOf = ({ spec }: Pod): readonly Container[] => [
  ...spec.containers,
  ...(spec.initContainers ?? []),
  ...(spec.ephemeralContainers ?? []),
];

const isPrivileged = ({ securityContext }: Container): boolean => securityContext?.privileged === true;

/**
 * True for pods that the Pod Security Standard `baseline` refuses: users who may create them may control the machine.
 * An ephemeral container in a running pod changes nothing for the others.
 */
export const asksForMachine = ({ spec }: Pod): boolean =>
  (spec.volumes ?? []).some(({ hostPath }) => hostPath !== undefined) ||
  [...spec.containers, ...(spec.initContainers ?? [])].some(isPrivileged);

const hasClaim = ({ spec }: Pod): boolean =>
  (spec.volumes ?? []).some(
    ({ persistentVolumeClaim, ephemeral }) => (persistentVolumeClaim ?? ephemeral) !== undefined,
  );

/** All ids that the pod names for itself and for these containers. */
export function idsOf({ spec }: Pod, containers: readonly Container[]): readonly number[] {
  const { runAsUser, runAsGroup, fsGroup, supplementalGroups: groups = [] } = spec.securityContext ?? {};
  const own = containers.flatMap(({ securityContext: each }) => [each?.runAsUser, each?.runAsGroup]);
  return [runAsUser, runAsGroup, fsGroup, ...groups, ...own].filter((id) => id !== undefined);
}

/** A user namespace has no other ids. */
function namesOwnIds(pod: Pod): boolean {
  const ids = idsOf(pod, allOf(pod));
  return ids.length > 0 && ids.every((id) => id < USER_RANGE_LENGTH);
}

/** Its processes would be users of this machine: the runtime may choose them and separates nothing itself. */
const sharesUsers = (abilities: RuntimeAbilities): boolean => abilities.user === 'any' && abilities.isolation !== true;

/**
 * Ids in a pod are meant for itself, not for the machine's users with these ids: such a pod gets a user namespace where
 * possible. Claims keep their owners, which a namespace would not show.
 */
export const prefersOwnUsers = (pod: Pod, abilities: RuntimeAbilities | undefined): boolean =>
  abilities !== undefined && sharesUsers(abilities) && namesOwnIds(pod) && !asksForMachine(pod) && !hasClaim(pod);

/** True when this container's ids are unverified ids of the machine: they must not belong to another pod. */
export const mustNotBeForeign = (pod: Pod, container: Container, abilities: RuntimeAbilities | undefined): boolean =>
  abilities !== undefined && sharesUsers(abilities) && !asksForMachine(pod) && !isPrivileged(container);

/** The id that a pod has when it names none. Pods with claims of one namespace share theirs: the next one finds what the last one wrote. */
export function podUserId(pod: Pod): number {
  const { uid = '', namespace = '' } = pod.metadata;
  const whose = hasClaim(pod) ? `namespace/${namespace}` : `pod/${uid}`;
  const hash = createHash('sha256').update(whose).digest();
  return FIRST_POD_USER + (hash.readUIntBE(0, 6) % POD_USERS);
}

/**
 * Returns the user of processes without a specified one; `undefined` when the runtime decides. An inner id in a user
 * namespace.
 */
export function defaultUserId(pod: Pod, abilities: RuntimeAbilities, hasOwnUsers: boolean): number | undefined {
  if (!sharesUsers(abilities)) return undefined;
  if (hasOwnUsers) return pod.spec.hostUsers === false ? ROOT : OWN_DEFAULT_USER;
  return asksForMachine(pod) ? ROOT : podUserId(pod);
}

/** Only for runtimes that may choose: who the container is to run as. */
export function chosenUser(
  pod: Pod,
  container: Container,
  { abilities, hasOwnUsers }: { readonly abilities: RuntimeAbilities; readonly hasOwnUsers: boolean },
): ProcessUser {
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const mayHaveMachine = asksForMachine(pod) || isPrivileged(container);
  const fallback = (isPrivileged(container) ? undefined : defaultUserId(pod, abilities, hasOwnUsers)) ?? ROOT;
  const groups = supplementalGroups(pod);
  const named = { uid: own?.runAsUser ?? shared?.runAsUser, gid: own?.runAsGroup ?? shared?.runAsGroup };
  if (!hasOwnUsers && !mayHaveMachine) refuseIdsOfMachine(container, { ...named, groups }, abilities);
  const uid = named.uid ?? fallback;
  const gid = named.gid ?? (hasOwnUsers && named.uid !== undefined ? ROOT : fallback);
  return { uid, gid, ...(groups.length === 0 ? {} : { groups }) };
}

interface NamedIds {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  readonly groups: readonly number[];
}

/**
 * Without a user namespace an id is that of the machine: the pod would get its owner's files, devices and processes.
 */
function refuseIdsOfMachine({ name }: Container, { uid, gid, groups }: NamedIds, { ids }: RuntimeAbilities): void {
  const foreign = (what: string, id: number | undefined, taken: ReadonlyMap<number, string> | undefined): void => {
    const owner = id === undefined ? undefined : (taken?.get(id) ?? ownerOf(id));
    if (owner === undefined) return;
    throw new ContainerConfigError(
      `container "${name}" cannot run with ${what} ${id}: that is ${owner} of this machine, and this pod cannot have users of its own here; ` +
        'leave the id out or choose one that the machine does not use',
    );
  };
  foreign('user', uid, ids?.users);
  for (const group of [gid, ...groups]) foreign('group', group, ids?.groups);
}

function ownerOf(id: number): string | undefined {
  if (id === ROOT) return 'root';
  return id >= FIRST_POD_USER && id < FIRST_POD_USER + POD_USERS ? 'another pod' : undefined;
}

/** The one user of all containers, if they have one: `tokens` belong to it alone. */
export function onlyUserId(pod: Pod, fallback: number | undefined): number | undefined {
  const shared = pod.spec.securityContext?.runAsUser;
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const users = new Set(all.map(({ securityContext }) => securityContext?.runAsUser ?? shared ?? fallback));
  const [only] = users;
  return users.size === 1 ? only : undefined;
}
