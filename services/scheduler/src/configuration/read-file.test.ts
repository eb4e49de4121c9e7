import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { readConfigurationFile } from './read-file.ts';

test('[SPREAD-24] an invalid file stops the start, with the field and the next step', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'scheduler-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const read = (text: string) => {
    const file = path.join(folder, 'config.yaml');
    writeFileSync(file, text);
    return readConfigurationFile(file);
  };
  const head = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n';
  const { profiles } = await read(`${head}profiles: [{ schedulerName: mine }]\n`);
  assert.equal(profiles[0]?.schedulerName, 'mine');
  const selecting = `${head}profiles:
  - pluginConfig:
      - name: PodTopologySpread
        args:
          defaultingType: List
          defaultConstraints:
            - { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {} }
`;
  const refused = (pattern: RegExp) => (error: unknown) =>
    error instanceof OperatorError && error.exitCode === 2 && error.nextStep !== '' && pattern.test(error.message);
  await assert.rejects(read(selecting), refused(/defaultConstraints\[0\]\.labelSelector: Forbidden/));
  await assert.rejects(read('{'), refused(/cannot be used/));
  await assert.rejects(read(''), refused(/the file does not contain an object/));
  await assert.rejects(readConfigurationFile(path.join(folder, 'absent')), refused(/ENOENT/));
});
