import type { Random } from '@holdfast/platform';
import type { Oracle, ProcessFact } from '@holdfast/testing';
import type { SimCluster } from './cluster.ts';

const MEMBERS = 3;
const MAJORITY = 2;
const CLIENT_PARTY = 'user';
const WRITE_EVERY_MS = 500;
const WRITE_TIMEOUT_MS = 2_000;

/** One life of a member. Its data are in memory and on the disk of its identity, where the next life finds them. */
interface Member {
  readonly identity: string;
  readonly podUid: string;
  readonly node: string;
  version: number;
}

/** A write on its way through a majority: first the newest version that one knows, then the next one. */
interface Write {
  readonly coordinator: Member;
  /** The last acknowledged value before this operation: its result must come after it. */
  readonly after: number;
  readonly versions: Map<string, number>;
  readonly stored: Set<string>;
  phase: 'reading' | 'storing' | 'over';
  version: number;
}

/**
 * A clustered application as people run it in a StatefulSet: three members that know each other by name, writes that two of them
 * store, clients that come to whichever member they reach. It trusts its platform in one thing: that there are never two members
 * of one name. Its messages take the simulated network between the nodes.
 */
export class QuorumStore implements Oracle {
  readonly name = 'no acknowledged write of the quorum store is lost';
  readonly #cluster: SimCluster;
  readonly #set: RegExp;
  readonly #random: Random;
  readonly #disks = new Map<string, number>();
  readonly #members: Member[] = [];
  #acknowledged = 0;
  #acknowledgedVersion = 0;
  #story: string | undefined;

  constructor(cluster: SimCluster, set: RegExp) {
    this.#cluster = cluster;
    this.#set = set;
    this.#random = cluster.kernel.random('quorum store');
    cluster.kernel.addOracle(this);
    this.#next();
  }

  /** Writes that clients know to be stored. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  check(): string | undefined {
    return this.#story;
  }

  observe({ kind, podName, podUid, node }: ProcessFact): void {
    if (!this.#set.test(podName)) return;
    if (kind === 'started') {
      this.#members.push({ identity: podName, podUid, node, version: this.#disks.get(podName) ?? 0 });
      return;
    }
    const at = this.#members.findIndex((member) => member.podUid === podUid);
    if (at >= 0) this.#members.splice(at, 1);
  }

  #next(): void {
    const again = (): void => {
      this.#clientWrites();
      this.#next();
    };
    this.#cluster.kernel.schedule({ delayMs: WRITE_EVERY_MS, label: 'client of the quorum store', fire: again });
  }

  #clientWrites(): void {
    const coordinator = this.#members[this.#random.int(Math.max(1, this.#members.length))];
    if (coordinator === undefined) return;
    this.#send(CLIENT_PARTY, coordinator.node, () => this.#coordinate(coordinator));
  }

  #coordinate(coordinator: Member): void {
    if (!this.#members.includes(coordinator)) return;
    const write: Write = {
      coordinator,
      after: this.#acknowledgedVersion,
      versions: new Map(),
      stored: new Set(),
      phase: 'reading',
      version: 0,
    };
    this.#cluster.kernel.schedule({
      delayMs: WRITE_TIMEOUT_MS,
      label: 'a write of the quorum store gives up',
      fire: () => (write.phase = 'over'),
      wanted: () => write.phase !== 'over',
    });
    for (const member of this.#group(coordinator)) {
      this.#ask(
        coordinator,
        member,
        () => member.version,
        (version) => this.#read(write, member.identity, version),
      );
    }
  }

  #read(write: Write, identity: string, version: number): void {
    write.versions.set(identity, version);
    if (write.phase !== 'reading' || write.versions.size < MAJORITY) return;
    write.phase = 'storing';
    write.version = Math.max(...write.versions.values()) + 1;
    for (const member of this.#group(write.coordinator)) {
      const store = (): void => {
        member.version = Math.max(member.version, write.version);
        this.#disks.set(member.identity, member.version);
      };
      this.#ask(write.coordinator, member, store, () => this.#stored(write, member.identity));
    }
  }

  #stored(write: Write, identity: string): void {
    write.stored.add(identity);
    if (write.phase !== 'storing' || write.stored.size < MAJORITY) return;
    write.phase = 'over';
    this.#acknowledged++;
    if (write.version <= write.after) {
      const { identity: name, node } = write.coordinator;
      this.#story ??= `${name} on ${node} acknowledged version ${write.version} after version ${write.after} was acknowledged`;
    }
    this.#acknowledgedVersion = Math.max(this.#acknowledgedVersion, write.version);
  }

  /** One member per name, as a DNS lookup returns one address: either of two. */
  #group(coordinator: Member): readonly Member[] {
    const names = Array.from({ length: MEMBERS }, (_, i) => `${coordinator.identity.replace(/\d+$/, '')}${i}`);
    return names.flatMap((identity) => {
      if (identity === coordinator.identity) return [coordinator];
      const lives = this.#members.filter((member) => member.identity === identity);
      return lives.length === 0 ? [] : lives.slice(this.#random.int(lives.length)).slice(0, 1);
    });
  }

  /** A question and its answer between two members that live. */
  #ask<T>(from: Member, to: Member, work: () => T, answer: (value: T) => void): void {
    this.#send(from.node, to.node, () => {
      if (!this.#members.includes(to)) return;
      const value = work();
      this.#send(to.node, from.node, () => {
        if (this.#members.includes(from)) answer(value);
      });
    });
  }

  #send(from: string, to: string, deliver: () => void): void {
    if (from === to) deliver();
    else this.#cluster.network.send({ from, to, label: 'quorum store', deliver });
  }
}
