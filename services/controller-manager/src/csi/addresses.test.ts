import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { readCsiDrivers } from './addresses.ts';
import { openControllerDriver } from './controller-driver.ts';

test('drivers are read as NAME=SOCKET, and what cannot be read is refused with an example', () => {
  assert.deepEqual(readCsiDrivers(['a.example=/run/a.sock', 'b=unix:///run/b=c.sock']), [
    { name: 'a.example', socket: '/run/a.sock' },
    { name: 'b', socket: '/run/b=c.sock' },
  ]);
  for (const [texts, expected] of [
    [['a.example'], /cannot be read: "a.example"/],
    [['=/run/a.sock'], /cannot be read/],
    [['a_b=/run/a.sock'], /cannot be read/],
    [['a=run/a.sock'], /needs the absolute path of a socket, not "run\/a.sock"/],
    [['a=/run/a.sock', 'a=/run/b.sock'], /names the driver a twice/],
  ] as const)
    assert.throws(() => readCsiDrivers(texts), expected);
});

test('a driver without a socket is unavailable: nothing says that it did nothing', async () => {
  const driver = openControllerDriver({ name: 'a', socket: '/nonexistent/a.sock' }, createVirtualClock());
  const failure = { isRefusal: false, message: /code = Unavailable desc = no answer at \/nonexistent\/a\.sock/ };
  await assert.rejects(
    driver.create({
      name: 'v',
      bytes: 1,
      form: { volumeMode: undefined, accessModes: [], fsType: undefined, mountOptions: [] },
      parameters: {},
      secrets: {},
    }),
    failure,
  );
  driver.close();
});
