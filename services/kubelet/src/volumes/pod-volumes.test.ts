import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type Container,
  type KubeObject,
  LOCAL_PATH_PROVISIONER,
  type PersistentVolume,
  type Pod,
  type PodSecurityContext,
  type Volume,
  type VolumeMount,
} from '@holdfast/api';
import { type ApiClient, TransportError } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createSystemClock, formatTime } from '@holdfast/platform';
import { unlessRoot } from '@holdfast/testing';
import { createNodeVolumeDirectories } from '../adapters/node-volume-directories.ts';
import { FIRST_POD_USER } from '../domain/pod-users.ts';
import { ownerOf, tokenUser } from '../domain/volume-owner.ts';
import { VOLUME_REFRESH_MS } from '../limits.ts';
import { eventually } from '../runtime/contract.ts';
import type { RuntimeAbilities } from '../runtime/port.ts';
import { type ContainerVolumes, PodVolumes } from './pod-volumes.ts';

const system = createSystemClock();

/** Objects by `kind/name`; token requests are counted and answered. */
class Api {
  readonly objects = new Map<string, object>();
  tokens = 0;
  error: Error | undefined;
  tokenError: Error | undefined;
  tokenSeconds = 3_600;

  client(): ApiClient {
    const refuse = (): never => assert.fail('not asked for in this test');
    const answer = <T extends KubeObject>(object: object | undefined): Promise<T | undefined> =>
      // The kind that the caller names is the kind that was put in.
      Promise.resolve(object as T | undefined);
    return {
      get: refuse,
      find: (resource, { name }) =>
        this.error === undefined ? answer(this.objects.get(`${resource.kind}/${name}`)) : Promise.reject(this.error),
      create: <T extends KubeObject>(resource: { plural: string }, object: T): Promise<T> => {
        assert.match(resource.plural, /^serviceaccounts\/.*\/token$/);
        if (this.tokenError !== undefined) return Promise.reject(this.tokenError);
        this.tokens++;
        const status = {
          token: `token-${this.tokens}`,
          expirationTimestamp: formatTime(system.now() + this.tokenSeconds * 1000),
        };
        return Promise.resolve({ ...object, status });
      },
      patch: refuse,
      list: refuse,
      watch: refuse,
      update: refuse,
      updateStatus: refuse,
      updateSubresource: refuse,
      delete: refuse,
      resourcesOf: refuse,
      bind: refuse,
      evict: refuse,
    };
  }
}

interface World {
  readonly api: Api;
  readonly path: string;
  readonly failures: string[];
  readonly foreign: string[];
  /** `securityContext`: what is made belongs to the users of the pod. */
  readonly prepare: (
    volume: Omit<Volume, 'name'>,
    mount?: Partial<VolumeMount>,
    securityContext?: PodSecurityContext,
  ) => Promise<ContainerVolumes>;
  readonly read: (file: string) => string;
  readonly refresh: () => void;
  readonly offer: (change: Pod['metadata']) => void;
  readonly usesDirectory: (uid: string) => boolean;
}

const METADATA = { name: 'p', namespace: 'n', uid: 'u', labels: { b: '2', a: 'say "hi"' } };

