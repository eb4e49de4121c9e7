import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { containerConfig, sandboxConfig } from '../contract.ts';
import type { SandboxConfig } from '../port.ts';
import type { ContainerSecurity, SandboxIsolation } from '../port-isolation.ts';
import { ContainerConfigSchema, MountPropagation, NamespaceMode, PodSandboxConfigSchema } from './generated/cri_pb.js';
import { decodeSandbox } from './labels.ts';
import { containerRequest, sandboxRequest } from './requests.ts';

const ISOLATION: SandboxIsolation = {
  ports: [{ protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: '' }],
  namespaces: { network: 'pod', ipc: 'node', pid: 'container' },
  sysctls: { 'net.ipv4.tcp_syncookies': '1' },
  privileged: false,
  user: 7,
  supplementalGroups: [8],
  seccomp: { type: 'RuntimeDefault', reference: '' },
  annotations: { mine: 'yes' },
};

const SECURITY: ContainerSecurity = {
  privileged: false,
  addCapabilities: ['NET_ADMIN'],
  dropCapabilities: ['ALL'],
  user: 1,
  group: 2,
  supplementalGroups: [3],
  readOnlyRoot: true,
  noNewPrivileges: true,
  seccomp: { type: 'Localhost', reference: 'mine.json' },
  unmasked: false,
};

const sandbox: SandboxConfig = { ...sandboxConfig('u1'), isolation: ISOLATION };
const PLACE = { node: 'n1', seccompRoot: '/state/seccomp', logDirectory: '/logs' };

const sandboxMessage = (config: SandboxConfig) => {
  const bytes = toBinary(PodSandboxConfigSchema, create(PodSandboxConfigSchema, sandboxRequest(config, PLACE)));
  return fromBinary(PodSandboxConfigSchema, bytes);
};

test('a sandbox stores its whole request: the next kubelet reads it back', () => {
  const message = sandboxMessage(sandbox);
  assert.deepEqual(decodeSandbox('id', message.annotations), sandbox);
  assert.deepEqual(sandboxMessage(decodeSandbox('id', message.annotations)), message);
  assert.equal(message.annotations['mine'], 'yes');
  assert.equal(message.labels['io.kubernetes.pod.uid'], 'u1');
});

test('a pod on the host network has no host name of its own', () => {
  const onNode = { ...ISOLATION, namespaces: { ...ISOLATION.namespaces, network: 'node' as const } };
  const message = sandboxMessage({ ...sandbox, isolation: onNode });
  assert.equal(message.hostname, '');
  assert.equal(message.linux?.securityContext?.namespaceOptions?.network, NamespaceMode.NODE);
});

test('a container carries its limits, its security and its mounts', () => {
  const resources = { cpuShares: 2, cpuQuota: 10_000, cpuPeriod: 100_000, memoryLimitBytes: 64, oomScoreAdjust: -997 };
  const config = containerConfig(['run'], {
    isolation: { resources, security: SECURITY },
    imageId: 'sha256:1',
    mounts: [{ source: '/a', target: '/b', readOnly: true, propagation: 'HostToContainer' }],
  });
  const { linux, mounts, image } = create(
    ContainerConfigSchema,
    containerRequest(config, sandbox, { ...PLACE, logPath: 'main/0.log' }),
  );
  assert.deepEqual([image?.image, image?.userSpecifiedImage], ['sha256:1', 'busybox:1.36']);
  assert.deepEqual(
    [mounts[0]?.readonly, mounts[0]?.propagation],
    [true, MountPropagation.PROPAGATION_HOST_TO_CONTAINER],
  );
  assert.deepEqual(
    [
      linux?.resources?.cpuQuota,
      linux?.resources?.memoryLimitInBytes,
      linux?.resources?.memorySwapLimitInBytes,
      linux?.resources?.oomScoreAdj,
    ],
    [10_000n, 64n, 64n, -997n],
  );
  const security = linux?.securityContext;
  assert.deepEqual([security?.runAsUser?.value, security?.runAsGroup?.value, security?.noNewPrivs], [1n, 2n, true]);
  assert.equal(security?.seccomp?.localhostRef, '/state/seccomp/mine.json');
  assert.equal(security?.namespaceOptions?.pid, NamespaceMode.CONTAINER);
  assert.ok(security?.maskedPaths.includes('/proc/kcore'));
});

test('[EPH-07] a container with a target runs in the process namespace of that container', () => {
  const resources = { cpuShares: 2, oomScoreAdjust: 0 };
  const config = containerConfig(['sh'], { isolation: { resources, security: { ...SECURITY, processesOf: 'id-1' } } });
  const { linux } = create(ContainerConfigSchema, containerRequest(config, sandbox, { ...PLACE, logPath: 'd/0.log' }));
  const { pid, targetId } = linux?.securityContext?.namespaceOptions ?? {};
  assert.deepEqual([pid, targetId], [NamespaceMode.TARGET, 'id-1']);
});

test('[QOS-10] the runtime gets no reserved memory and no bound below the limit', () => {
  const resources = { cpuShares: 2, memoryLimitBytes: 64, oomScoreAdjust: 0 };
  const config = containerConfig(['run'], { isolation: { resources, security: SECURITY } });
  const { linux } = create(ContainerConfigSchema, containerRequest(config, sandbox, { ...PLACE, logPath: 'd/0.log' }));
  assert.deepEqual(linux?.resources?.unified, {}, 'neither memory.min nor memory.high');
});
