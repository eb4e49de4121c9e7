import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODES, type Node, PODS } from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { FakeApi, pathFor } from '@holdfast/client/testing';
import { createIds, createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { MemoryAgent } from './agents/memory-agent.ts';
import { createFencer, type Fencer } from './app.ts';
import { judgeClaim } from './domain/count-claims.ts';
import { claimOf, fencedConditionOf } from './domain/marks.ts';
import { isFencing } from './domain/partition.ts';
import { claimBy, configuration, type NodeSketch, node, pod } from './testing/builders.ts';

const LOST = ['a', 'b', 'c', 'd'];
const LATENCY_MS_MAX = 40;
const STEP_MS = 1_000;
const STEPS = 90;
const SEEDS = 40;

/** Nodes that are lost together and one that is ready, behind an API whose answers take random times. */
class Scene {
  readonly clock = createVirtualClock();
  readonly api = new FakeApi(this.clock);
  readonly agent = new MemoryAgent('power');
  /** The claims that were stored, and those that were removed without a fence. */
  readonly claimed = new Set<string>();
  readonly retracted = new Set<string>();
  readonly #seed: number;
  readonly #maxFenced: number;
  readonly #fencers: Fencer[] = [];

  constructor(seed: number, maxFenced: number) {
    this.#seed = seed;
    this.#maxFenced = maxFenced;
    const random = createSeededRandom(seed, 'latency');
    const late = (): Promise<void> =>
      new Promise((resolve) => void this.clock.timer(1 + random.int(LATENCY_MS_MAX), resolve));
    this.api.before = late;
    this.api.after = late;
    this.api.put(pathFor(NODES, '', 'z'), node({ name: 'z' }));
    for (const name of LOST) {
      this.api.put(pathFor(NODES, '', name), node({ name, ready: 'Unknown' }));
      const db = pod({ name: `db-${name}` });
      this.api.put(pathFor(PODS, 'default', `db-${name}`), {
        ...db,
        spec: { ...db.spec, nodeName: name },
      } as typeof db);
    }
    this.api.onChange(({ object, previous }) => this.#note(object as Node, previous as Node | undefined));
  }

  #note(now: Node, before: Node | undefined): void {
    if (now.kind !== 'Node') return;
    const claim = claimOf(now)?.requestId;
    if (claim !== undefined) this.claimed.add(claim);
    const old = before === undefined ? undefined : claimOf(before)?.requestId;
    if (old !== undefined && claim === undefined) this.retracted.add(old);
  }

  async run(holders: readonly string[]): Promise<void> {
    for (const holder of holders) this.#fencers.push(this.#fencer(holder));
    const starting = Promise.all(this.#fencers.map((each) => each.start()));
    for (let step = 0; step < STEPS; step++) await this.clock.advance(STEP_MS);
    await starting;
    let stopped = false;
    const stopping = Promise.all(this.#fencers.map((each) => each.stop())).then(() => (stopped = true));
    while (!stopped) await this.clock.advance(STEP_MS);
    await stopping;
  }

  #fencer(holder: string): Fencer {
    const { clock, agent } = this;
    const random = createSeededRandom(this.#seed, holder);
    const rules = [{ name: 'databases', agent: 'power', podSelector: { matchLabels: { app: 'db' } }, afterSeconds: 5 }];
    return createFencer({
      client: createApiClient({ transport: createDirectTransport(this.api.handler), userAgent: holder }),
      clock,
      random,
      ids: createIds(random),
      log: createSilentLog(),
      configuration: configuration(rules, { maxFenced: this.#maxFenced }),
      holder,
      agents: new Map([
        ['power', agent],
        ['firewall', new MemoryAgent('firewall')],
      ]),
    });
  }

  /** The machines that the agent was asked to turn off, whether or not it was taken back. */
  fenced(): readonly string[] {
    return [...new Set(this.agent.requests.map(({ node: asked }) => asked.name))];
  }

  reasons(): readonly string[] {
    return LOST.map((name) => {
      const stored = this.api.objects().get(pathFor(NODES, '', name)) as Node;
      return fencedConditionOf(stored)?.reason ?? '';
    });
  }
}

for (const maxFenced of [1, 2]) {
  test(`[FENCE-04] four nodes that are lost together, maxFenced ${maxFenced}: one fencer claims and fences that many, the others are held back`, async () => {
    const scene = new Scene(1, maxFenced);
    await scene.run(['one']);
    assert.equal(scene.fenced().length, maxFenced);
    assert.deepEqual([scene.claimed.size, scene.retracted.size], [maxFenced, 0], 'no claim is made that has to go');
    const counts = Object.groupBy(scene.reasons(), (reason) => reason);
    assert.deepEqual([counts['NodeFenced']?.length, counts['FencingHeldBack']?.length], [maxFenced, 4 - maxFenced]);
  });
}

test('[FENCE-04] [FENCE-10] two fencers that claim different nodes at the same moment never fence more than maxFenced, and not fewer', async () => {
  let retracted = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const maxFenced = 1 + (seed % 2);
    const scene = new Scene(seed, maxFenced);
    await scene.run(['one', 'two']);
    assert.equal(scene.fenced().length, maxFenced, `seed ${seed}: ${scene.fenced().join(' ')}`);
    retracted += scene.retracted.size;
  }
  assert.ok(retracted > 0, 'claims met each other');
});

const TENTATIVE = claimBy('other', { isTentative: true });
const STARTED = ['Unknown', 'FencingStarted'] as const;
const claimed = (name: string): NodeSketch => ({ name, ready: 'Unknown', fenced: STARTED, claim: TENTATIVE });
const going = (name: string): NodeSketch => ({ ...claimed(name), claim: claimBy('other') });
const READY = { name: 'z' };

for (const [what, others, maxFenced, verdict] of [
  ['alone', [READY], 1, 'go'],
  ['another one below the limit', [READY, going('c')], 2, 'go'],
  ['another one that was counted', [READY, going('c')], 1, 'give-way'],
  ['a claim with a lesser name', [READY, claimed('a')], 1, 'give-way'],
  ['a claim with a greater name, which gives way', [READY, claimed('c')], 1, 'wait'],
  ['a lesser and a greater one', [READY, claimed('a'), claimed('c')], 2, 'wait'],
  ['a fence without a readable claim', [READY, { name: 'c', fenced: STARTED }], 1, 'give-way'],
  ['no other node is ready', [], 1, 'give-way'],
] as const) {
  test(`[FENCE-04] [FENCE-10] a stored claim of a rule is counted: ${what}: ${verdict}`, () => {
    const own = node(claimed('b'));
    assert.equal(judgeClaim({ maxFenced }, own, [own, ...others.map(node)]), verdict);
  });
}

test('[FENCE-04] of any claims that are counted at the same state, no more than the limit go, and some of them stay', () => {
  for (const maxFenced of [1, 2, 3]) {
    const nodes = [READY, ...LOST.map(claimed)].map(node);
    const verdicts = nodes.filter(isFencing).map((each) => judgeClaim({ maxFenced }, each, nodes));
    assert.equal(verdicts.filter((each) => each === 'go').length, 0, 'each sees the others');
    assert.equal(verdicts.filter((each) => each === 'wait').length, maxFenced, 'the rest gives way');
  }
});
