import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyJson, decodeWithSchema, fieldErrorMessage, type JsonObject } from '@holdfast/machinery';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import type { Deployment, Pod, ResourceFieldSelector } from '../../generated/types.ts';
import { schemaFor } from '../../schema-table.ts';
import { deploymentResource } from '../deployment/index.ts';
import { podResource } from './index.ts';
import { container, created, createErrors, NOW, pod, updateErrors } from './testing.ts';

test('a plain pod is valid', () => {
  assert.deepEqual(createErrors(pod()), []);
});

test('[POD-01] a pod without containers is refused', () => {
  assert.deepEqual(createErrors(pod({ containers: [] })), ['spec.containers: Required value']);
  const initContainers = [container({ name: 'i' })];
  assert.deepEqual(createErrors(pod({ containers: [], initContainers })), ['spec.containers: Required value']);
});

test('[POD-07] a name must be a DNS subdomain, a container name a DNS label', () => {
  const [error = ''] = createErrors(pod({}, { name: 'Bad_Name' }));
  assert.match(error, /^metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist/);
  const [dotted] = createErrors(pod({ containers: [container({ name: 'a.b' })] }));
  assert.equal(dotted, 'spec.containers[0].name: Invalid value: "a.b": must not contain dots');
  const longest = `${'a'.repeat(63)}.`.repeat(3) + 'a'.repeat(61);
  assert.deepEqual(createErrors(pod({}, { name: longest })), [], '253 characters');
  assert.match(
    createErrors(pod({}, { name: `${longest}a` }))[0] ?? '',
    /^metadata\.name: .*: must be no more than 253/,
  );
  assert.deepEqual(createErrors(pod({ containers: [container({ name: 'c'.repeat(63) })] })), []);
  const [long = ''] = createErrors(pod({ containers: [container({ name: 'c'.repeat(64) })] }));
  assert.match(long, /^spec\.containers\[0\]\.name: .*: must be no more than 63/);
});

