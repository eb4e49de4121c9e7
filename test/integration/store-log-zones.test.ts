import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createSeededRandom } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import type { DurableStore } from '@holdfast/store';
import { runCampaign } from '../chaos/zones/campaign.ts';
import { FAULTS, type Fault } from '../chaos/zones/faults.ts';
import type { Slice } from '../chaos/zones/report.ts';
import { ZONES, Zones } from '../chaos/zones/zones.ts';
import { whyNoForgetfulDisk } from '../support/forgetful-disk.ts';

const KEY = 'core/pods/default/a';

/** Most of their time they wait for elections and deadlines of their own servers. */
describe('three zones', { concurrency: true }, () => {
  test('log: a zone that is cut off from the others answers nothing, the others go on; afterwards it follows again', async () => {
    await using zones = await Zones.start();
    await zones.begin();
    const cut = await zones.whole();
    const others = ZONES.filter((zone) => zone !== cut);
    const [alone, writer] = [zones.stores[cut], zones.stores[others[0] ?? 0]];
    assert.ok(alone !== undefined && writer !== undefined);
    await writer.write([{ kind: 'create', key: KEY, value: '"old"' }]);
    zones.cut(cut);
    await eventually(async () => {
      const result = await writer.write([{ kind: 'update', key: KEY, value: '"new"', expectedRevision: 1 }], {
        writeId: 'w',
      });
      return result.outcome === 'committed';
    }, 'the majority elects a leader and commits');
    await assert.rejects(alone.get(KEY), { name: 'StoreUnavailable' });
    zones.heal();
    await eventually(async () => (await alone.get(KEY)).object?.value === '"new"', 'the zone is back');
    assert.equal(alone.haltedBy(), undefined);
  });

  const skipDisks = whyNoForgetfulDisk() ?? false;
  test('log: a server that delivers the log can write nothing any more: every store goes on', {
    skip: skipDisks,
  }, async () => {
    await using zones = await Zones.start({ forgetful: true });
    await zones.begin();
    await zones.whole();
    await zones.disks[await zones.feedingZone()]?.protect(true);
    const write = (store: DurableStore, key: string): Promise<true> =>
      eventually(
        () => store.write([{ kind: 'create', key, value: '"a"' }], { writeId: key }).then(() => true),
        `${key} is written`,
      );
    // The first writes show the server that its disk has failed.
    for (const round of ['first', 'second'])
      await Promise.all(zones.stores.map((store, zone) => write(store, `core/pods/default/${round}-${zone}`)));
  });

  test('log: a server turns its JetStream off because its disk is full: a store that starts then serves', {
    skip: skipDisks,
  }, async () => {
    await using zones = await Zones.start({ forgetful: true });
    await zones.begin();
    const leader = await zones.whole();
    const [full, other] = [(leader + 1) % ZONES.length, (leader + 2) % ZONES.length];
    await zones.disks[full]?.fill(true);
    let writes = 0;
    await eventually(async () => {
      await zones.stores[other]?.write([{ kind: 'create', key: `core/pods/default/${writes++}`, value: '"a"' }]);
      return zones.isJetStreamOff(full);
    }, 'the server turns its JetStream off');
    await zones.replaceStore(other);
    const result = await zones.stores[other]?.write([{ kind: 'create', key: KEY, value: '"late"' }]);
    assert.equal(result?.outcome, 'committed');
  });

  test('log: a campaign is played by the command line', async () => {
    const program = path.resolve(import.meta.dirname, '../../tools/chaos/main.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program, '--log', 'leader-moved', '--times', '1']);
    assert.match(stdout, /^leader-moved: 1 times, longest \d+ ms without a write$/m);
  });

  for (const kind of ['zone-kill', 'disk-lost', 'flipped-bit', 'disk-read-only'] as const) {
    const { needsDisks = false }: Fault = FAULTS[kind];
    const skip = needsDisks && skipDisks;
    test(`log: a campaign of one: ${kind}: every history is explained, every watch is told it`, { skip }, async () => {
      const slices: Slice[] = [];
      await runCampaign({
        kind,
        times: 1,
        seed: createSeededRandom(1, kind).int(1_000),
        onSlice: (slice) => slices.push(slice),
      });
      assert.deepEqual(
        slices.flatMap(({ broken }) => broken),
        [],
      );
      assert.equal(slices.flatMap(({ unavailableMs }) => unavailableMs).length, 1);
      assert.ok(slices.every(({ acknowledged }) => acknowledged >= 80));
    });
  }

  test('log: with one replica the same campaign finds that a lost disk loses what was acknowledged', async () => {
    const slices: Slice[] = [];
    const onSlice = (slice: Slice): void => void slices.push(slice);
    await runCampaign({ kind: 'disk-lost', times: 1, seed: 1, replicas: 1, onSlice });
    assert.notDeepEqual(
      slices.flatMap(({ broken }) => broken),
      [],
    );
  });
});
