import type { SelfFencingPolicy } from '@holdfast/api';
import { type LeaseFacts, type NodeFacts, renewedMs } from './facts.ts';
import type { FilmMaterial } from './model.ts';
import type { Point, Story } from './tracks.ts';

/** A moment, and its place among all changes. */
export interface Mark {
  readonly atMs: number;
  readonly revision: number;
  readonly by?: string;
}

/** What became of a node that was silent. Each mark is absent when it has not happened. */
export interface Loss {
  readonly node: string;
  /** Its last heartbeat. */
  readonly silent: Mark;
  /** What it had promised to end. */
  readonly policy: SelfFencingPolicy | undefined;
  /** The control plane calls it not ready. */
  readonly lost?: Mark;
  /** Its promise was waited out: what it covers is dead. */
  readonly broken?: Mark;
  readonly fencing?: Mark;
  readonly fenced?: Mark;
  /** A person declared that the machine is off, or deleted the Node. */
  readonly declared?: Mark;
  readonly heard?: Mark;
  readonly back?: Mark;
}

interface Moment {
  readonly mark: Mark;
  readonly node?: NodeFacts | 'gone';
  readonly lease?: LeaseFacts;
}

type Drafted = { -readonly [K in keyof Loss]: Loss[K] };

/** All losses of all nodes, oldest first. */
export function lossesOf(story: Story, { fromMs, toMs }: Pick<FilmMaterial, 'fromMs' | 'toMs'>): readonly Loss[] {
  const names = new Set([...story.nodes.keys(), ...story.leases.keys()]);
  const found = [...names].flatMap((name) => {
    const watch = new NodeWatch(name, fromMs);
    for (const moment of momentsOf(story, name)) watch.see(moment);
    return watch.end(toMs);
  });
  return found.sort((a, b) => a.silent.atMs - b.silent.atMs);
}

function momentsOf({ nodes, leases }: Story, name: string): readonly Moment[] {
  const markOf = ({ atMs, revision, by }: Point<unknown>): Mark => ({
    atMs,
    revision,
    ...(by === undefined ? {} : { by }),
  });
  const ofNode = (nodes.get(name) ?? []).map((point) => ({
    mark: markOf(point),
    node: point.facts ?? ('gone' as const),
  }));
  const ofLease = (leases.get(name) ?? []).flatMap((point) =>
    point.facts === undefined ? [] : [{ mark: markOf(point), lease: point.facts }],
  );
  // The lease first: at the beginning it says when the node was heard.
  return [...ofLease, ...ofNode].sort((a, b) => a.mark.revision - b.mark.revision);
}

/** Follows one node through its changes. */
class NodeWatch {
  readonly #name: string;
  readonly #losses: Drafted[] = [];
  #heard: Mark;
  #lease: LeaseFacts | undefined;
  #node: NodeFacts | 'gone' | undefined;
  #open: Drafted | undefined;

  constructor(name: string, fromMs: number) {
    this.#name = name;
    this.#heard = { atMs: fromMs, revision: 0 };
  }

  see({ mark, node, lease }: Moment): void {
    if (lease !== undefined) this.#seeLease(lease, mark);
    if (node !== undefined) this.#seeNode(node, mark);
    this.#close(mark);
  }

  end(toMs: number): readonly Loss[] {
    const { durationMs = 0 } = this.#lease ?? {};
    const isSilent = durationMs > 0 && toMs - this.#heard.atMs > durationMs;
    if (isSilent && this.#node !== 'gone' && this.#open === undefined) this.#begin();
    return this.#losses;
  }

  #seeLease(lease: LeaseFacts, mark: Mark): void {
    const isRenewed = this.#lease !== undefined && this.#lease.renewed !== lease.renewed;
    const isNew = this.#lease === undefined && mark.revision > 0;
    this.#lease = lease;
    // A node that is silent since before the film was heard when its lease says so.
    if (mark.revision === 0) this.#heard = { ...mark, atMs: Math.min(mark.atMs, renewedMs(lease) ?? mark.atMs) };
    if (isRenewed || isNew) {
      this.#heard = mark;
      if (this.#open !== undefined) this.#open.heard ??= mark;
    }
    if (lease.isBroken) this.#begin().broken ??= mark;
  }

  #seeNode(node: NodeFacts | 'gone', mark: Mark): void {
    const before = this.#node;
    this.#node = node;
    if (node === 'gone') {
      // An end of a healthy node is no loss.
      if (this.#open !== undefined) this.#open.declared ??= mark;
      return;
    }
    const wasUnknown = typeof before === 'object' && before.ready === 'Unknown';
    if (node.ready === 'Unknown' && !wasUnknown) this.#begin().lost ??= mark;
    if (node.fence !== 'none') this.#begin().fencing ??= mark;
    if (node.fence === 'done') this.#begin().fenced ??= mark;
    if (node.isOutOfService && this.#open !== undefined) this.#open.declared ??= mark;
  }

  #begin(): Drafted {
    if (this.#open !== undefined) return this.#open;
    this.#open = { node: this.#name, silent: this.#heard, policy: this.#lease?.policy };
    this.#losses.push(this.#open);
    return this.#open;
  }

  /** It is over when the node sends heartbeats, is ready, and no fence holds it. */
  #close(mark: Mark): void {
    const open = this.#open;
    if (open?.heard === undefined || typeof this.#node !== 'object') return;
    const isFree = this.#lease?.isBroken !== true && this.#node.fence === 'none';
    if (this.#node.ready !== 'True' || !isFree) return;
    open.back = mark;
    this.#open = undefined;
  }
}