test('[POD-07] a name that is not a DNS label is accepted with a warning; a DNS label causes none', () => {
  const warningsOf = (name: string) => podResource.strategy.warnings?.(created(pod({}, { name })), undefined, {}) ?? [];
  assert.deepEqual(createErrors(pod({}, { name: 'a.b' })), []);
  const [warning = '', ...others] = warningsOf('a.b');
  assert.match(warning, /^metadata\.name: this is used in the Pod's hostname, .* a DNS label is recommended: \[/);
  assert.deepEqual(others, []);
  assert.equal(warningsOf('a'.repeat(64)).length, 1);
  assert.deepEqual(warningsOf('a-b'), []);
});

test('[POD-09] the operating system is linux or windows, and restricts other fields', () => {
  assert.deepEqual(createErrors(pod({ os: { name: 'beos' } })), [
    'spec.os: Unsupported value: "beos": supported values: "linux", "windows"',
  ]);
  const windows = pod({ os: { name: 'windows' }, securityContext: { fsGroup: 1 } });
  assert.deepEqual(createErrors(windows), ['spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod']);
  const linux = pod({ os: { name: 'linux' }, securityContext: { windowsOptions: { runAsUserName: 'u' } } });
  assert.deepEqual(createErrors(linux), [
    'spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod',
  ]);
  for (const [name, securityContext] of [
    ['linux', { fsGroup: 1 }],
    ['windows', { windowsOptions: { runAsUserName: 'u' } }],
  ] as const) {
    assert.deepEqual(createErrors(pod({ os: { name }, securityContext })), []);
    const [error = ''] = updateErrors(pod({ os: { name } }), (p) => void (p.spec.os = { name: 'beos' }));
    assert.match(error, /^spec\.os: Unsupported value/);
    const [other = ''] = updateErrors(pod({ os: { name: 'linux' } }), (p) => void (p.spec.os = { name: 'windows' }));
    assert.match(other, /^spec: Forbidden: pod updates may not change fields/);
  }
});

test('[POD-30] privileged and no escalation exclude each other', () => {
  const securityContext = { privileged: true, allowPrivilegeEscalation: false };
  const [error = ''] = createErrors(pod({ containers: [container({ securityContext })] }));
  assert.match(error, /cannot set `allowPrivilegeEscalation` to false and `privileged` to true$/);
  for (const allowed of [{ privileged: true }, { privileged: true, allowPrivilegeEscalation: true }]) {
    const object = pod({ containers: [container({ securityContext: allowed })] });
    assert.deepEqual(createErrors(object), []);
    assert.deepEqual(created(object).spec.containers[0]?.securityContext, allowed);
  }
});

test('[POD-31] a host process pod has only host process containers and uses the host network', () => {
  const containers = [
    container({ securityContext: { windowsOptions: { hostProcess: true } } }),
    container({ name: 'd' }),
  ];
  assert.deepEqual(createErrors(pod({ containers })), [
    'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ]);
  const onHost = container({ securityContext: { windowsOptions: { hostProcess: true } } });
  assert.deepEqual(createErrors(pod({ hostNetwork: true, containers: [onHost, { ...onHost, name: 'd' }] })), []);
  assert.deepEqual(createErrors(pod({ hostNetwork: true, containers: [onHost, container({ name: 'd' })] })), [
    'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
  ]);
  assert.deepEqual(createErrors(pod({ containers: [onHost] })), [
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ]);
  const wholePod = { securityContext: { windowsOptions: { hostProcess: true } } };
  assert.deepEqual(createErrors(pod({ hostNetwork: true, ...wholePod })), [], 'said once for the pod');
  assert.deepEqual(createErrors(pod(wholePod)), [
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ]);
});

test('[LIFE-21] the restart policy is one of three and Always by default', () => {
  assert.equal(created(pod()).spec.restartPolicy, 'Always');
  for (const restartPolicy of ['Always', 'OnFailure', 'Never']) {
    assert.deepEqual(createErrors(pod({ restartPolicy })), []);
    assert.equal(created(pod({ restartPolicy })).spec.restartPolicy, restartPolicy);
  }
  assert.deepEqual(createErrors(pod({ restartPolicy: 'Sometimes' })), [
    'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
  ]);
});

test('[LIFE-28] the type of a readiness gate has the form of a label key', () => {
  assert.deepEqual(createErrors(pod({ readinessGates: [{ conditionType: 'www.example.com/feature-1' }] })), []);
  for (const conditionType of ['', 'not a key!', 'a/b/c']) {
    const [error = ''] = createErrors(pod({ readinessGates: [{ conditionType }] }));
    assert.match(error, /^spec\.readinessGates\[0\]\.conditionType: Invalid value: /);
  }
});

test('[PROBE-02] a probe has exactly one handler', () => {
  const both = { httpGet: { port: 80 }, tcpSocket: { port: 80 } };
  assert.deepEqual(createErrors(pod({ containers: [container({ readinessProbe: both })] })), [
    'spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
  ]);
  assert.deepEqual(createErrors(pod({ containers: [container({ readinessProbe: {} })] })), [
    'spec.containers[0].readinessProbe: Required value: must specify a handler type',
  ]);
  const handlers = {
    exec: { command: ['true'] },
    httpGet: { port: 80 },
    tcpSocket: { port: 80 },
    grpc: { port: 80 },
  };
  const given = Object.entries(handlers);
  for (const kind of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    for (const [i, [name, handler]] of given.entries()) {
      const errorsWith = (probe: object) => createErrors(pod({ containers: [container({ [kind]: probe })] }));
      assert.deepEqual(errorsWith({ [name]: handler }), []);
      for (const [later, second] of given.slice(i + 1)) {
        assert.deepEqual(errorsWith({ [name]: handler, [later]: second }), [
          `spec.containers[0].${kind}.${later}: Forbidden: may not specify more than 1 handler type`,
        ]);
      }
    }
  }
});

test('[PROBE-16] probe times and thresholds get defaults, and negative values are refused', () => {
  for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
    const object = created(pod({ containers: [container({ [kind]: { grpc: { port: 1 } } })] }));
    assert.deepEqual(object.spec.containers[0]?.[kind], {
      grpc: { port: 1, service: '' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
  }
  const times = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'failureThreshold'];
  for (const time of times) {
    const startupProbe = { tcpSocket: { port: 1 }, [time]: -1 };
    assert.deepEqual(createErrors(pod({ containers: [container({ startupProbe })] })), [
      `spec.containers[0].startupProbe.${time}: Invalid value: -1: must be greater than or equal to 0`,
    ]);
  }
  const readinessProbe = { tcpSocket: { port: 1 }, successThreshold: -1 };
  assert.deepEqual(createErrors(pod({ containers: [container({ readinessProbe })] })), [
    'spec.containers[0].readinessProbe.successThreshold: Invalid value: -1: must be greater than or equal to 0',
  ]);
  const zero = {
    initialDelaySeconds: 0,
    timeoutSeconds: 0,
    periodSeconds: 0,
    successThreshold: 0,
    failureThreshold: 0,
  };
  const least = created(pod({ containers: [container({ livenessProbe: { tcpSocket: { port: 1 }, ...zero } })] }));
  const { initialDelaySeconds, timeoutSeconds, periodSeconds, successThreshold, failureThreshold } =
    least.spec.containers[0]?.livenessProbe ?? {};
  assert.deepEqual(
    [initialDelaySeconds, timeoutSeconds, periodSeconds, successThreshold, failureThreshold],
    [0, 1, 10, 1, 3],
    'zero means the default, but for the delay',
  );
});

test('[PROBE-16] startup and liveness probes need a successThreshold of 1, only readiness probes may need more', () => {
  const probe = { tcpSocket: { port: 1 }, successThreshold: 2 };
  for (const kind of ['startupProbe', 'livenessProbe'] as const) {
    assert.deepEqual(createErrors(pod({ containers: [container({ [kind]: probe })] })), [
      `spec.containers[0].${kind}.successThreshold: Invalid value: 2: must be 1`,
    ]);
  }
  assert.deepEqual(createErrors(pod({ containers: [container({ readinessProbe: probe })] })), []);
});

test('[PROBE-17] a probe-level grace period is positive, and only for liveness and startup probes', () => {
  const readinessProbe = { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 5 };
  assert.deepEqual(createErrors(pod({ containers: [container({ readinessProbe })] })), [
    'spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes',
  ]);
  const livenessProbe = { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 0 };
  assert.deepEqual(createErrors(pod({ containers: [container({ livenessProbe })] })), [
    'spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0',
  ]);
  for (const kind of ['livenessProbe', 'startupProbe'] as const) {
    const errorsWith = (seconds: number) => {
      const probe = { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: seconds };
      return createErrors(pod({ containers: [container({ [kind]: probe })] }));
    };
    assert.deepEqual(errorsWith(1), []);
    assert.deepEqual(errorsWith(-1), [
      `spec.containers[0].${kind}.terminationGracePeriodSeconds: Invalid value: -1: must be greater than 0`,
    ]);
  }
});

test('[INIT-09] an init container that is not a sidecar has no probes and no lifecycle', () => {
  const probe = { tcpSocket: { port: 1 } };
  const given = { lifecycle: {}, livenessProbe: probe, readinessProbe: probe, startupProbe: probe };
  for (const [field, value] of Object.entries(given)) {
    const init = container({ name: 'i', [field]: value });
    assert.deepEqual(createErrors(pod({ initContainers: [init] })), [
      `spec.initContainers[0].${field}: Forbidden: may not be set for init containers without restartPolicy=Always`,
    ]);
    assert.deepEqual(createErrors(pod({ initContainers: [{ ...init, restartPolicy: 'Always' }] })), []);
  }
});

test('[INIT-01] [INIT-08] init containers have the fields of other containers, with their own values', () => {
  const init = container({
    name: 'i',
    image: 'other:1',
    resources: { requests: { cpu: '100m' }, limits: { cpu: '1' } },
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'only-for-init', key: 'k' } } }],
    securityContext: { runAsUser: 7, readOnlyRootFilesystem: true },
    ports: [{ containerPort: 80 }],
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
    workingDir: '/v',
  });
  const volumes = [{ name: 'v', secret: { secretName: 'only-for-init' } }];
  const object = pod({ initContainers: [init], volumes });
  assert.deepEqual(createErrors(object), []);
  const [kept] = created(object).spec.initContainers ?? [];
  assert.equal(kept?.imagePullPolicy, 'IfNotPresent', 'with the same defaults');
  assert.deepEqual([kept?.ports?.[0]?.protocol, kept?.securityContext?.runAsUser], ['TCP', 7]);
  assert.deepEqual(createErrors(pod({ initContainers: [init] })), [
    'spec.initContainers[0].volumeMounts[0].name: Not found: "v"',
  ]);
  assert.equal(createErrors(pod({ initContainers: [container({ name: 'i', image: '' })] })).length, 1);
});

