import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage } from '@holdfast/machinery';
import type { LabelSelector, PodTemplateSpec } from '../generated/types.ts';
import { validateReplicaTemplate, validateTemplateLabels } from './workload.ts';

const template = (): PodTemplateSpec => ({
  metadata: { labels: { app: 'a' } },
  spec: {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    terminationGracePeriodSeconds: 30,
    containers: [
      {
        name: 'c',
        image: 'i',
        resources: {},
        imagePullPolicy: 'Always',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
  },
});

function replicaErrors(selector: LabelSelector | undefined): readonly string[] {
  const out: Parameters<typeof validateReplicaTemplate>[0] = [];
  validateReplicaTemplate(out, { template: template(), ...(selector === undefined ? {} : { selector }) }, 'ReplicaSet');
  return out.map(fieldErrorMessage);
}

const MISMATCH =
  'spec.template.metadata.labels: Invalid value: map[string]string{"app":"a"}: `selector` does not match template `labels`';

test('a selector matches the template it belongs to', () => {
  assert.deepEqual(replicaErrors({ matchLabels: { app: 'a' } }), []);
  assert.deepEqual(replicaErrors({ matchLabels: { app: 'b' } }), [MISMATCH]);
});

test('an absent selector matches no template', () => {
  assert.deepEqual(replicaErrors(undefined), [MISMATCH]);
  const out: Parameters<typeof validateTemplateLabels>[0] = [];
  validateTemplateLabels(out, undefined, template());
  assert.deepEqual(out.map(fieldErrorMessage), [MISMATCH]);
});

test('an invalid selector is not compared with the template', () => {
  const [error = '', ...others] = replicaErrors({ matchExpressions: [{ key: 'app', operator: 'Like' }] });
  assert.match(error, /^spec\.selector: Invalid value: v1\.LabelSelector\{.*\}: invalid label selector$/);
  assert.deepEqual(others, []);
});
