import type { KubeObject } from '@holdfast/api';
import { type StoredObject } from '@holdfast/store';
import type { Oracle } from '@holdfast/testing';
import type { Answered } from '../api-servers.ts';
import { type Commit, objectOf, storedObjectOf } from '../committed.ts';

/** What an API server answers to a write was stored: the object at the revision that the answer names. */
export class AcknowledgedRule implements Oracle {
  readonly name = 'what is acknowledged is stored';
  readonly #states = new Set<string>();
  #story: string | undefined;

  startOn(stored: readonly StoredObject[]): void {
    for (const each of stored) this.#states.add(stateOf(storedObjectOf(each).metadata.uid, each.revision));
  }

  committed(commit: Commit): void {
    const { resourceVersion, uid } = objectOf(commit).metadata;
    this.#states.add(stateOf(uid, commit.revision));
    // A deletion is answered with the last state of the object.
    if (commit.operation.kind === 'delete') this.#states.add(stateOf(uid, Number(resourceVersion)));
  }

  answered({ by, method, path, status = 0, object }: Answered): void {
    if (method === 'GET' || status < 200 || status >= 300) return;
    const { uid, resourceVersion } = (object?.() as Partial<KubeObject> | undefined)?.metadata ?? {};
    if (uid === undefined || resourceVersion === undefined) return;
    if (this.#states.has(stateOf(uid, Number(resourceVersion)))) return;
    this.#story ??= `${by} got ${status} for ${method} ${path} with revision ${resourceVersion}, at which ${uid} was not stored`;
  }

  check(): string | undefined {
    return this.#story;
  }
}

const stateOf = (uid: string | undefined, revision: number): string => `${uid} ${revision}`;