test('[INIT-18] names are unique over all containers', () => {
  assert.deepEqual(createErrors(pod({ initContainers: [container()] })), [
    'spec.initContainers[0].name: Duplicate value: "c"',
  ]);
  assert.deepEqual(createErrors(pod({ containers: [container(), container()] })), [
    'spec.containers[1].name: Duplicate value: "c"',
  ]);
  const inits = ['i', 'j', 'i'].map((name) => container({ name }));
  assert.deepEqual(createErrors(pod({ initContainers: inits })), ['spec.initContainers[2].name: Duplicate value: "i"']);
  for (const name of ['c', 'i', 'e']) {
    const ephemeralContainers = ['e', name].slice(name === 'e' ? 0 : 1).map((each) => container({ name: each }));
    const errors = createErrors(pod({ initContainers: [container({ name: 'i' })], ephemeralContainers }));
    const at = ephemeralContainers.length - 1;
    assert.ok(errors.includes(`spec.ephemeralContainers[${at}].name: Duplicate value: "${name}"`), errors.join('\n'));
  }
});

test('[SIDE-01] only init containers have a restart policy, and only Always', () => {
  assert.deepEqual(createErrors(pod({ initContainers: [container({ name: 'i', restartPolicy: 'Never' })] })), [
    'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ]);
  assert.deepEqual(createErrors(pod({ containers: [container({ restartPolicy: 'Always' })] })), [
    'spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers',
  ]);
  for (const restartPolicy of ['Always', 'OnFailure', 'Never']) {
    const object = pod({ restartPolicy, initContainers: [container({ name: 'i', restartPolicy: 'Always' })] });
    assert.deepEqual(createErrors(object), []);
    assert.equal(created(object).spec.initContainers?.[0]?.restartPolicy, 'Always');
  }
});

test('[SIDE-02] a sidecar may have probes and hooks, which are checked like those of a main container', () => {
  const probe = { tcpSocket: { port: 1 } };
  const probes = { livenessProbe: probe, readinessProbe: probe, startupProbe: probe };
  const lifecycle = { preStop: { exec: { command: ['x'] } } };
  const sidecar = container({ name: 's', restartPolicy: 'Always', ...probes, lifecycle });
  assert.deepEqual(createErrors(pod({ initContainers: [sidecar] })), []);
  for (const kind of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    assert.deepEqual(createErrors(pod({ initContainers: [{ ...sidecar, [kind]: {} }] })), [
      `spec.initContainers[0].${kind}: Required value: must specify a handler type`,
    ]);
  }
  assert.deepEqual(createErrors(pod({ initContainers: [{ ...sidecar, lifecycle: { preStop: {} } }] })), [
    'spec.initContainers[0].lifecycle.preStop: Required value: must specify a handler type',
  ]);
});

test('[DOWN-02] [EXP-16] environment variables and volumes each accept only their own fields', () => {
  const env = [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } }];
  const [inEnv = ''] = createErrors(pod({ containers: [container({ env })] }));
  assert.match(inEnv, /fieldRef\.fieldPath: Unsupported value: "metadata\.labels": supported values: "metadata\.name"/);
  const downwardAPI = { items: [{ path: 'ip', fieldRef: { fieldPath: 'status.podIP' } }] };
  const [inVolume = ''] = createErrors(pod({ volumes: [{ name: 'v', downwardAPI }] }));
  assert.match(inVolume, /^spec\.volumes\[0\]\.downwardAPI\.fieldRef\.fieldPath: Unsupported value: "status\.podIP"/);
  for (const fieldPath of ["metadata.labels['mylabel']", "metadata.annotations['myannotation']"]) {
    assert.deepEqual(envFieldErrors(fieldPath), []);
    assert.deepEqual(volumeFieldErrors(fieldPath), []);
  }
  assert.match(envFieldErrors("metadata.name['x']")[0] ?? '', /field label does not support subscript/);
  const resource = 'limits.example.com/gpu';
  assert.deepEqual(resourceFieldErrors({ resource }), [
    `spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "${resource}": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`,
  ]);
});

