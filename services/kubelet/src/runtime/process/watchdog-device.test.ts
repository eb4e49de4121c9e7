import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readDevicePath, WatchdogDevice, writeDevicePath } from './watchdog-device.ts';

/** A file stands in for the device: it shows every write. */
function createScene(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-device-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'watchdog');
  writeFileSync(path, '');
  const told: string[] = [];
  writeDevicePath(directory, path);
  const device = new WatchdogDevice(
    () => readDevicePath(directory),
    (message) => told.push(message),
  );
  return { directory, device, told, path, written: () => readFileSync(path, 'utf8') };
}

const until = (untilMs: number) => ({ untilMs, policy: 'exclusive' }) as const;

test('[FENCE-06] the watchdog device is written once for each renewal of the promise', (t) => {
  const { device, written } = createScene(t);
  for (const nowMs of [0, 200, 400]) device.look({ deadline: until(8_000), nowMs, alive: 0 });
  assert.equal(written(), '.', 'a promise that nobody renews does not keep the machine running');
  device.look({ deadline: until(10_000), nowMs: 2_000, alive: 0 });
  assert.equal(written(), '..');
});

test('[FENCE-06] after the deadline the watchdog device is written only when everything covered is dead', (t) => {
  const { device, written } = createScene(t);
  device.look({ deadline: until(8_000), nowMs: 8_000, alive: 3 });
  device.look({ deadline: until(8_000), nowMs: 8_200, alive: undefined });
  assert.equal(written(), '');
  device.look({ deadline: until(8_000), nowMs: 8_400, alive: 0 });
  device.look({ deadline: until(8_000), nowMs: 8_600, alive: 0 });
  assert.equal(written(), '..');
});

test('without a promise the watchdog device is written at every look', (t) => {
  const { device, written } = createScene(t);
  for (const nowMs of [0, 200]) device.look({ deadline: undefined, nowMs, alive: 0 });
  assert.equal(written(), '..');
});

test('an orderly stop and a removed setting close the watchdog device so that the machine is not reset', (t) => {
  const { device, directory, path, written } = createScene(t);
  device.disarm();
  assert.equal(written(), '', 'it was never opened');
  device.look({ deadline: undefined, nowMs: 0, alive: 0 });
  device.disarm();
  assert.equal(written(), '.V');
  writeFileSync(path, '');
  device.look({ deadline: undefined, nowMs: 0, alive: 0 });
  writeDevicePath(directory, undefined);
  for (const nowMs of [0, 200]) device.look({ deadline: undefined, nowMs, alive: 0 });
  assert.equal(written(), '.V');
});

test('a watchdog device that cannot be opened is reported once, and used when it is there', (t) => {
  const { device, path, told, written } = createScene(t);
  rmSync(path);
  for (const nowMs of [0, 200]) device.look({ deadline: undefined, nowMs, alive: 0 });
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /device .* cannot be used: ENOENT/);
  writeFileSync(path, '');
  device.look({ deadline: undefined, nowMs: 400, alive: 0 });
  assert.equal(written(), '.');
});

test('a watchdog device that fails does not stop the watchdog', () => {
  const told: string[] = [];
  const device = new WatchdogDevice(
    () => '/dev/full',
    (message) => told.push(message),
  );
  device.look({ deadline: undefined, nowMs: 0, alive: 0 });
  device.disarm();
  assert.match(told.join(), /^the device \/dev\/full cannot be used: ENOSPC[^,]*(, write)?$/);
});
