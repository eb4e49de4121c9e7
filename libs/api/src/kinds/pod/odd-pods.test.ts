import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { check, container, withContainer } from './odd-testing.ts';

const C = 'spec.containers[0]';

test('containers: names, ports, images and policies', () => {
  check([
    [
      { containers: [{ image: 'i' }, { image: 'i' }] },
      [
        'spec.containers[0].name: Required value',
        'spec.containers[1].name: Required value',
        'spec.containers[1].name: Duplicate value: ""',
      ],
    ],
    [{ initContainers: [container()] }, ['spec.initContainers[0].name: Duplicate value: "c"']],
    [withContainer({ image: ' i' }), [`${C}.image: Invalid value: " i": must not have leading or trailing whitespace`]],
    [withContainer({ image: '' }), [`${C}.image: Required value`]],
    [
      withContainer({ terminationMessagePolicy: 'X' }),
      [`${C}.terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"`],
    ],
    [
      withContainer({ imagePullPolicy: 'X' }),
      [`${C}.imagePullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"`],
    ],
    [
      withContainer({ ports: [{ name: 'A--', containerPort: 70000, hostPort: -1, protocol: 'X' }, {}] }),
      [
        `${C}.ports[0].name: Invalid value: "A--": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
        `${C}.ports[0].name: Invalid value: "A--": must contain at least one letter (a-z)`,
        `${C}.ports[0].name: Invalid value: "A--": must not contain consecutive hyphens`,
        `${C}.ports[0].name: Invalid value: "A--": must not begin or end with a hyphen`,
        `${C}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
        `${C}.ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive`,
        `${C}.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
        `${C}.ports[1].containerPort: Required value`,
      ],
    ],
    [
      withContainer({
        ports: [
          { name: 'a', containerPort: 1 },
          { name: 'a', containerPort: 2 },
        ],
      }),
      [`${C}.ports[1].name: Duplicate value: "a"`],
    ],
    [
      withContainer({
        ports: [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 2, hostPort: 9 },
        ],
      }),
      [`${C}.ports[1].hostPort: Duplicate value: "TCP//9"`],
    ],
    [
      { hostNetwork: true, ...withContainer({ ports: [{ containerPort: 1, hostPort: 2 }] }) },
      [`${C}.ports[0].hostPort: Invalid value: 2: must match \`containerPort\` when \`hostNetwork\` is true`],
    ],
    [
      withContainer({ restartPolicy: 'Always' }),
      [`${C}.restartPolicy: Forbidden: may not be set for non-init containers`],
    ],
    [
      { initContainers: [container({ name: 'd', restartPolicy: 'Never' })] },
      ['spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      { initContainers: [container({ name: 'd', livenessProbe: {}, lifecycle: {} })] },
      [
        'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
        'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
      ],
    ],
    [
      { ephemeralContainers: [container({ name: 'e' })] },
      ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
    ],
    [
      { ephemeralContainers: [container({ name: 'e', ports: [{ containerPort: 1 }], targetContainerName: 'x' })] },
      [
        'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
        'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
        'spec.ephemeralContainers: Forbidden: cannot be set on create',
      ],
    ],
  ]);
});

test('environment: names, sources and fields', () => {
  const from = (valueFrom: JsonObject, more: JsonObject = {}): JsonObject =>
    withContainer({ env: [{ name: 'A', valueFrom, ...more }] });
  const E = `${C}.env[0].valueFrom`;
  const key = { name: 'n', key: 'k' };
  check([
    [withContainer({ env: [{ name: '' }] }), [`${C}.env[0].name: Required value`]],
    [
      withContainer({ env: [{ name: 'a=b' }] }),
      [
        `${C}.env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`,
      ],
    ],
    [
      from({}),
      [
        `${E}: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\` or \`secretKeyRef\``,
      ],
    ],
    [
      from({ configMapKeyRef: key }, { value: 'x' }),
      [`${E}: Invalid value: "": may not be specified when \`value\` is not empty`],
    ],
    [
      from({ configMapKeyRef: key, secretKeyRef: key }),
      [`${E}: Invalid value: "": may not have more than one field specified at a time`],
    ],
    [
      from({ configMapKeyRef: { name: '', key: '' } }),
      [
        `${E}.configMapKeyRef.name: Invalid value: "": a lowercase RFC 1123 subdomain…`,
        `${E}.configMapKeyRef.key: Required value`,
      ],
    ],
    [
      from({ secretKeyRef: { name: 'n', key: '..' } }),
      [`${E}.secretKeyRef.key: Invalid value: "..": must not be '..'`],
    ],
    [from({ fieldRef: { fieldPath: '' } }), [`${E}.fieldRef.fieldPath: Required value`]],
    [
      from({ fieldRef: { fieldPath: 'status.x' } }),
      [
        `${E}.fieldRef.fieldPath: Invalid value: "status.x": error converting fieldPath: field label not supported: status.x`,
      ],
    ],
    [
      from({ fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } }),
      [
        `${E}.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2`,
      ],
    ],
    [
      from({ fieldRef: { fieldPath: "metadata.name['a']" } }),
      [
        `${E}.fieldRef.fieldPath: Invalid value: "metadata.name['a']": error converting fieldPath: field label does not support subscript: metadata.name['a']`,
      ],
    ],
    [from({ fieldRef: { fieldPath: 'spec.host' } }), []],
    [
      from({ fieldRef: { fieldPath: 'spec.schedulerName' } }),
      [`${E}.fieldRef.fieldPath: Unsupported value: "spec.schedulerName": supported values: "metadata.name",…`],
    ],
    [
      from({ fieldRef: { fieldPath: 'metadata.labels' } }),
      [
        `${E}.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
      ],
    ],
    [
      from({ fieldRef: { fieldPath: "metadata.labels['a b']" } }),
      [`${E}.fieldRef: Invalid value: "a b": name part must consist…`],
    ],
    [
      from({ fieldRef: { fieldPath: "metadata.labels['a['b']" } }),
      [`${E}.fieldRef: Invalid value: "a['b": name part must consist…`],
    ],
    [
      from({ resourceFieldRef: { resource: 'x.cpu', divisor: '2' } }),
      [`${E}.resourceFieldRef.resource: Unsupported value: "x.cpu": supported values: "limits.cpu",…`],
    ],
    [
      from({ resourceFieldRef: { resource: 'limits.x' } }),
      [
        `${E}.resourceFieldRef.resource: Unsupported value: "limits.x": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`,
      ],
    ],
    [
      from({ resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } }),
      [
        `${E}.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
      ],
    ],
    [
      withContainer({ envFrom: [{}] }),
      [`${C}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``],
    ],
    [
      withContainer({ envFrom: [{ prefix: 'a=', configMapRef: {}, secretRef: { name: 'N' } }] }),
      [
        `${C}.envFrom[0].prefix: Invalid value: "a=": a valid environment variable name…`,
        `${C}.envFrom[0].configMapRef.name: Required value`,
        `${C}.envFrom[0].secretRef.name: Invalid value: "N": a lowercase RFC 1123 subdomain…`,
        `${C}.envFrom: Invalid value: "": may not have more than one field specified at a time`,
      ],
    ],
    [withContainer({ envFrom: [{ configMapRef: { name: 'ends-with-a-dash-' } }] }), []],
  ]);
});

test('probes, hooks and resources', () => {
  const http = (more: JsonObject): JsonObject => withContainer({ livenessProbe: { httpGet: { port: 80, ...more } } });
  const P = `${C}.livenessProbe`;
  const resources = (limits: JsonObject, requests: JsonObject = {}): JsonObject =>
    withContainer({ resources: { limits, requests } });
  const R = `${C}.resources`;
  check([
    [http({ port: 0 }), [`${P}.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`]],
    [
      http({ port: '' }),
      [
        `${P}.httpGet.port: Invalid value: "": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
        `${P}.httpGet.port: Invalid value: "": must contain at least one letter (a-z)`,
      ],
    ],
    [http({ scheme: 'ftp' }), [`${P}.httpGet.scheme: Unsupported value: "ftp": supported values: "HTTP", "HTTPS"`]],
    [
      http({ httpHeaders: [{ name: 'a b', value: '' }] }),
      [`${P}.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist…`],
    ],
    [withContainer({ livenessProbe: { exec: {} } }), [`${P}.exec.command: Required value`]],
    [
      withContainer({ livenessProbe: { grpc: { port: 0 } } }),
      [`${P}.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive`],
    ],
    [
      withContainer({ livenessProbe: { tcpSocket: { port: 1 }, periodSeconds: -1, successThreshold: 2 } }),
      [
        `${P}.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
        `${P}.successThreshold: Invalid value: 2: must be 1`,
      ],
    ],
    [
      withContainer({ readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 0 } }),
      [
        `${C}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
        `${C}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 0: must not be set for readinessProbes`,
      ],
    ],
    [
      withContainer({ lifecycle: { preStop: {} } }),
      [`${C}.lifecycle.preStop: Required value: must specify a handler type`],
    ],
    [
      withContainer({ lifecycle: { preStop: { sleep: { seconds: 31 } } } }),
      [
        `${C}.lifecycle.preStop.sleep: Invalid value: 31: must be greater than 0 and less than terminationGracePeriodSeconds (30). Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`,
      ],
    ],
    [
      resources({ cpu: '-1' }, { cpu: '-1' }),
      [
        `${R}.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
        `${R}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
      ],
    ],
    [
      resources({ memory: '1Mi' }, { memory: '2Mi' }),
      [`${R}.requests: Invalid value: "2Mi": must be less than or equal to memory limit of 1Mi`],
    ],
    [
      resources({ pods: '1' }),
      [
        `${R}.limits[pods]: Invalid value: pods: must be a standard resource for containers`,
        `${R}.requests[pods]: Invalid value: pods: must be a standard resource for containers`,
      ],
    ],
    [
      withContainer({ resources: { requests: { 'example.com/x': '1' } } }),
      [`${R}.limits: Required value: Limit must be set for non overcommitable resources`],
    ],
    [
      resources({ 'example.com/x': '500m' }),
      [
        `${R}.limits[example.com/x]: Invalid value: resource.Quantity{i:resource.int64Amount{value:500, scale:-3}…`,
        `${R}.requests[example.com/x]: Invalid value: resource.Quantity{i:resource.int64Amount{value:500, scale:-3}…`,
      ],
    ],
    [resources({ 'hugepages-2Mi': '2Mi' }), [`${R}: Forbidden: HugePages require cpu or memory`]],
    [
      resources({ cpu: '1', 'hugepages-2Mi': '1Mi' }),
      [
        `${R}.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi`,
        `${R}.requests[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi`,
      ],
    ],
  ]);
});