async function inWorld(run: (world: World) => Promise<void>, mounts = true): Promise<void> {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-volumes-'));
  const api = new Api();
  const failures: string[] = [];
  const foreign: string[] = [];
  let refresh = (): void => assert.fail('nothing is refreshed');
  const timer = (delayMs: number, fire: () => void) => {
    assert.equal(delayMs, VOLUME_REFRESH_MS);
    refresh = fire;
    return { cancel: () => {} };
  };
  const abilities: RuntimeAbilities = { mounts, user: 'any' };
  const volumes = new PodVolumes({
    client: api.client(),
    clock: { ...system, timer },
    abilities,
    allocatable: { cpu: '4' },
    hostIp: () => '192.0.2.1',
    directories: createNodeVolumeDirectories(join(path, 'volumes')),
    node: () => ({ name: 'n1', labels: { zone: 'a' } }),
    onFailure: (_pod, message) => failures.push(message),
    onForeign: (_pod, message) => foreign.push(message),
  });
  let pod: Pod;
  try {
    await run({
      api,
      path,
      failures,
      foreign,
      prepare: (volume, mount = {}, securityContext) => {
        const container: Container = {
          name: 'c',
          image: 'i',
          resources: { limits: { memory: '64Mi' } },
          volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }],
        };
        pod = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: METADATA,
          spec: {
            containers: [container],
            volumes: [{ name: 'v', ...volume }],
            ...(securityContext === undefined ? {} : { securityContext }),
          },
          status: { phase: 'Pending' },
        };
        const owners =
          securityContext === undefined
            ? {}
            : { owner: ownerOf(pod, abilities, undefined), tokenUser: tokenUser(pod, abilities, undefined) };
        return volumes.prepare({ pod, path, podIp: '198.51.100.1', ...owners }, container, { ROLE: 'db' });
      },
      read: (file) => readFileSync(join(path, 'v', file), 'utf8'),
      refresh: () => refresh(),
      offer: (metadata) => volumes.offer({ ...pod, metadata }),
      usesDirectory: (uid) => volumes.usesDirectory(uid),
    });
  } finally {
    await volumes.stop();
    rmSync(path, { recursive: true, force: true });
  }
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('a ConfigMap becomes files, read-only, and is updated atomically', () =>
  inWorld(async ({ api, path, prepare, read, refresh }) => {
    api.objects.set('ConfigMap/settings', { data: { a: 'one', b: 'two' }, binaryData: { c: 'AAE=' } });
    const { mounts } = await prepare({ configMap: { name: 'settings', defaultMode: 0o440 } });
    assert.deepEqual(mounts, [{ source: join(path, 'v'), target: '/v', readOnly: true }]);
    assert.deepEqual([read('a'), read('b'), read('c')], ['one', 'two', '\0\u0001']);
    assert.equal(modeOf(join(path, 'v', 'a')), 0o440);
    const before = readlinkSync(join(path, 'v', '..data'));
    api.objects.set('ConfigMap/settings', { data: { a: 'three', d: 'new' } });
    refresh();
    const names = (): string[] => readdirSync(join(path, 'v')).filter((name) => !name.startsWith('..'));
    // One link switches the contents atomically; names and the old folder are cleaned up after it.
    await eventually(() => read('a') === 'three', 'the new contents');
    await eventually(() => names().join() === 'a,d', 'the names of the new files');
    assert.notEqual(readlinkSync(join(path, 'v', '..data')), before);
    await eventually(() => !existsSync(join(path, 'v', before)), 'the end of the old folder');
  }));

test('[SAFE-07] a restart finds the files of before while the API is away; a first start waits for it', () =>
  inWorld(async ({ api, prepare, read }) => {
    const settings = { configMap: { name: 'settings' } };
    const away = new TransportError('no answer');
    api.error = away;
    await assert.rejects(prepare(settings), away);
    api.error = undefined;
    api.objects.set('ConfigMap/settings', { data: { a: 'one' } });
    await prepare(settings);
    api.error = away;
    await prepare(settings);
    assert.equal(read('a'), 'one');
    api.error = new StatusError({ code: 403, reason: 'Forbidden', message: 'not for this node' });
    await assert.rejects(prepare(settings), /not for this node/);
  }));

test('[SAFE-07] a restart does not wait for a token that an overloaded API refuses', () =>
  inWorld(async ({ api, prepare, read }) => {
    const projected = { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] };
    api.tokenSeconds = 0;
    await prepare({ projected });
    assert.equal(read('token'), 'token-1');
    api.tokenError = new StatusError({ code: 429, reason: 'TooManyRequests', message: 'later' });
    await prepare({ projected });
    assert.equal(read('token'), 'token-1');
    api.tokenError = new StatusError({ code: 403, reason: 'Forbidden', message: 'never' });
    await assert.rejects(prepare({ projected }), /failed to fetch token: never/);
  }));

