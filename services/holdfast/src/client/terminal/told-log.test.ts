import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toldLog } from './told-log.ts';

test('a command tells warnings and errors with their reasons, and nothing below them', () => {
  const told: string[] = [];
  const log = toldLog({ tell: (line) => void told.push(line) });
  log.debug('a');
  log.info('b');
  log.warn('the store is not set up to be durable', { reason: 'BGREWRITEAOF: unknown command' });
  log.child({ store: 'redis' }).warn('the log has changed', { broken: ['R3', 'sync'] });
  log.error('the halt could not be recorded', { error: new Error('no connection') });
  log.warn('it ends');
  assert.deepEqual(told, [
    'Warning: the store is not set up to be durable; reason: BGREWRITEAOF: unknown command',
    'Warning: the log has changed; broken: ["R3","sync"]',
    'Warning: the halt could not be recorded: no connection',
    'Warning: it ends',
  ]);
});
