import { isExclusive, type Node, type Pod, volumeInUse } from '@holdfast/api';
import { parseKey } from '@holdfast/store';
import type { Oracle, ProcessFact } from '@holdfast/testing';
import type { Answered } from '../api-servers.ts';
import { type Commit, objectOf } from '../committed.ts';

/**
 * Before the first process of an exclusive pod starts, its node has read the pod from the API, and the API has the word
 * of the node for every volume that the pod writes to. Restarts are left out: on a node without a promise they need no
 * API.
 */
export class StartRule implements Oracle {
  readonly name = 'what is exclusive starts with the knowledge of the API';
  readonly #diskOf: (podName: string) => string | undefined;
  readonly #pods = new Map<string, { readonly pod: Pod; readonly createdAtMs: number }>();
  readonly #nodes = new Map<string, Node>();
  readonly #readAtMs = new Map<string, number>();
  readonly #started = new Set<string>();
  readonly #now: () => number;
  #story: string | undefined;

  constructor(diskOf: (podName: string) => string | undefined, now: () => number) {
    this.#diskOf = diskOf;
    this.#now = now;
  }

  committed(commit: Commit): void {
    const { key, kind } = commit.operation;
    const { resource, name, namespace } = parseKey(key);
    if (resource === 'nodes') {
      if (kind === 'delete') this.#nodes.delete(name);
      else this.#nodes.set(name, objectOf(commit) as Node);
    }
    if (resource !== 'pods' || namespace !== 'default') return;
    const pod = objectOf(commit) as Pod;
    const uid = pod.metadata.uid ?? '';
    if (kind === 'delete') this.#pods.delete(uid);
    else this.#pods.set(uid, { pod, createdAtMs: this.#pods.get(uid)?.createdAtMs ?? this.#now() });
  }

  answered({ by, method, path }: Answered): void {
    if (method === 'GET') this.#readAtMs.set(`${by} ${path.split('?')[0]}`, this.#now());
  }

  started({ kind, namespace, podName, podUid, node }: ProcessFact): void {
    if (kind !== 'started' || this.#started.has(podUid)) return;
    this.#started.add(podUid);
    const known = this.#pods.get(podUid);
    if (known === undefined || !isExclusive(known.pod)) return;
    const path = `/api/v1/namespaces/${namespace}/pods/${podName}`;
    const readAtMs = this.#readAtMs.get(`system:node:${node} ${path}`) ?? Number.NEGATIVE_INFINITY;
    if (readAtMs < known.createdAtMs)
      this.#story ??= `${podName} (${podUid}) starts on ${node}, which has not read it from the API`;
    this.#checkDisk(podName, podUid, node);
  }

  check(): string | undefined {
    return this.#story;
  }

  #checkDisk(podName: string, podUid: string, nodeName: string): void {
    const disk = this.#diskOf(podName);
    const node = this.#nodes.get(nodeName);
    if (disk === undefined || node === undefined) return;
    if (node.status.volumesInUse?.includes(volumeInUse(disk, podUid)) === true) return;
    this.#story ??= `${podName} (${podUid}) writes to ${disk} on ${nodeName}, which has not reported that`;
  }
}
