import type { Container, Pod } from '@holdfast/api';
import { ContainerConfigError } from '../domain/environment.ts';
import { idsOf, mustNotBeForeign, prefersOwnUsers } from '../domain/pod-users.ts';
import { FIRST_POD_ID, freeRange, rangesAround, type UserRange, type UserRangePool } from '../domain/user-ranges.ts';
import {
  type ContainerRuntime,
  type ProcessUser,
  type RuntimeAbilities,
  RuntimeError,
  type SandboxStatus,
} from '../runtime/port.ts';

/** The assignment of the machine's ids to pods of this node. The sandboxes store what outlives the kubelet. */
export class UserRanges {
  /** Absent: the feature is off. */
  readonly #pool: UserRangePool | undefined;
  readonly #ownIds: UserRangePool | undefined;
  readonly #held = new Map<string, UserRange>();
  /** Ranges of the machine that contain ids named by pods: they are not assigned. */
  readonly #named = new Map<string, readonly UserRange[]>();

  /** `ownIds`: for pods that name ids of users; where pods are processes these would be users of the machine. */
  constructor(pool: UserRangePool | undefined, ownIds?: UserRangePool) {
    this.#pool = pool;
    this.#ownIds = ownIds;
  }

  /**
   * Returns the pod's user range; `undefined` for the users of the machine. Rejects rather than running the pod there
   * against its spec.
   */
  async of(pod: Pod, runtime: ContainerRuntime, handler: string): Promise<UserRange | undefined> {
    if (pod.spec.hostUsers !== false) return this.#forOwnIds(pod, runtime, handler);
    if (this.#pool === undefined)
      throw unsupported('the feature gate "UserNamespacesSupport" is disabled: cannot set spec.hostUsers');
    const refusal =
      runtime.userNamespaces === undefined ? NOT_SUPPORTED : await runtime.userNamespaces.refusal(handler);
    if (refusal !== undefined) throw unsupported(refusal);
    return this.#take(pod.metadata.uid ?? '', this.#pool);
  }

  async #forOwnIds(pod: Pod, runtime: ContainerRuntime, handler: string): Promise<UserRange | undefined> {
    if (this.#ownIds === undefined || !prefersOwnUsers(pod, runtime.abilities)) return undefined;
    const isPossible = runtime.userNamespaces !== undefined && runtime.abilities?.mounts === true;
    if (!isPossible || (await runtime.userNamespaces.refusal(handler)) !== undefined) return undefined;
    return this.#take(pod.metadata.uid ?? '', this.#ownIds);
  }

  /** For a container of a pod without a range. Rejects ids of another pod, and reserves the accepted ones. */
  name(pod: Pod, container: Container, abilities: RuntimeAbilities | undefined): void {
    if (!mustNotBeForeign(pod, container, abilities)) return;
    const ids = idsOf(pod, [container]);
    const isHeld = (id: number): boolean =>
      [...this.#held.values()].some(({ firstId, length }) => id >= firstId && id < firstId + length);
    const foreign = ids.find(isHeld);
    if (foreign !== undefined)
      throw new ContainerConfigError(
        `container "${container.name}" cannot run with id ${foreign}: it belongs to another pod of this node; choose an id below ${FIRST_POD_ID}`,
      );
    this.#addNamed(pod.metadata.uid ?? '', ids);
  }

  /** Reserves the ranges of existing sandboxes. */
  hold(sandboxes: readonly SandboxStatus[]): void {
    for (const { config, containers } of sandboxes) {
      if (config.userRange !== undefined) this.#held.set(config.podUid, config.userRange);
      else for (const { config: of } of containers) this.#addNamed(config.podUid, idsOfUser(of.user));
    }
  }

  #addNamed(uid: string, ids: readonly number[]): void {
    const found = rangesAround(ids);
    const known = this.#named.get(uid) ?? [];
    const more = found.filter(({ firstId }) => !known.some((other) => other.firstId === firstId));
    if (more.length > 0) this.#named.set(uid, [...known, ...more]);
  }

  /** Nothing of the pod is left: no process and no file. */
  release(uid: string): void {
    this.#held.delete(uid);
    this.#named.delete(uid);
  }

  #take(uid: string, pool: UserRangePool): UserRange {
    const range = this.#held.get(uid) ?? freeRange(pool, [...this.#held.values(), ...this.#named.values()].flat());
    if (range === undefined) throw unsupported(`all ${pool.ranges} ranges of user ids of this node are in use`);
    this.#held.set(uid, range);
    return range;
  }
}

const idsOfUser = (user: ProcessUser | undefined): readonly number[] =>
  user === undefined ? [] : [user.uid, user.gid, ...(user.groups ?? [])];

const NOT_SUPPORTED = 'user namespaces (hostUsers: false) are not supported by the runtime of this node';

const unsupported = (message: string): RuntimeError => new RuntimeError('Unsupported', message);