test('[LIFE-16] a missing source is reported, a missing optional one is not', () =>
  inWorld(async ({ api, prepare, path }) => {
    const start = 'MountVolume.SetUp failed for volume "v" : ';
    await assert.rejects(prepare({ configMap: { name: 'x' } }), {
      name: 'VolumeError',
      message: `${start}configmap "x" not found`,
    });
    await assert.rejects(prepare({ secret: { secretName: 'x' } }), { message: `${start}secret "x" not found` });
    api.objects.set('Secret/x', { data: { a: 'b25l' } });
    const items = [{ key: 'z', path: 'z' }];
    await assert.rejects(prepare({ secret: { secretName: 'x', items } }), /references non-existent secret key: z/);
    await assert.rejects(prepare({ nfs: { path: '/', server: 's' } }), {
      message: `${start}this node has no support for nfs volumes`,
    });
    await prepare({ secret: { secretName: 'x', items, optional: true } });
    await prepare({ configMap: { name: 'x', optional: true } });
    assert.deepEqual(
      readdirSync(join(path, 'v')).filter((name) => !name.startsWith('..')),
      [],
    );
  }));

test('[DOWN-01] [DOWN-08] [DOWN-10] [DOWN-14] labels and limits are files, and a changed label changes its file', () =>
  inWorld(async ({ prepare, read, offer, path }) => {
    await prepare({
      downwardAPI: {
        items: [
          { path: 'meta/labels', fieldRef: { fieldPath: 'metadata.labels' }, mode: 0o400 },
          { path: 'memory', resourceFieldRef: { containerName: 'c', resource: 'limits.memory', divisor: '1Mi' } },
          { path: 'cpu', resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' } },
        ],
      },
    });
    assert.deepEqual([read('meta/labels'), read('memory'), read('cpu')], ['a="say \\"hi\\""\nb="2"', '64', '4']);
    assert.deepEqual(
      ['meta/labels', 'memory'].map((file) => modeOf(join(path, 'v', file))),
      [0o400, 0o644],
    );
    offer({ ...METADATA, labels: { a: 'changed' } });
    await eventually(() => read('meta/labels') === 'a="changed"', 'the changed label');
  }));

test('[DOWN-01] [DOWN-04] [DOWN-09] annotations are files, all of them sorted by key and one by one', () =>
  inWorld(async ({ prepare, read, offer }) => {
    const item = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });
    const items = [
      item('all', 'metadata.annotations'),
      item('one', "metadata.annotations['b']"),
      item('label', "metadata.labels['b']"),
      item('none', "metadata.labels['z']"),
    ];
    await prepare({ downwardAPI: { items } });
    assert.deepEqual([read('all'), read('one'), read('label'), read('none')], ['', '', '2', '']);
    offer({ ...METADATA, annotations: { b: 'two\nlines', a: '1' } });
    await eventually(() => read('all') === 'a="1"\nb="two\\nlines"', 'the annotations');
    await eventually(() => read('one') === 'two\nlines', 'the one');
  }));

test('a projected volume contains a token, which is requested once and not again while it is fresh', () =>
  inWorld(async ({ api, prepare, read, refresh, failures }) => {
    api.objects.set('ConfigMap/ca', { data: { 'ca.crt': 'PEM', other: '' } });
    const projected = {
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3_607 } },
        { configMap: { name: 'ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
      ],
    };
    await prepare({ projected });
    assert.deepEqual([read('token'), read('ca.crt'), read('namespace')], ['token-1', 'PEM', 'n']);
    api.objects.delete('ConfigMap/ca');
    refresh();
    await eventually(() => failures.length === 1, 'the failure is told');
    assert.deepEqual(
      [failures[0], read('ca.crt'), api.tokens],
      ['MountVolume.SetUp failed for volume "v" : configmap "ca" not found', 'PEM', 1],
    );
  }));

test('[EXP-07] an emptyDir is kept when it is prepared again; a subPath is created in it and may not leave it', () =>
  inWorld(async ({ prepare, path }) => {
    const { mounts } = await prepare({ emptyDir: {} }, { subPathExpr: 'of/$(ROLE)', readOnly: true });
    const source = join(path, 'v/of/db');
    assert.deepEqual(mounts, [{ source, within: join(path, 'v'), isDirectory: true, target: '/v', readOnly: true }]);
    assert.ok(lstatSync(join(path, 'v/of/db')).isDirectory());
    assert.equal(modeOf(join(path, 'v')), 0o777);
    writeFileSync(join(path, 'v/of/db/config'), 'rendered');
    await prepare({ emptyDir: {} });
    assert.equal(readFileSync(join(path, 'v/of/db/config'), 'utf8'), 'rendered', 'what one container wrote is there');
    symlinkSync('/etc', join(path, 'v', 'out'));
    await assert.rejects(prepare({ emptyDir: {} }, { subPath: 'out' }), /leads out of the volume/);
  }));

