import type { ResourceRef } from '@holdfast/api';
import type { ApiClient } from './port.ts';

/**
 * The header of a write: the newest revision that the client has seen of the resource, and of any. The API server knows
 * what it sent; what a client learned from the bus only the client knows. The history of a cluster shows it.
 */
export const HAD_SEEN_HEADER = 'holdfast-had-seen';

type Resource = Pick<ResourceRef, 'group' | 'plural'>;

/** The newest revisions that the informers of one client have seen. */
export class HadSeen {
  #any = 0;
  readonly #byResource = new Map<string, number>();

  note({ group, plural }: Resource, revision: number): void {
    if (revision > this.#any) this.#any = revision;
    const resource = `${plural}.${group}`;
    if (revision > (this.#byResource.get(resource) ?? 0)) this.#byResource.set(resource, revision);
  }

  /** `undefined` when nothing was seen. */
  headerFor({ group, plural }: Resource): string | undefined {
    if (this.#any === 0) return undefined;
    return `${this.#byResource.get(`${plural}.${group}`) ?? 0} ${this.#any}`;
  }
}

const ofClients = new WeakMap<ApiClient, HadSeen>();

/** A client around another one is the same reader. */
export const shareSeen = (of: ApiClient, around: ApiClient): void => void ofClients.set(around, hadSeenBy(of));

/** Its informers and its writes share this. */
export function hadSeenBy(client: ApiClient): HadSeen {
  const known = ofClients.get(client);
  if (known !== undefined) return known;
  const made = new HadSeen();
  ofClients.set(client, made);
  return made;
}
