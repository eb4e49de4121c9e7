import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { CoveredContainer } from './covered.ts';
import { MEMBER_LOOK_MS } from './limits.ts';
import { lookAtMembers } from './member-looks.ts';
import type { MarkedProcess } from './process-table.ts';
import { createProcessWatch } from './process-watch.ts';

const entry = (given: Partial<MarkedProcess>): MarkedProcess => ({
  pid: 603,
  parent: 1,
  group: 603,
  session: 603,
  startTicks: '9',
  zombie: false,
  marker: '',
  isStarting: false,
  ...given,
});

const C1: CoveredContainer = { id: 'c1', process: { pid: 40, startTicks: '7', bootId: 'boot' } };
const C2: CoveredContainer = { id: 'c2' };
const LEADER = entry({ pid: 40, parent: 30, group: 40, session: 40, startTicks: '7', marker: 'c1' });
const ESCAPED = entry({ pid: 50, parent: 40, group: 50, session: 50 });
const ORPHAN = { ...ESCAPED, parent: 1 };

function scene() {
  const clock = createVirtualClock();
  let table: readonly MarkedProcess[] = [];
  let scans = 0;
  const scan = () => {
    scans++;
    return table;
  };
  const watch = createProcessWatch(clock, 'boot', { scan });
  const settled = async <T>(wanted: Promise<T>): Promise<T> => {
    await clock.advance(10);
    return wanted;
  };
  return {
    clock,
    watch,
    scans: () => scans,
    now: (...entries: readonly MarkedProcess[]) => {
      table = entries;
    },
    follow: (...records: readonly CoveredContainer[]) => settled(watch.follow(records)),
    members: async () => (await settled(watch.members(C1, { leaderWasSeen: true }))).map(({ pid }) => pid),
  };
}

test('[SAFE-12] a process without id and session is known after its parents have ended, until it is gone', async () => {
  const { now, follow, members } = scene();
  now(LEADER, ESCAPED);
  await follow(C1);
  now(ORPHAN);
  assert.deepEqual(await members(), [50]);
  now({ ...ORPHAN, startTicks: '99' });
  assert.deepEqual(await members(), [], 'a later process with its number');
});

test('a container that cannot be read for a moment keeps its members', async () => {
  const { now, follow, members } = scene();
  now(LEADER, ESCAPED);
  await follow(C1);
  now(ORPHAN);
  await follow();
  assert.deepEqual(await members(), [50]);
});

test('the id of another container that is followed is not made up', async () => {
  const { now, follow, members } = scene();
  now(LEADER, entry({ pid: 51, session: 40, marker: 'c2' }), entry({ pid: 52, session: 40, marker: 'made-up' }));
  await follow(C1, C2);
  assert.deepEqual(await members(), [40, 52]);
});

test('one reading of the table serves all containers, and none is read without containers', async () => {
  const { now, follow, scans } = scene();
  await follow();
  assert.equal(scans(), 0);
  now(LEADER, ESCAPED);
  await follow(C1, C2);
  assert.equal(scans(), 1);
});

test('running containers are looked at again and again, also after a look that failed', async (t) => {
  const { clock, watch, now, members } = scene();
  t.mock.method(process.stderr, 'write', () => true);
  let looks = 0;
  lookAtMembers(clock, watch, () => {
    if (looks++ === 0) throw new Error('EMFILE');
    return [C1];
  });
  now(LEADER, ESCAPED);
  await clock.advance(2 * MEMBER_LOOK_MS + 100);
  now(ORPHAN);
  assert.deepEqual(await members(), [50]);
});
