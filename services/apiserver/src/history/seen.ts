import { RecentMap } from '@holdfast/platform';
import type { Revision } from '@holdfast/store';
import { HISTORY_CLIENTS_MAX, HISTORY_RESOURCES_OF_CLIENT_MAX } from '../limits.ts';
import { cut } from './own-text.ts';

/** The newest revisions that were sent to one client. */
export class SeenByClient {
  #any: Revision = 0;
  readonly #byResource = new RecentMap<string, Revision>(HISTORY_RESOURCES_OF_CLIENT_MAX);

  /** `resource` is the prefix of its keys. */
  note(resource: string, revision: Revision): void {
    if (revision > this.#any) this.#any = revision;
    if (revision > this.of(resource)) this.#byResource.set(resource, revision);
  }

  /** 0 = nothing. */
  of(resource: string): Revision {
    return this.#byResource.get(resource) ?? 0;
  }

  get ofAny(): Revision {
    return this.#any;
  }
}

/** By user and user agent. Bounded: a client that was quiet for long is forgotten. */
export class SeenRevisions {
  readonly #clients = new RecentMap<string, SeenByClient>(HISTORY_CLIENTS_MAX);

  of(user: string, userAgent: string): SeenByClient {
    const client = `${cut(user)}\n${cut(userAgent)}`;
    const known = this.#clients.get(client);
    if (known !== undefined) return known;
    const seen = new SeenByClient();
    this.#clients.set(client, seen);
    return seen;
  }
}
