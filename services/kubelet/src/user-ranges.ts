import type { Pod } from '@holdfast/api';
import { prefersOwnUsers } from './domain/pod-users.ts';
import { freeRange, type UserRange, type UserRangePool } from './domain/user-ranges.ts';
import { type ContainerRuntime, RuntimeError, type SandboxStatus } from './runtime/port.ts';

/** Which ids of the machine belong to which pod of this node. What outlives the kubelet is in the sandboxes. */
export class UserRanges {
  /** Absent: the feature is off. */
  readonly #pool: UserRangePool | undefined;
  readonly #ownIds: UserRangePool | undefined;
  readonly #held = new Map<string, UserRange>();

  /** `ownIds`: for pods that name ids of users; where pods are processes these would be users of the machine. */
  constructor(pool: UserRangePool | undefined, ownIds?: UserRangePool) {
    this.#pool = pool;
    this.#ownIds = ownIds;
  }

  /** What this pod runs in; `undefined`: the users of the machine. Rejects rather than running it there against its wish. */
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

  /** What exists already: a range that a sandbox has is nobody else's. */
  hold(sandboxes: readonly SandboxStatus[]): void {
    for (const { config } of sandboxes) {
      if (config.userRange !== undefined) this.#held.set(config.podUid, config.userRange);
    }
  }

  /** Nothing of the pod is left, neither a process nor a file. */
  release(uid: string): void {
    this.#held.delete(uid);
  }

  #take(uid: string, pool: UserRangePool): UserRange {
    const range = this.#held.get(uid) ?? freeRange(pool, this.#held.values());
    if (range === undefined) throw unsupported(`all ${pool.ranges} ranges of user ids of this node are taken`);
    this.#held.set(uid, range);
    return range;
  }
}

const NOT_SUPPORTED = 'user namespaces (hostUsers: false) are not supported by the runtime of this node';

const unsupported = (message: string): RuntimeError => new RuntimeError('Unsupported', message);