function envFieldErrors(fieldPath: string): readonly string[] {
  const env = [{ name: 'A', valueFrom: { fieldRef: { fieldPath } } }];
  return createErrors(pod({ containers: [container({ env })] }));
}

function volumeFieldErrors(fieldPath: string): readonly string[] {
  const downwardAPI = { items: [{ path: 'x', fieldRef: { fieldPath } }] };
  return createErrors(pod({ volumes: [{ name: 'v', downwardAPI }] }));
}

function resourceFieldErrors(resourceFieldRef: ResourceFieldSelector): readonly string[] {
  const env = [{ name: 'A', valueFrom: { resourceFieldRef } }];
  return createErrors(pod({ containers: [container({ env })] }));
}

test('[DOWN-03] [DOWN-05] [DOWN-06] [DOWN-07] [DOWN-08] [DOWN-09] each field of a pod is available only where it is listed', () => {
  const inEnv = ['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.serviceAccountName', 'spec.nodeName'];
  const addresses = ['status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'];
  const inVolumes = ['metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.labels', 'metadata.annotations'];
  const env = new Set([...inEnv, ...addresses]);
  const volumes = new Set(inVolumes);
  for (const fieldPath of new Set([...env, ...volumes, 'spec.restartPolicy', 'status.phase'])) {
    assert.equal(envFieldErrors(fieldPath).length, env.has(fieldPath) ? 0 : 1, `${fieldPath} in a variable`);
    assert.equal(volumeFieldErrors(fieldPath).length, volumes.has(fieldPath) ? 0 : 1, `${fieldPath} in a volume`);
  }
});

