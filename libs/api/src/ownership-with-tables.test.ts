import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyServerSide,
  applyStrategicMergePatch,
  fieldSetOf,
  type Json,
  type JsonObject,
  trackUpdate,
} from '@holdfast/machinery';
import { schemaFor } from './schema-table.ts';

const TIME = '2024-01-01T00:00:01Z';

function tracked(group: string, kind: string, updated: JsonObject): Json | undefined {
  const schema = schemaFor(group, 'v1', kind);
  assert.ok(schema);
  const apiVersion = group === '' ? 'v1' : `${group}/v1`;
  const resetFields = fieldSetOf(['f:status']);
  const result = trackUpdate({ live: undefined, updated, schema, manager: 'm', apiVersion, time: TIME, resetFields });
  return JSON.parse(JSON.stringify(result)).metadata.managedFields[0].fieldsV1;
}

test('the generated tables list the fields that a created Deployment owns', () => {
  const container = { name: 'c', image: 'i', resources: {}, ports: [{ containerPort: 80, protocol: 'TCP' }] };
  const fields = tracked('apps', 'Deployment', {
    metadata: { name: 'd', creationTimestamp: null, labels: { app: 'd' } },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'd' } },
      strategy: { type: 'Recreate' },
      template: {
        metadata: { creationTimestamp: null, labels: { app: 'd' } },
        spec: { containers: [container], securityContext: {} },
      },
    },
    status: {},
  });
  assert.deepEqual(fields, {
    'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
    'f:spec': {
      'f:replicas': {},
      'f:selector': {},
      'f:strategy': { 'f:type': {} },
      'f:template': {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
        'f:spec': {
          'f:containers': {
            'k:{"name":"c"}': {
              '.': {},
              'f:image': {},
              'f:name': {},
              'f:ports': {
                '.': {},
                'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
              },
              'f:resources': {},
            },
          },
          'f:securityContext': {},
        },
      },
    },
  });
});

test('the generated tables list the fields that a claim and a service own', () => {
  assert.deepEqual(
    tracked('', 'PersistentVolumeClaim', {
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }),
    { 'f:spec': { 'f:accessModes': {}, 'f:resources': { 'f:requests': { '.': {}, 'f:storage': {} } } } },
  );
  assert.deepEqual(
    tracked('', 'Service', {
      metadata: { name: 's' },
      spec: { selector: { app: 'x' }, ports: [{ port: 80, protocol: 'TCP' }] },
    }),
    {
      'f:spec': {
        'f:ports': { '.': {}, 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:protocol': {} } },
        'f:selector': {},
      },
    },
  );
});

test('an applied port matches the live port although its protocol was defaulted', () => {
  const schema = schemaFor('', 'v1', 'Service');
  assert.ok(schema);
  const config: JsonObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's' },
    spec: { ports: [{ port: 80, name: 'http' }] },
  };
  const live: JsonObject = { ...config, spec: { ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }] } };
  const { object } = applyServerSide({
    live,
    config,
    schema,
    manager: 'm',
    apiVersion: 'v1',
    force: false,
    time: TIME,
  });
  assert.deepEqual(object['spec'], { ports: [{ port: 80, protocol: 'TCP', targetPort: 80, name: 'http' }] });
});

test('strategic merge follows the merge keys of the tables', () => {
  const schema = schemaFor('', 'v1', 'Pod');
  assert.ok(schema);
  const live: JsonObject = {
    spec: { containers: [{ name: 'a', env: [{ name: 'X', value: '1' }] }], tolerations: [{ key: 'a' }] },
  };
  const patch: JsonObject = {
    spec: { containers: [{ name: 'a', env: [{ name: 'Y', value: '2' }] }], tolerations: [{ key: 'b' }] },
  };
  assert.deepEqual(applyStrategicMergePatch(live, patch, schema), {
    spec: {
      containers: [
        {
          name: 'a',
          env: [
            { name: 'Y', value: '2' },
            { name: 'X', value: '1' },
          ],
        },
      ],
      tolerations: [{ key: 'b' }],
    },
  });
});