test('mount propagation is passed to the runtime', () =>
  inWorld(async ({ prepare }) => {
    for (const mountPropagation of ['None', 'HostToContainer', 'Bidirectional'] as const) {
      const { mounts } = await prepare({ emptyDir: {} }, { mountPropagation });
      assert.equal(mounts[0]?.propagation, mountPropagation === 'None' ? undefined : mountPropagation);
    }
  }));

test('a hostPath is a path of this machine, checked according to its type', () =>
  inWorld(async ({ prepare, path }) => {
    const made = join(path, 'made');
    const { mounts } = await prepare({ hostPath: { path: made, type: 'DirectoryOrCreate' } });
    assert.deepEqual(mounts, [{ source: made, target: '/v', readOnly: false }]);
    await assert.rejects(
      prepare({ hostPath: { path: made, type: 'File' } }),
      /type check failed: .*made is not a file/,
    );
    await prepare({ hostPath: { path: join(path, 'new'), type: '' } });
  }));

const bindClaim = (api: Api, spec: Partial<PersistentVolume['spec']>, phase = 'Bound'): void => {
  const metadata = { name: 'data', namespace: 'n', uid: 'claim-1' };
  api.objects.set('PersistentVolumeClaim/data', { metadata, spec: { volumeName: 'pv-1' }, status: { phase } });
  const claimRef = { uid: 'claim-1' };
  api.objects.set('PersistentVolume/pv-1', { metadata: { name: 'pv-1' }, spec: { claimRef, ...spec } });
};

test('[POD-25] [POD-26] every container gets the same directory of a volume, and sees earlier files in it', () =>
  inWorld(async ({ path, prepare, read }) => {
    const expected = (target: string) => [{ source: join(path, 'v'), target, readOnly: false }];
    assert.deepEqual((await prepare({ emptyDir: {} })).mounts, expected('/v'));
    writeFileSync(join(path, 'v', 'page'), 'first');
    assert.deepEqual((await prepare({ emptyDir: {} }, { mountPath: '/web' })).mounts, expected('/web'));
    assert.equal(read('page'), 'first', 'also after a restart of a container');
  }));

test('[POD-25] a claim resolves to the directory of its bound volume', () =>
  inWorld(async ({ api, path, prepare }) => {
    const directory = join(path, 'elsewhere');
    const claim = { persistentVolumeClaim: { claimName: 'data', readOnly: true } };
    bindClaim(api, { hostPath: { path: directory, type: 'DirectoryOrCreate' } });
    assert.deepEqual((await prepare(claim)).mounts, [{ source: directory, target: '/v', readOnly: true }]);
    const required = (zone: string) => ({
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }] },
    });
    bindClaim(api, { local: { path: directory }, nodeAffinity: required('a') });
    const mutable = { persistentVolumeClaim: { claimName: 'data' } };
    assert.deepEqual((await prepare(mutable)).mounts, [{ source: directory, target: '/v', readOnly: false }]);
    bindClaim(api, { local: { path: directory }, nodeAffinity: required('b') });
    await assert.rejects(prepare(claim), /NodeAffinity check failed for volume "pv-1"/);
  }));

const ownersOf = (path: string): readonly [number, number, string] => {
  const { uid, gid, mode } = statSync(path);
  return [uid, gid, (mode & 0o7777).toString(8)];
};
const CLAIM = { persistentVolumeClaim: { claimName: 'data' } };
const testAsRoot = (title: string, run: () => Promise<void>): void => {
  test(title, { skip: unlessRoot() }, run);
};

