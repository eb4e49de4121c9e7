import type { Oracle, ProcessFact } from '@holdfast/testing';

export interface LivingPod {
  readonly node: string;
  readonly name: string;
  readonly uid: string;
  processes: number;
}

/**
 * The pods with living processes, as the machines report, and their nodes; asserts that users of one disk are on one
 * machine.
 */
export class Living implements Oracle {
  readonly name = 'what lives may live';
  readonly #pods = new Map<string, LivingPod>();
  readonly #diskOf: (podName: string) => string | undefined;
  readonly #givenUp = new Set<string>();
  readonly #ended = new Set<string>();
  /** When the deletion of a pod was committed that gives it this long. */
  readonly #asked = new Map<string, { readonly atMs: number; readonly graceSeconds: number }>();
  #story: string | undefined;

  /** `diskOf`: what a pod of that name writes to. */
  constructor(diskOf: (podName: string) => string | undefined) {
    this.#diskOf = diskOf;
  }

  /** A user has taken the word for the end of what runs on this node, or of this pod. */
  giveUp(matches: (pod: LivingPod) => boolean): void {
    for (const pod of this.#pods.values()) if (matches(pod)) this.#givenUp.add(`${pod.uid}@${pod.node}`);
  }

  /** The API declares this pod ended for good. */
  ended(uid: string): void {
    this.#ended.add(uid);
  }

  /** Its end was requested; `undefined`: it is not known any more how. */
  endRequested(uid: string, request: { readonly atMs: number; readonly graceSeconds: number } | undefined): void {
    if (request === undefined) this.#asked.delete(uid);
    else this.#asked.set(uid, this.#asked.get(uid) ?? request);
    const asked = this.#asked.get(uid);
    if (asked !== undefined && request !== undefined && request.graceSeconds < asked.graceSeconds)
      this.#asked.set(uid, { ...asked, graceSeconds: request.graceSeconds });
  }

  /** A machine ended a process. Pods of the simulation need `stopSeconds` to end by themselves. */
  checkGrace(uid: string, nowMs: number, stopSeconds: number): void {
    const asked = this.#asked.get(uid);
    if (asked === undefined || asked.graceSeconds <= stopSeconds || nowMs - asked.atMs >= stopSeconds * 1000) return;
    const took = ((nowMs - asked.atMs) / 1000).toFixed(1);
    this.#story ??= `${uid} may take ${asked.graceSeconds} s to end and was killed after ${took} s`;
  }

  observe({ kind, node, podName: name, podUid: uid }: ProcessFact): void {
    const key = `${uid}@${node}`;
    const pod = this.#pods.get(key) ?? { node, name, uid, processes: 0 };
    pod.processes += kind === 'started' ? 1 : -1;
    if (pod.processes > 0) this.#pods.set(key, pod);
    else this.#pods.delete(key);
    if (kind !== 'started') return;
    const disk = this.#diskOf(name);
    if (disk !== undefined) this.#lookAtDisk(disk);
    const twin = this.all().find((each) => each.name === name && each.node === node && each.uid !== uid);
    if (twin !== undefined) this.#story ??= `${name} (${uid}) is started beside ${twin.uid} on ${node}`;
    if (this.#ended.has(uid)) this.#story ??= `${name} (${uid}) had ended and is started on ${node} again`;
  }

  /** What a pod of that name writes to. */
  diskOf(podName: string): string | undefined {
    return this.#diskOf(podName);
  }

  all(): readonly LivingPod[] {
    return [...this.#pods.values()];
  }

  check(): string | undefined {
    return this.#story;
  }

  /** Those that write to a disk, without those that a user has given up. */
  writersOf(disk: string): readonly LivingPod[] {
    return this.all().filter(
      ({ name, uid, node }) => this.#diskOf(name) === disk && !this.#givenUp.has(`${uid}@${node}`),
    );
  }

  #lookAtDisk(disk: string): void {
    const users = this.writersOf(disk);
    const nodes = new Set(users.map(({ node }) => node));
    if (nodes.size > 1) this.#story ??= users.map(({ name, uid, node }) => `${name} (${uid}) on ${node}`).join(' and ');
  }
}
