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
  readonly #usesDisk: (podName: string) => boolean;
  readonly #givenUp = new Set<string>();
  readonly #ended = new Set<string>();
  #story: string | undefined;

  constructor(usesDisk: (podName: string) => boolean) {
    this.#usesDisk = usesDisk;
  }

  /** A user has taken the word for the end of what runs on this node, or of this pod. */
  giveUp(matches: (pod: LivingPod) => boolean): void {
    for (const pod of this.#pods.values()) if (matches(pod)) this.#givenUp.add(`${pod.uid}@${pod.node}`);
  }

  /** The API declares this pod ended for good. */
  ended(uid: string): void {
    this.#ended.add(uid);
  }

  observe({ kind, node, podName: name, podUid: uid }: ProcessFact): void {
    const key = `${uid}@${node}`;
    const pod = this.#pods.get(key) ?? { node, name, uid, processes: 0 };
    pod.processes += kind === 'started' ? 1 : -1;
    if (pod.processes > 0) this.#pods.set(key, pod);
    else this.#pods.delete(key);
    if (kind !== 'started') return;
    if (this.#usesDisk(name)) this.#lookAtDisk();
    const twin = this.all().find((each) => each.name === name && each.node === node && each.uid !== uid);
    if (twin !== undefined) this.#story ??= `${name} (${uid}) is started beside ${twin.uid} on ${node}`;
    if (this.#ended.has(uid)) this.#story ??= `${name} (${uid}) had ended and is started on ${node} again`;
  }

  all(): readonly LivingPod[] {
    return [...this.#pods.values()];
  }

  check(): string | undefined {
    return this.#story;
  }

  #lookAtDisk(): void {
    const users = this.all().filter(
      ({ name, uid, node }) => this.#usesDisk(name) && !this.#givenUp.has(`${uid}@${node}`),
    );
    const nodes = new Set(users.map(({ node }) => node));
    if (nodes.size > 1) this.#story ??= users.map(({ name, uid, node }) => `${name} (${uid}) on ${node}`).join(' and ');
  }
}
