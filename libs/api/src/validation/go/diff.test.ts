import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goDiff } from './diff.ts';

const shown = (type: string, before: unknown, after: unknown): string =>
  goDiff(type, before, after).replaceAll('\u00a0', '~');

test('a changed field is shown with two neighbours on each side; the others are counted', () => {
  const container = {
    name: 'c',
    image: 'i',
    ports: [{ containerPort: 80, protocol: 'TCP' }],
    env: [{ name: 'N', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } }],
    terminationMessagePath: '/x',
  };
  const spec = { containers: [container], restartPolicy: 'Always', terminationGracePeriodSeconds: 30 };
  assert.equal(
    shown('core.PodSpec', spec, { ...spec, restartPolicy: 'Never' }),
    [
      '~~core.PodSpec{',
      '~~\t... // 2 identical fields',
      '~~\tContainers:                    {{Name: "c", Image: "i", Ports: {{ContainerPort: 80, Protocol: "TCP"}}, Env: {{Name: "N", ValueFrom: &{FieldRef: &{APIVersion: "v1", FieldPath: "metadata.name"}}}}, ...}},',
      '~~\tEphemeralContainers:           nil,',
      '-~\tRestartPolicy:                 "Always",',
      '+~\tRestartPolicy:                 "Never",',
      '~~\tTerminationGracePeriodSeconds: &30,',
      '~~\tActiveDeadlineSeconds:         nil,',
      '~~\t... // 27 identical fields',
      '~~}',
      '',
    ].join('\n'),
  );
});

test('a nested difference is shown in place, with the types above it', () => {
  const claim = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    volumeMode: 'Filesystem',
  };
  assert.equal(
    shown('core.PersistentVolumeClaimSpec', claim, { ...claim, accessModes: ['ReadWriteMany'], storageClassName: 'x' }),
    [
      '~~core.PersistentVolumeClaimSpec{',
      '~~\tAccessModes: []core.PersistentVolumeAccessMode{',
      '-~\t\t"ReadWriteOnce",',
      '+~\t\t"ReadWriteMany",',
      '~~\t},',
      '~~\tSelector:         nil,',
      '~~\tResources:        {Requests: {s"storage": {i: {...}, Format: "BinarySI"}}},',
      '~~\tVolumeName:       "",',
      '-~\tStorageClassName: nil,',
      '+~\tStorageClassName: &"x",',
      '~~\tVolumeMode:       &"Filesystem",',
      '~~\tDataSource:       nil,',
      '~~\t... // 2 identical fields',
      '~~}',
      '',
    ].join('\n'),
  );
});

test('a pointer that is nil on one side is shown in full on the other', () => {
  const text = shown(
    'core.PersistentVolumeSource',
    { hostPath: { path: '/a', type: '' } },
    { nfs: { server: 's', path: '/b' } },
  );
  assert.ok(text.includes('-~\tHostPath:             &core.HostPathVolumeSource{Path: "/a", Type: &""},'), text);
  assert.ok(text.includes('+~\tNFS:                  &core.NFSVolumeSource{Server: "s", Path: "/b"},'), text);
});

test('named string types, quantities and references print as Go prints them', () => {
  const pod = {
    containers: [],
    priority: 0,
    preemptionPolicy: 'Never',
    volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'm', items: [{ key: 'k', path: 'p' }] } }] } }],
  };
  const text = shown('core.PodSpec', pod, { ...pod, priority: 5, initContainers: [{ name: 'x' }] });
  assert.ok(text.includes('~~\tPreemptionPolicy:  &"Never",'), text);
  assert.ok(
    text.includes(
      'Volumes:             {{Name: "v", VolumeSource: {Projected: &{Sources: {{ConfigMap: &{LocalObjectReference: {Name: "m"}, Items: {{Key: "k", Path: "p"}}}}}}}}},',
    ),
    text,
  );
  const claim = (storage: string): object => ({ resources: { requests: { storage } } });
  const grown = shown('core.PersistentVolumeClaimSpec', claim('1Gi'), claim('1500m'));
  assert.ok(grown.includes('Requests: core.ResourceList{'), grown);
  assert.ok(grown.includes('s"storage": {i: resource.int64Amount{value: 1073741824}, Format: "BinarySI"},'), grown);
  assert.ok(
    grown.includes('s"storage": {i: resource.int64Amount{value: 1500, scale: -3}, Format: "DecimalSI"},'),
    grown,
  );
});

test('added keys with names of Object.prototype members are shown', () => {
  const spec = (nodeSelector: object): object => ({ containers: [], nodeSelector });
  const text = shown('core.PodSpec', spec({ a: 'b' }), spec({ a: 'b', constructor: 'x' }));
  assert.ok(text.includes('+~\t\t"constructor": "x",'), text);
  assert.ok(!text.includes('-~'), text);
});
