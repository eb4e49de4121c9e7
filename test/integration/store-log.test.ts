import { strict as assert } from 'node:assert';
import { after, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import { type DurableStore } from '@holdfast/store';
import { type CreateStore, storeContract, storeHistoryProperty } from '@holdfast/store/contract';
import { createLogStore, type LogStoreOptions } from '@holdfast/store/log';
import { freePort } from '../support/free-port.ts';
import { type LogServers, startLogServers } from '../support/log-servers.ts';

const single = await startLogServers();
after(() => single[Symbol.asyncDispose]());
const ids = createIds(createSystemRandom());

function open(servers: LogServers, options: Partial<LogStoreOptions> = {}): Promise<DurableStore> {
  const { urls, monitors } = servers;
  const replicas = urls.length;
  return createLogStore({
    servers: urls,
    monitors,
    replicas,
    clock: createSystemClock(),
    ids,
    log: createSilentLog(),
    ...options,
  });
}

/** Every store has streams of its own. */
const openEmptyStore: CreateStore = async (options = {}) => {
  const store = await open(single, { ...options, name: `T${ids.suffix(8)}` });
  return { store, close: () => store.close() };
};

storeContract('log', openEmptyStore);
storeHistoryProperty('log', openEmptyStore, { runs: 15, stepsPerClient: 15 });

const rejectsWithCode = (code: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof OperatorError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  assert.ok(error.nextStep.length > 0);
  return true;
};

test('log: servers that cannot be reached are an operator error that hides the password', async () => {
  const servers = [`nats://user:secret@127.0.0.1:${await freePort()}`];
  const opening = createLogStore({
    servers,
    clock: createSystemClock(),
    ids,
    log: createSilentLog(),
    startTimeoutMs: 300,
  });
  await assert.rejects(opening, (error) => {
    rejectsWithCode('STORE_UNREACHABLE', /ECONNREFUSED|CONNECTION_REFUSED/)(error);
    assert.doesNotMatch(String(error), /secret/);
    return true;
  });
});
