import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { PersistentVolume, Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { requestOfNfs } from '../domain/nfs-request.ts';
import { LOOK_MS, MOUNT_MS, NFS_MOUNT_MS } from '../limits.ts';
import { eventually } from '../runtime/contract.ts';
import { PodVolumes } from '../volumes/pod-volumes.ts';
import { CsiVolumes } from './csi-volumes.ts';
import { createNfsDriver, type NfsMachine } from './nfs-driver.ts';

const pod = { metadata: { namespace: 'default', name: 'web', uid: 'u1' }, spec: {} } as unknown as Pod;

const volumeOf = (accessModes: string[], mountOptions: string[] = []): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv-1' },
  spec: { accessModes, mountOptions, nfs: { server: '10.0.0.9', path: '/export' } },
  status: {},
});

const SHARE = { server: '10.0.0.9', path: '/export' };

/** Programs of the machine that are scripts: they note what they were asked, and "mount" by a file beside the target. */
function createScene(t: TestContext, machine: Partial<NfsMachine> = {}, clock = createSystemClock()) {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-nfs-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const log = join(root, 'log');
  const script = (name: string, body: string): void => {
    writeFileSync(join(root, name), `#!/bin/sh\necho "${name} $*" >> ${log}\nfor last; do :; done\n${body}\n`);
    chmodSync(join(root, name), 0o755);
  };
  script('mount', 'touch "$last.mounted"');
  script('umount', 'rm -f "$last.mounted"');
  script('mount.nfs', '');
  script('stat', '');
  const driver = createNfsDriver(clock, {
    isRoot: () => true,
    program: (name) => (existsSync(join(root, name)) ? join(root, name) : undefined),
    isMounted: (path) => existsSync(`${path}.mounted`),
    ...machine,
  });
  const client = { find: () => assert.fail('no object is read') } as unknown as ApiClient;
  const volumes = new CsiVolumes({ client, clock, nodeName: 'n1', root, driver: () => driver });
  const ran = (): readonly string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return { root, volumes, ran, script };
}

test('a share is mounted once with the options of its volume, and unmounted with its pod, also by a restarted kubelet', async (t) => {
  const { root, volumes, ran } = createScene(t);
  const request = requestOfNfs(
    'pv-1',
    { ...SHARE, readOnly: true },
    volumeOf(['ReadWriteMany'], ['nfsvers=4.1', 'soft']),
  );
  const path = await volumes.publish(pod, request);
  await volumes.publish(pod, request);
  assert.equal(path, join(root, 'pods/u1/volumes/kubernetes.io~csi/pv-1/mount'));
  assert.deepEqual(ran(), [`mount -t nfs -o nosuid,nodev,ro,nfsvers=4.1,soft 10.0.0.9:/export ${path}`]);
  await volumes.tearDown('u1');
  assert.equal(ran().at(-1), `umount -c ${path}`);
  assert.deepEqual([volumes.holds('u1'), existsSync(path)], [false, false]);
});

test('an address of IPv6 is put into brackets, and a server is never an option of the program', async (t) => {
  const { volumes, ran } = createScene(t);
  await volumes.publish(pod, requestOfNfs('data', { server: 'fd00::9', path: '/export' }));
  assert.match(ran()[0] ?? '', / \[fd00::9\]:\/export /);
  await assert.rejects(
    volumes.publish(pod, requestOfNfs('evil', { server: '-oexec', path: '/x' })),
    /is not the name of an NFS server/,
  );
});

test('what the node lacks is said with the next step, and the words of the program reach the pod', async (t) => {
  const asUser = createScene(t, { isRoot: () => false });
  await assert.rejects(
    asUser.volumes.publish(pod, requestOfNfs('data', SHARE)),
    /need a kubelet that runs as root: start it with sudo/,
  );
  const bare = createScene(t, { program: (name) => (name === 'mount' ? '/bin/mount' : undefined) });
  await assert.rejects(
    bare.volumes.publish(pod, requestOfNfs('data', SHARE)),
    /mount\.nfs is not installed on the node: install it \(Debian: apt-get install nfs-common\)/,
  );
  const refused = createScene(t);
  refused.script('mount', 'echo "mount.nfs: access denied by server" >&2; exit 32');
  await assert.rejects(
    refused.volumes.publish(pod, requestOfNfs('data', SHARE)),
    /mount of 10.0.0.9:\/export failed: mount.nfs: access denied by server/,
  );
  await refused.volumes.tearDown('u1');
  assert.equal(refused.volumes.holds('u1'), false, 'nothing is left of it');
});