testAsRoot('a directory that is made for a claim belongs to the user and the group of its pod', () =>
  inWorld(async ({ api, path, prepare, foreign }) => {
    const made = async (name: string, securityContext: PodSecurityContext, mount: Partial<VolumeMount> = {}) => {
      bindClaim(api, { hostPath: { path: join(path, name), type: 'DirectoryOrCreate' } });
      await prepare(CLAIM, mount, securityContext);
      return ownersOf(join(path, name));
    };
    assert.deepEqual(await made('user', { runAsUser: 61_234 }), [61_234, 61_234, '755']);
    assert.deepEqual(await made('group', { runAsUser: 61_234, fsGroup: 62_000 }), [61_234, 62_000, '2775']);
    const [uid, gid, mode] = await made('none', {});
    assert.deepEqual([uid >= FIRST_POD_USER, gid, mode], [true, uid, '755']);
    await made('sub', { runAsUser: 61_234, fsGroup: 62_000 }, { subPath: 'a/b' });
    assert.deepEqual(ownersOf(join(path, 'sub/a/b')), [61_234, 62_000, '2775']);
    assert.deepEqual(foreign, []);
  }),
);

testAsRoot(
  'a directory of root that a claim finds becomes the pod’s when it is empty; else an event says what to do',
  () =>
    inWorld(async ({ api, path, prepare, foreign }) => {
      const found = async (name: string, prepareIt: (directory: string) => void) => {
        const directory = join(path, name);
        mkdirSync(directory);
        prepareIt(directory);
        bindClaim(api, { hostPath: { path: directory, type: '' } });
        await prepare(CLAIM, {}, { runAsUser: 61_234 });
        await prepare(CLAIM, {}, { runAsUser: 61_234 });
        return ownersOf(directory);
      };
      assert.deepEqual(await found('empty', () => {}), [61_234, 61_234, '755']);
      assert.deepEqual(await found('of-other', (directory) => chownSync(directory, 61_000, 61_000)), [
        61_000,
        61_000,
        '755',
      ]);
      assert.deepEqual(await found('open', (directory) => chmodSync(directory, 0o777)), [0, 0, '777']);
      assert.deepEqual(foreign, []);
      assert.deepEqual(await found('used', (directory) => writeFileSync(join(directory, 'f'), '')), [0, 0, '755']);
      assert.equal(foreign.length, 1);
      assert.match(
        foreign[0] ?? '',
        /runs as user 61234 and cannot write .*: run "chown -R 61234:61234 .*used" on the node/,
      );
    }),
);

/** The claim `data` is a volume of the storage server. Returns what attaches it to this node for the pod. */
function bindTicket(api: Api): (fencingToken: number) => void {
  bindClaim(api, {
    csi: {
      driver: 'storage.holdfast.io',
      volumeHandle: 'pv-1',
      volumeAttributes: { server: '127.0.0.1:9440' },
      nodePublishSecretRef: { namespace: 'storage', name: 'key' },
    },
  });
  const volume = api.objects.get('PersistentVolume/pv-1') ?? assert.fail();
  api.objects.set('Secret/key', { data: { key: Buffer.from('0'.repeat(64)).toString('base64') } });
  return (fencingToken) => {
    const attachment = { nodeName: 'n1', nodeUID: 'u1', pods: [{ namespace: 'n', name: 'p', uid: 'u' }] };
    api.objects.set('PersistentVolume/pv-1', { ...volume, status: { fencingToken, attachment } });
  };
}

test('a volume of the storage server is a directory of the kubelet that the pod cannot write', () =>
  inWorld(async ({ api, path, prepare, read, refresh }) => {
    const attach = bindTicket(api);
    attach(7);
    const claim = { persistentVolumeClaim: { claimName: 'data' } };
    assert.deepEqual((await prepare(claim)).mounts, [{ source: join(path, 'v'), target: '/v', readOnly: true }]);
    assert.equal(read('token'), '7\n');
    attach(8);
    refresh();
    await eventually(() => read('token') === '8\n', 'the token of the next attachment of this pod');
  }));

const ofNode = (node: string): PersistentVolume['spec'] => ({
  csi: { driver: LOCAL_PATH_PROVISIONER, volumeHandle: '../../etc', volumeAttributes: { node, path: '/etc' } },
});

