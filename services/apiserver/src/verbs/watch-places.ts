import { StatusError } from '@holdfast/machinery';
import { isSystemComponent, MASTERS_GROUP, nodeOf, type User } from '../authentication/identity.ts';
import {
  WATCHERS_MAX,
  WATCHERS_OF_EVERY_NODE_MAX,
  WATCHERS_OF_USER_MAX,
  WATCHERS_RESERVED,
  WATCHERS_RESERVED_FOR_CONTROL,
} from '../limits.ts';

/**
 * The places for open watches. Some are for kubelets, the control plane and administrators alone, and a user has a share of the others:
 * whoever opens as many as it can takes none of a kubelet or a controller.
 */
export class WatchPlaces {
  readonly #ofOwners = new Map<string, number>();
  #open = 0;

  /** Throws 429 when there is no place for another watch of this user. */
  refuseTooMany(user: User): void {
    if (this.#open >= placesFor(user)) throw tooMany(`too many watches are open (${this.#open})`);
    const owned = this.#ofOwners.get(ownerOf(user)) ?? 0;
    if (owned >= shareOf(user)) throw tooMany(`too many watches of ${ownerOf(user)} are open (${owned})`);
  }

  /** Returns what gives the place back, to be called once. */
  take(user: User): () => void {
    this.refuseTooMany(user);
    const owner = ownerOf(user);
    this.#open++;
    this.#ofOwners.set(owner, (this.#ofOwners.get(owner) ?? 0) + 1);
    return () => {
      this.#open--;
      const left = (this.#ofOwners.get(owner) ?? 1) - 1;
      if (left === 0) this.#ofOwners.delete(owner);
      else this.#ofOwners.set(owner, left);
    };
  }
}

/** The accounts of a namespace share: a user who may create some has as many names as it likes. */
const ownerOf = ({ name }: User): string => ACCOUNT.exec(name)?.[1] ?? name;

const ACCOUNT = /^(system:serviceaccount:[^:]*):/;

const isKubelet = (user: User): boolean => nodeOf(user) !== undefined;

const isControl = (user: User): boolean =>
  user.groups.includes(MASTERS_GROUP) || (isSystemComponent(user) && !isKubelet(user));

/** As many watches of all users may be open before this one is refused another. */
function placesFor(user: User): number {
  if (isControl(user)) return WATCHERS_MAX;
  return WATCHERS_MAX - (isKubelet(user) ? WATCHERS_RESERVED_FOR_CONTROL : WATCHERS_RESERVED);
}

/** The credential of one node may be stolen, so a kubelet has no more than another user. */
function shareOf(user: User): number {
  if (isControl(user)) return WATCHERS_MAX;
  return IS_ON_EVERY_NODE.has(ownerOf(user)) ? WATCHERS_OF_EVERY_NODE_MAX : WATCHERS_OF_USER_MAX;
}

/** One identity for the programs of all nodes: the proxy, and agents of networks and volumes. */
const IS_ON_EVERY_NODE: ReadonlySet<string> = new Set(['system:kube-proxy', 'system:serviceaccount:kube-system']);

const tooMany = (what: string): StatusError =>
  new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: `${what}; try again later`,
    details: { retryAfterSeconds: 5 },
  });