test('[RWO-20] a hung server holds one program: a shared volume is unmounted by force, one for a single node never is', async (t) => {
  for (const modes of [['ReadWriteMany'], ['ReadWriteOnce']]) {
    const clock = createVirtualClock();
    const { volumes, ran, script } = createScene(t, {}, clock);
    await volumes.publish(pod, requestOfNfs('pv-1', SHARE, volumeOf(modes)));
    // A process that waits for a server ignores signals; this one at least does not end by itself.
    script('umount', 'case "$*" in *" -l "*) rm -f "$last.mounted";; *) exec sleep 600;; esac');
    const ended = volumes.tearDown('u1').then(
      () => 'unmounted',
      (error: unknown) => String(error),
    );
    await eventually(() => ran().some((line) => line.startsWith('umount')), 'the program runs');
    await clock.advance(MOUNT_MS);
    const isShared = modes[0] === 'ReadWriteMany';
    assert.match(await ended, isShared ? /^unmounted$/ : /the server did not answer within 10 s/);
    assert.equal(
      ran().some((line) => line.includes('-f -l')),
      isShared,
    );
    assert.equal(volumes.holds('u1'), !isShared);
  }
});

test('a subPath is looked for only while the server answers, in a process of its own', async (t) => {
  const clock = createVirtualClock();
  const { root, volumes, ran, script } = createScene(t, {}, clock);
  const volume = { name: 'data', nfs: SHARE };
  const volumeMounts = [{ name: 'data', mountPath: '/data', subPath: 'logs' }];
  const container = { name: 'main', image: 'x', resources: {}, volumeMounts };
  const whole: Pod = { ...pod, spec: { containers: [container], volumes: [volume] } };
  const deps = { csi: volumes, clock, abilities: { mounts: true }, onFailure: () => {} };
  const ofPod = new PodVolumes(deps as unknown as ConstructorParameters<typeof PodVolumes>[0]);
  t.after(() => ofPod.stop());
  const prepare = () => ofPod.prepare({ pod: whole, path: join(root, 'pods/u1/volumes'), podIp: '' }, container, {});
  const target = join(root, 'pods/u1/volumes/kubernetes.io~csi/data/mount');
  const { mounts } = await prepare();
  assert.deepEqual([mounts[0]?.source, ran().at(-1)], [join(target, 'logs'), `stat -f ${target}`]);
  script('stat', 'exec sleep 600');
  const refused = assert.rejects(prepare(), /look at .*: the server did not answer within 5 s/);
  await eventually(() => ran().filter((line) => line.startsWith('stat')).length === 2, 'the program runs');
  await clock.advance(LOOK_MS);
  await refused;
});

test('a volume whose mount may still come is not given up: it is unmounted when it has come', async (t) => {
  const clock = createVirtualClock();
  const { root, volumes, ran, script } = createScene(t, {}, clock);
  const go = join(root, 'go');
  const waits = join(root, 'waits');
  // What it started goes on when it is killed, as a mount in the kernel does.
  const late = `touch ${waits}; for i in $(seq 600); do [ -e ${go} ] && break; sleep 0.05; done; touch "$last.mounted"`;
  script('mount', `(${late}) & wait`);
  const refused = assert.rejects(volumes.publish(pod, requestOfNfs('pv-1', SHARE)), /did not answer within 60 s/);
  await eventually(() => existsSync(waits), 'the program runs');
  await clock.advance(NFS_MOUNT_MS);
  await refused;
  await assert.rejects(volumes.tearDown('u1'), /the program of an earlier try still waits for the server/);
  assert.equal(volumes.holds('u1'), true);
  writeFileSync(go, '\n');
  await eventually(
    () =>
      volumes.tearDown('u1').then(
        () => true,
        () => false,
      ),
    'the volume is unmounted',
  );
  assert.match(ran().at(-1) ?? '', /^umount /);
});