test('[POD-25] a local-path volume is a directory under its uid, whatever else its object contains, and only on its node', () =>
  inWorld(async ({ api, path, prepare }) => {
    bindClaim(api, ofNode('n1'));
    const uid = '00000000-0000-4000-8000-000000000001';
    const found = api.objects.get('PersistentVolume/pv-1');
    api.objects.set('PersistentVolume/pv-1', { ...found, metadata: { name: 'pv-1', uid } });
    const source = join(path, 'volumes', uid);
    assert.deepEqual((await prepare(CLAIM)).mounts, [{ source, target: '/v', readOnly: false }]);
    writeFileSync(join(source, 'row'), '1');
    await prepare(CLAIM);
    assert.equal(readFileSync(join(source, 'row'), 'utf8'), '1', 'made once');
    bindClaim(api, ofNode('n2'));
    await assert.rejects(prepare(CLAIM), /"pv-1": its directory is on node "n2"/);
    bindClaim(api, ofNode('n1'));
    await assert.rejects(prepare(CLAIM), /is not the uid of a volume/);
  }));

test('a pod keeps the directories that it has got when its claim has another volume by now', () =>
  inWorld(async ({ api, prepare, usesDirectory }) => {
    const uids = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
    const used: boolean[][] = [];
    for (const uid of uids) {
      bindClaim(api, ofNode('n1'));
      const found = api.objects.get('PersistentVolume/pv-1');
      api.objects.set('PersistentVolume/pv-1', { ...found, metadata: { name: 'pv-1', uid } });
      await prepare(CLAIM, { mountPath: `/${uid}` });
      used.push(uids.map(usesDirectory));
    }
    assert.deepEqual(used, [
      [true, false],
      [true, true],
    ]);
  }));

testAsRoot('the directory of a local-path volume belongs to the user and the group of its first pod', () =>
  inWorld(async ({ api, path, prepare }) => {
    bindClaim(api, ofNode('n1'));
    const uid = '00000000-0000-4000-8000-000000000001';
    const found = api.objects.get('PersistentVolume/pv-1');
    api.objects.set('PersistentVolume/pv-1', { ...found, metadata: { name: 'pv-1', uid } });
    await prepare(CLAIM, {}, { runAsUser: 61_234, fsGroup: 62_000 });
    assert.deepEqual(ownersOf(join(path, 'volumes', uid)), [61_234, 62_000, '2777']);
  }),
);

test('[LIFE-16] an unresolvable or foreign claim keeps the pod waiting', () =>
  inWorld(async ({ api, path, prepare }) => {
    const claim = { persistentVolumeClaim: { claimName: 'data' } };
    await assert.rejects(prepare(claim), /persistentvolumeclaim "data" not found/);
    bindClaim(api, { hostPath: { path } }, 'Pending');
    await assert.rejects(prepare(claim), /PVC n\/data is not bound/);
    bindClaim(api, { hostPath: { path }, claimRef: { uid: 'other' } });
    await assert.rejects(prepare(claim), /bound to another claim/);
    bindClaim(api, { nfs: { server: 's', path: '/' } });
    await assert.rejects(prepare(claim), /no support for nfs volumes/);
    api.objects.set('PersistentVolumeClaim/p-v', { metadata: { name: 'p-v' }, spec: {}, status: { phase: 'Bound' } });
    await assert.rejects(prepare({ ephemeral: {} }), /was not created for pod/);
  }));

test('without mounts a variable contains the path of the token', () =>
  inWorld(async ({ prepare, path }) => {
    const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
    const sources = [{ serviceAccountToken: { path: 'token' } }];
    assert.deepEqual(await prepare({ projected: { sources } }, { mountPath }), {
      mounts: [],
      environment: { HOLDFAST_SERVICE_ACCOUNT_DIR: join(path, 'v') },
    });
    await assert.rejects(prepare({ emptyDir: {} }), { name: 'ContainerConfigError' });
  }, false));

test('without mounts a variable contains the path of the files of a volume of the storage server, and of no other claim', () =>
  inWorld(async ({ api, prepare, path, read }) => {
    bindTicket(api)(7);
    assert.deepEqual(await prepare(CLAIM), {
      mounts: [],
      environment: { HOLDFAST_VOLUME_DIR_V: join(path, 'v') },
    });
    assert.equal(read('token'), '7\n');
    bindClaim(api, { hostPath: { path, type: 'Directory' } });
    await assert.rejects(prepare(CLAIM), { name: 'ContainerConfigError' });
  }, false));
