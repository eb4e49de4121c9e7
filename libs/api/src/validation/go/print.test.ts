import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goValue } from './print.ts';

test('lists, maps, pointers and times print as in Go', () => {
  const shown = (type: string, value: unknown): string => goValue(type, value).text;
  assert.equal(shown('[]int32', [2, 1]), '[]int32{2, 1}');
  assert.equal(shown('[]int32', undefined), '[]int32(nil)');
  assert.equal(shown('*int64', 0), '(*int64)(0xc000000000)');
  assert.equal(shown('map', { b: '2', a: '1' }), 'map[string]string{"a":"1", "b":"2"}');
  assert.equal(shown('*time', undefined), '<nil>');
  assert.equal(shown('time', '2024-02-03T04:05:06Z'), 'time.Date(2024, time.February, 3, 4, 5, 6, 0, time.Local)');
  assert.equal(
    shown('amounts', { cpu: '500m' }),
    'core.ResourceList{"cpu":resource.Quantity{i:resource.int64Amount{value:500, scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"", Format:"DecimalSI"}}',
  );
});

test('a pod template prints its containers and the sources of its volumes', () => {
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: {} }],
      volumes: [{ name: 'v', emptyDir: {} }],
      restartPolicy: 'Never',
    },
  };
  const { text } = goValue('core.PodTemplateSpec', template);
  assert.ok(
    text.startsWith(
      'core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string{"a":"b"}, Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ManagedFields:[]v1.ManagedFieldsEntry(nil)}, Spec:core.PodSpec{Volumes:[]core.Volume{core.Volume{Name:"v", VolumeSource:core.VolumeSource{HostPath:(*core.HostPathVolumeSource)(nil), EmptyDir:(*core.EmptyDirVolumeSource)(0xc000000000), GCEPersistentDisk:',
    ),
    text,
  );
  assert.ok(
    text.includes('Containers:[]core.Container{core.Container{Name:"c", Image:"i", Command:[]string(nil),'),
    text,
  );
  assert.ok(
    text.endsWith('ResourceClaims:[]core.PodResourceClaim(nil), Resources:(*core.ResourceRequirements)(nil)}}'),
    text,
  );
});
