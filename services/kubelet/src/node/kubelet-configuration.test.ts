import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { readKubeletConfig } from '../config.ts';
import { settingsOf, withConfigurationFile } from './kubelet-configuration.ts';

const HEADER = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

test('a configuration file sets what flags set; flags and variables override it', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-configuration-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'kubelet.yaml');
  const lines = [
    'apiVersion: kubelet.config.k8s.io/v1beta1',
    'kind: KubeletConfiguration',
    'maxPods: 7',
    'imageGCHighThresholdPercent: 70',
    'imageGCLowThresholdPercent: 60',
    'imageMinimumGCAge: 5m',
    'clusterDNS: [192.0.2.10, 192.0.2.11]',
    'featureGates: {UserNamespacesSupport: true}',
    'kubeReserved: {cpu: 100m, memory: 200Mi}',
  ];
  writeFileSync(file, lines.join('\n'));
  const argv = ['--state-dir=/nowhere', `--config=${file}`, '--image-gc-high-threshold=75'];
  const source = await withConfigurationFile({ argv, env: { HOLDFAST_MAX_PODS: '9' } });
  const config = readKubeletConfig(source) ?? assert.fail('no help was asked for');
  assert.equal(config.maxPods, 9);
  const empty = await withConfigurationFile({ argv, env: { HOLDFAST_MAX_PODS: '' } });
  assert.equal(readKubeletConfig(empty)?.maxPods, 7, 'an empty variable says nothing');
  assert.deepEqual(config.garbage.images, { highPercent: 75, lowPercent: 60, minAgeMs: 300_000, maxAgeMs: 0 });
  assert.deepEqual(config.dns.servers, ['192.0.2.10', '192.0.2.11']);
  assert.equal(config.userRanges?.firstId, 65_536);
  assert.deepEqual(config.reserved[1], { cpu: '100m', memory: '200Mi' });
});

test('all errors of a file are reported together, with their fields', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-configuration-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'kubelet.yaml');
  const wrong = { ...HEADER, evictionHard: 'memory.available<1Mi', maxPod: 7, clusterDNS: 'x', maxPods: {} };
  writeFileSync(file, JSON.stringify(wrong));
  await assert.rejects(
    withConfigurationFile({ argv: [`--config=${file}`], env: {} }),
    (error) =>
      error instanceof OperatorError &&
      [
        file,
        'evictionHard: cannot',
        'maxPod: this kubelet does not know',
        'clusterDNS: cannot',
        'maxPods: cannot',
      ].every((text) => error.message.includes(text)),
  );
  assert.throws(() => settingsOf({ ...HEADER, kind: 'Pod' }), /not a KubeletConfiguration/);
  assert.throws(() => settingsOf('text'), /not a KubeletConfiguration/);
  await assert.rejects(withConfigurationFile({ argv: ['--config=/no/such/file'], env: {} }), /\/no\/such\/file/);
});

test('without --config no file is read', async () => {
  const source = { argv: ['--max-pods=3'], env: {} };
  assert.equal(await withConfigurationFile(source), source);
});
