import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { containerConfig, sandboxConfig } from '../contract.ts';
import type { SandboxConfig } from '../port.ts';
import type { SandboxIsolation } from '../port-isolation.ts';
import { ContainerConfigSchema, NamespaceMode, PodSandboxConfigSchema } from './generated/cri_pb.js';
import { userNamespaceRefusal } from './health.ts';
import { decodeSandbox } from './labels.ts';
import { containerRequest, sandboxRequest } from './requests.ts';

const ISOLATION: SandboxIsolation = {
  ports: [],
  namespaces: { network: 'pod', ipc: 'pod', pid: 'container' },
  sysctls: {},
  privileged: false,
  user: 7,
  supplementalGroups: [8],
  annotations: {},
};
const PLACE = { node: 'n1', seccompRoot: '/state/seccomp', logDirectory: '/logs', logPath: 'main/0.log' };
const MOUNTS = [{ source: '/state/v', target: '/v', readOnly: false }];
const userRange = { firstId: 131_072, length: 65_536 };
const MAPPING = [{ hostId: 131_072, containerId: 0, length: 65_536 }];

const messages = (sandbox: SandboxConfig) => {
  const pod = create(PodSandboxConfigSchema, sandboxRequest(sandbox, PLACE));
  const config = containerConfig(['run'], { mounts: MOUNTS, user: { uid: 5, gid: 6 } });
  const security = { privileged: false, addCapabilities: [], dropCapabilities: [], user: 5, supplementalGroups: [8] };
  const rest = { readOnlyRoot: false, noNewPrivileges: false, unmasked: false };
  const isolation = { resources: { cpuShares: 2, oomScoreAdjust: 0 }, security: { ...security, ...rest } };
  const container = create(ContainerConfigSchema, containerRequest({ ...config, isolation }, sandbox, PLACE));
  return {
    pod: fromBinary(PodSandboxConfigSchema, toBinary(PodSandboxConfigSchema, pod)),
    container: fromBinary(ContainerConfigSchema, toBinary(ContainerConfigSchema, container)),
  };
};

const plain = (mappings: readonly { hostId: number; containerId: number; length: number }[] | undefined) =>
  mappings?.map(({ hostId, containerId, length }) => ({ hostId, containerId, length }));

test('[USERNS-02] [USERNS-03] the runtime gets the range of the pod; ids of its processes stay ids inside', () => {
  const { pod, container } = messages({ ...sandboxConfig('u1'), isolation: ISOLATION, userRange });
  for (const context of [pod.linux?.securityContext, container.linux?.securityContext]) {
    const users = context?.namespaceOptions?.usernsOptions;
    assert.equal(users?.mode, NamespaceMode.POD);
    assert.deepEqual([plain(users?.uids), plain(users?.gids)], [MAPPING, MAPPING]);
    assert.deepEqual(context?.supplementalGroups, [8n]);
    assert.deepEqual(context?.runAsGroup, undefined);
  }
  assert.equal(pod.linux?.securityContext?.runAsUser?.value, 7n);
  assert.equal(container.linux?.securityContext?.runAsUser?.value, 5n);
  assert.deepEqual(decodeSandbox('id', pod.annotations).userRange, userRange, 'a later kubelet finds it again');
});

test('[USERNS-07] every volume of such a pod is mounted with idmapped owners', () => {
  const [mount] = messages({ ...sandboxConfig('u1'), isolation: ISOLATION, userRange }).container.mounts;
  assert.deepEqual([plain(mount?.uidMappings), plain(mount?.gidMappings)], [MAPPING, MAPPING]);
});

test('[USERNS-01] a pod that does not request it has no user namespace', () => {
  const { pod, container } = messages({ ...sandboxConfig('u1'), isolation: ISOLATION });
  assert.equal(pod.linux?.securityContext?.namespaceOptions?.usernsOptions, undefined);
  assert.equal(container.linux?.securityContext?.namespaceOptions?.usernsOptions, undefined);
  assert.deepEqual(container.mounts[0]?.uidMappings, []);
});

test('[USERNS-08] only a handler that reports support is trusted with such a pod', () => {
  const handlers = [
    { name: '', features: { userNamespaces: true } },
    { name: 'old', features: { userNamespaces: false } },
    { name: 'silent' },
  ];
  assert.equal(userNamespaceRefusal(handlers, ''), undefined);
  assert.match(userNamespaceRefusal(handlers, 'old') ?? '', /handler "old" does not support user namespaces/);
  assert.match(userNamespaceRefusal(handlers, 'silent') ?? '', /handler "silent" does not support user namespaces/);
  assert.match(userNamespaceRefusal(handlers, 'other') ?? '', /handler "other" is not known/);
  assert.match(userNamespaceRefusal([], '') ?? '', /does not report support for user namespaces/);
});
