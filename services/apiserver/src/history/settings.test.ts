import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readSettings } from '@holdfast/platform/config';
import { APISERVER_SETTINGS } from '../config.ts';
import { historySettings, readHistoryConfig } from './settings.ts';

test('the history is kept for an hour and within 64 MB, or as long and within as much as is said', () => {
  const read = (...argv: readonly string[]) =>
    readHistoryConfig(readSettings(historySettings('1h'), { argv, env: {} }));
  assert.deepEqual(read(), { retentionMs: 3_600_000, limitBytes: 64 * 1024 * 1024 });
  assert.deepEqual(read('--history-retention=90s', '--history-limit-mb=1'), {
    retentionMs: 90_000,
    limitBytes: 1024 ** 2,
  });
  assert.equal(read('--history-retention=0s'), undefined);
  for (const wrong of ['--history-retention=long', '--history-retention=721h', '--history-limit-mb=0']) {
    assert.throws(() => read(wrong), { name: 'OperatorError' });
  }
});

test('an API server of its own keeps none unless it is told to; those of compose keep an hour, or what variables say', () => {
  const read = (env: Readonly<Record<string, string>>) =>
    readHistoryConfig(readSettings(APISERVER_SETTINGS, { argv: [], env }));
  assert.equal(read({}), undefined);
  assert.equal(read({ HOLDFAST_HISTORY_RETENTION: '', HOLDFAST_HISTORY_LIMIT_MB: '' }), undefined);
  assert.equal(read({ HOLDFAST_HISTORY_RETENTION: '10m' })?.retentionMs, 600_000);
  const compose = readFileSync(new URL('../../../../docker-compose.yml', import.meta.url), 'utf8');
  const passedOn = ['HOLDFAST_HISTORY_RETENTION-1h', 'HOLDFAST_HISTORY_LIMIT_MB:-'];
  for (const expression of passedOn) {
    const variable = expression.split(/[:-]/)[0];
    assert.ok(compose.includes(`${variable}: \${${expression}}`), expression);
  }
  // The image gives this folder to the user of the API servers; a volume takes over its owner.
  assert.ok(compose.includes('HOLDFAST_HISTORY_DIR: /data/history'));
  for (const server of [1, 2]) assert.ok(compose.includes(`- history-${server}-data:/data`), String(server));
});
