import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FencingDeadline } from '../fencing-deadline.ts';
import { createSuspendTelltale } from './suspend-telltale.ts';
import { enforceDeadline, type WatchdogDeps } from './watchdog.ts';

/** A machine whose clocks stand still until they are moved. */
class Machine {
  bootMs = 1_000_000;
  monotonicMs = 400_000;
  readonly killed: number[] = [];
  readonly ended: string[] = [];
  readonly told: string[] = [];

  run(ms: number): void {
    this.bootMs += ms;
    this.monotonicMs += ms;
  }

  suspend(ms: number): void {
    this.bootMs += ms;
  }

  deps(deadline: FencingDeadline): WatchdogDeps {
    return {
      now: () => this.bootMs,
      deadline: () => deadline,
      covered: () => ({ containers: [{ id: 'c1' }], failures: [] }),
      processes: { members: () => Promise.resolve([{ pid: 4711 }] as never), follow: () => Promise.resolve() },
      kill: (pid) => void this.killed.push(pid),
      groups: { end: (fencing) => void this.ended.push(fencing), isPopulated: () => true },
      tell: (message) => void this.told.push(message),
    };
  }
}

test('[SAFE-32] the first look after a resume kills what the deadline covers: the time of the suspend counts', async () => {
  const machine = new Machine();
  const deps = machine.deps({ untilMs: machine.bootMs + 8_000, policy: 'exclusive' });
  machine.run(2_000);
  await enforceDeadline(deps);
  assert.deepEqual([machine.killed, machine.ended], [[], []]);
  machine.suspend(5_999);
  await enforceDeadline(deps);
  assert.deepEqual([machine.killed, machine.ended], [[], []], 'a suspend within the promise ends nothing');
  machine.suspend(1);
  await enforceDeadline(deps);
  assert.deepEqual([machine.killed, machine.ended], [[4711], ['exclusive']]);
});

test('[SAFE-32] what a look cannot read does not keep the rest alive, and the look counts as failed', async () => {
  const machine = new Machine();
  const deps = machine.deps({ untilMs: machine.bootMs, policy: 'exclusive' });
  const covered = () => ({ containers: [{ id: 'c1' }], failures: [new Error('ENOMEM: open c2.json')] });
  await assert.rejects(enforceDeadline({ ...deps, covered }), /ENOMEM/);
  assert.deepEqual([machine.killed, machine.ended], [[4711], ['exclusive']]);
});

test('[SAFE-32] what a look cannot end does not keep the rest alive, and the look counts as failed', async () => {
  const machine = new Machine();
  const deps = machine.deps({ untilMs: machine.bootMs, policy: 'all' });
  const end = (fencing: string): void => {
    if (fencing === 'exclusive') throw new Error('ENOENT: cgroup.kill');
    machine.ended.push(fencing);
  };
  await assert.rejects(enforceDeadline({ ...deps, groups: { ...deps.groups, end } }), /cgroup.kill/);
  assert.deepEqual([machine.killed, machine.ended], [[4711], ['other']]);
});

test('a suspend of the machine is reported once, and the ordinary course of time is not', () => {
  const machine = new Machine();
  const told: string[] = [];
  const look = createSuspendTelltale(
    { boot: () => machine.bootMs, monotonic: () => machine.monotonicMs },
    (message) => void told.push(message),
  );
  machine.run(60_000);
  look();
  machine.suspend(90_000);
  machine.run(200);
  look();
  machine.run(200);
  look();
  assert.deepEqual(told, ['the machine was suspended for 90000 ms']);
});
