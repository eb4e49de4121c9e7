import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodTemplateSpec } from '@holdfast/api';
import { isSameTemplate, revisionData } from './revision-data.ts';

const TEMPLATE: PodTemplateSpec = {
  spec: {
    terminationGracePeriodSeconds: 30,
    containers: [{ resources: {}, name: 'app', image: 'httpd:2', env: [{ value: 'b', name: 'A' }] }],
    dnsPolicy: 'ClusterFirst',
  },
  metadata: { labels: { tier: 'x', app: 'y' } },
};

/** The map that Kubernetes 1.32's controllers make of a DaemonSet or StatefulSet, as encoding/json writes it. */
const OF_KUBERNETES =
  '{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"y","tier":"x"}},"spec":{"containers":[{"env":[{"name":"A","value":"b"}],"image":"httpd:2","name":"app","resources":{}}],"dnsPolicy":"ClusterFirst","terminationGracePeriodSeconds":30}}}}';

test('the data of a revision are the bytes that Kubernetes writes', () => {
  assert.equal(JSON.stringify(revisionData(TEMPLATE)), OF_KUBERNETES);
  const stored: PodTemplateSpec = {
    ...TEMPLATE,
    metadata: Object.assign({ creationTimestamp: null }, TEMPLATE.metadata),
  };
  assert.equal(JSON.stringify(revisionData(stored)), OF_KUBERNETES);
});

test('templates are compared independent of the notation of their zero time', () => {
  const stored: PodTemplateSpec = {
    ...TEMPLATE,
    metadata: Object.assign({ creationTimestamp: null }, TEMPLATE.metadata),
  };
  assert.ok(isSameTemplate(stored, TEMPLATE));
  assert.ok(!isSameTemplate({ ...stored, spec: { ...TEMPLATE.spec, dnsPolicy: 'None' } }, TEMPLATE));
  assert.ok(!isSameTemplate(undefined, TEMPLATE));
});