test('[DOWN-10] [DOWN-11] cpu, memory, storage and huge pages are available as limit and as request, in both forms', () => {
  for (const name of ['cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi']) {
    for (const resource of [`limits.${name}`, `requests.${name}`]) {
      assert.deepEqual(resourceFieldErrors({ resource }), [], `${resource} in a variable`);
      const downwardAPI = { items: [{ path: 'x', resourceFieldRef: { containerName: 'c', resource } }] };
      assert.deepEqual(createErrors(pod({ volumes: [{ name: 'v', downwardAPI }] })), [], `${resource} in a volume`);
    }
  }
});

test('[DOWN-13] a divisor is one of the standard units, and a volume must name the container', () => {
  const env = [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }];
  assert.deepEqual(createErrors(pod({ containers: [container({ env })] })), [
    `spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
  ]);
  for (const divisor of ['1', '1m']) assert.deepEqual(resourceFieldErrors({ resource: 'limits.cpu', divisor }), []);
  assert.deepEqual(resourceFieldErrors({ resource: 'limits.memory', divisor: '1Mi' }), []);
  assert.equal(resourceFieldErrors({ resource: 'limits.memory', divisor: '1m' }).length, 1);
  const downwardAPI = { items: [{ path: 'x', resourceFieldRef: { resource: 'limits.cpu' } }] };
  assert.deepEqual(createErrors(pod({ volumes: [{ name: 'v', downwardAPI }] })), [
    'spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value',
  ]);
});

test('[DOWN-06] node addresses are available to environment variables only', () => {
  for (const fieldPath of ['status.hostIP', 'status.hostIPs']) {
    const env = [{ name: 'A', valueFrom: { fieldRef: { fieldPath } } }];
    assert.deepEqual(createErrors(pod({ containers: [container({ env })] })), []);
    const downwardAPI = { items: [{ path: 'ip', fieldRef: { fieldPath } }] };
    const [refused = ''] = createErrors(pod({ volumes: [{ name: 'v', downwardAPI }] }));
    assert.match(refused, /^spec\.volumes\[0\]\.downwardAPI\.fieldRef\.fieldPath: Unsupported value: "status\.hostIP/);
  }
});

test('[EXP-12] a Deployment with volumes outside its template is refused, in strict and lenient mode', () => {
  const volumeMounts = [{ name: 'data', mountPath: '/opt' }];
  const template = {
    metadata: { labels: { app: 'myapp' } },
    spec: { containers: [container({ name: 'myapp', volumeMounts })] },
  };
  const spec = { selector: { matchLabels: { app: 'myapp' } }, template, volumes: [{ name: 'data', emptyDir: {} }] };
  const schema = schemaFor('apps', 'v1', 'Deployment') ?? assert.fail('there are Deployments');
  const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'myapp', namespace: 'n' }, spec };
  const { value, unknownFields } = decodeWithSchema(copyJson(body as unknown as JsonObject), schema);
  assert.deepEqual(unknownFields, ['unknown field "spec.volumes"']);
  const deployment = value as unknown as Deployment;
  deploymentResource.setDefaults(deployment);
  assert.deepEqual(deploymentResource.strategy.validateCreate(deployment, { now: NOW }).map(fieldErrorMessage), [
    'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
  ]);
});

test('[EXP-12] a mount requires a volume', () => {
  const volumeMounts = [{ name: 'data', mountPath: '/opt' }];
  assert.deepEqual(createErrors(pod({ containers: [container({ volumeMounts })] })), [
    'spec.containers[0].volumeMounts[0].name: Not found: "data"',
  ]);
});

test('[USERNS-01] hostUsers is dropped while the feature is off', () => {
  assert.equal(created(pod({ hostUsers: false })).spec.hostUsers, undefined);
  assert.equal(created(pod({ hostUsers: false }), { userNamespacesSupport: true }).spec.hostUsers, false);
});

test('[USERNS-06] [EXP-17] a user namespace excludes host namespaces', () => {
  const object = pod({ hostUsers: false, hostNetwork: true, hostPID: true, hostIPC: true });
  const text = 'Forbidden: when `pod.Spec.HostUsers` is false';
  assert.deepEqual(createErrors(object, { userNamespacesSupport: true }), [
    `spec.hostNetwork: ${text}`,
    `spec.HostPID: ${text}`,
    `spec.HostIPC: ${text}`,
  ]);
  for (const [namespace, field] of [
    ['hostNetwork', 'hostNetwork'],
    ['hostPID', 'HostPID'],
    ['hostIPC', 'HostIPC'],
  ] as const) {
    const alone = pod({ hostUsers: false, [namespace]: true });
    assert.deepEqual(createErrors(alone, { userNamespacesSupport: true }), [`spec.${field}: ${text}`]);
    for (const users of [{}, { hostUsers: true }]) {
      const ofHost = pod({ ...users, [namespace]: true });
      assert.deepEqual(
        createErrors(ofHost, { userNamespacesSupport: true }),
        [],
        'in users of the host all is allowed',
      );
    }
  }
});

const spread = (changes: object) =>
  pod({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...changes }],
  });

test('[SPREAD-01] constraints are stored unchanged, in pods and in pod templates', () => {
  const topologySpreadConstraints = [
    {
      maxSkew: 2,
      topologyKey: 'zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] },
    },
  ];
  const spec = { containers: [container()], topologySpreadConstraints };
  const keptBy = (group: string, kind: string, written: object): JsonObject => {
    const schema = schemaFor(group, 'v1', kind) ?? assert.fail(`there is no ${kind}`);
    const object = { apiVersion: 'v1', kind, metadata: { name: 'x' }, spec: written };
    const { value, unknownFields } = decodeWithSchema(copyJson(object as unknown as JsonObject), schema);
    assert.deepEqual(unknownFields, [], kind);
    return value as JsonObject;
  };
  const kept = keptBy('', 'Pod', spec) as unknown as Pod;
  const { spec: stored } = created({ ...pod(), spec: kept.spec });
  assert.deepEqual(stored.topologySpreadConstraints, topologySpreadConstraints);
  for (const [group, kind] of [
    ['apps', 'Deployment'],
    ['apps', 'DaemonSet'],
    ['apps', 'StatefulSet'],
    ['apps', 'ReplicaSet'],
    ['batch', 'Job'],
  ] as const) {
    const owner = keptBy(group, kind, { template: { spec } }) as unknown as Deployment;
    setPodTemplateDefaults(owner.spec.template);
    assert.deepEqual(owner.spec.template.spec.topologySpreadConstraints, topologySpreadConstraints, kind);
  }
});

test('[SPREAD-02] maxSkew is positive', () => {
  assert.deepEqual(createErrors(spread({ maxSkew: 0 })), [
    'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
  ]);
  assert.deepEqual(createErrors(spread({ maxSkew: -1 })), [
    'spec.topologySpreadConstraints[0].maxSkew: Invalid value: -1: must be greater than zero',
  ]);
  assert.deepEqual(createErrors(spread({ maxSkew: 1 })), []);
});

test('[SPREAD-03] the topology key is not empty', () => {
  assert.deepEqual(createErrors(spread({ topologyKey: '' })), [
    'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
  ]);
});

test('[SPREAD-04] whenUnsatisfiable has two values and defaults to DoNotSchedule', () => {
  assert.deepEqual(createErrors(spread({ whenUnsatisfiable: 'Never' })), [
    'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"',
  ]);
  const [constraint] = created(spread({ whenUnsatisfiable: '' })).spec.topologySpreadConstraints ?? [];
  assert.equal(constraint?.whenUnsatisfiable, 'DoNotSchedule');
  for (const whenUnsatisfiable of ['DoNotSchedule', 'ScheduleAnyway']) {
    assert.deepEqual(createErrors(spread({ whenUnsatisfiable })), []);
  }
});

test('[SPREAD-05] two constraints of the same kind are refused', () => {
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
  assert.deepEqual(createErrors(pod({ topologySpreadConstraints: [constraint, constraint] })), [
    'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"',
  ]);
  for (const other of [{ topologyKey: 'rack' }, { whenUnsatisfiable: 'ScheduleAnyway' }]) {
    const topologySpreadConstraints = [constraint, { ...constraint, ...other }];
    assert.deepEqual(createErrors(pod({ topologySpreadConstraints })), []);
  }
});

test('[SPREAD-06] minDomains requires DoNotSchedule, label keys require a selector', () => {
  assert.deepEqual(createErrors(spread({ minDomains: 2, whenUnsatisfiable: 'ScheduleAnyway' })), [
    'spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
  ]);
  assert.deepEqual(createErrors(spread({ minDomains: 0 })), [
    'spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero',
  ]);
  const extras = { minDomains: 1, nodeAffinityPolicy: 'Ignore', nodeTaintsPolicy: 'Honor' };
  const selected = { matchLabelKeys: ['a'], labelSelector: { matchLabels: { b: 'c' } } };
  assert.deepEqual(createErrors(spread({ ...extras, ...selected })), []);
  for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy']) {
    assert.deepEqual(createErrors(spread({ [policy]: 'Maybe' })), [
      `spec.topologySpreadConstraints[0].${policy}: Unsupported value: "Maybe": supported values: "Honor", "Ignore"`,
    ]);
  }
  assert.deepEqual(createErrors(spread({ matchLabelKeys: ['a'] })), [
    'spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
  ]);
});

test('[EPH-05] a new pod cannot contain ephemeral containers', () => {
  const object = pod({ ephemeralContainers: [{ name: 'd', image: 'x', resources: {} }] });
  assert.deepEqual(createErrors(object), ['spec.ephemeralContainers: Forbidden: cannot be set on create']);
});

test('all errors of a pod are reported together', () => {
  const object = pod({
    restartPolicy: 'x',
    containers: [container({ image: '', ports: [{ containerPort: 0 }] })],
    volumes: [{ name: 'v', hostPath: { path: '/a/../b' } }],
  });
  assert.deepEqual(createErrors(object), [
    'spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain \'..\'',
    'spec.containers[0].image: Required value',
    'spec.containers[0].ports[0].containerPort: Required value',
    'spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"',
  ]);
});
