import { BODY_BYTES, CORE, creation, filled, filledMap, groupPath, type HostileRequest } from './hostile-request.ts';

type Part = readonly [name: string, spec: () => Readonly<Record<string, unknown>>];

const selector = { matchLabels: { a: 'b' } };
const container = (extra: Readonly<Record<string, unknown>>): unknown => ({ name: 'c', image: 'i', ...extra });
const only = (extra: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  containers: [container(extra)],
});
const items = (make: (index: number) => unknown): readonly unknown[] => filled(BODY_BYTES, make);
const half = (make: (index: number) => unknown): readonly unknown[] => filled(BODY_BYTES / 2, make);
const affinityTerm = (index: number): unknown => ({ topologyKey: `k${index}`, labelSelector: selector });
const expression = (index: number): unknown => ({ key: `k${index}`, operator: 'In', values: ['v'] });

/** Lists and maps of a pod, each as long as a body can be. */
const PARTS: readonly Part[] = [
  [
    'topologySpreadConstraints',
    () => ({
      topologySpreadConstraints: items((index) => ({
        maxSkew: 1,
        topologyKey: `k${index}`,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: selector,
      })),
    }),
  ],
  [
    'the same topologySpreadConstraint',
    () => ({
      topologySpreadConstraints: items(() => ({ maxSkew: 1, topologyKey: 'k', whenUnsatisfiable: 'DoNotSchedule' })),
    }),
  ],
  ['containers', () => ({ containers: items((index) => ({ name: `c${index}`, image: 'i' })) })],
  ['the same container', () => ({ containers: items(() => ({ name: 'c', image: 'i' })) })],
  ['initContainers', () => ({ ...only({}), initContainers: items((index) => ({ name: `i${index}`, image: 'i' })) })],
  ['empty containers', () => ({ containers: items(() => ({})) })],
  ['env', () => only({ env: items((index) => ({ name: `E${index}`, value: 'v' })) })],
  ['the same env', () => only({ env: items(() => ({ name: 'E', value: 'v' })) })],
  ['envFrom', () => only({ envFrom: items((index) => ({ configMapRef: { name: `c${index}` } })) })],
  [
    'env from keys',
    () =>
      only({
        env: items((index) => ({ name: `E${index}`, valueFrom: { configMapKeyRef: { name: 'c', key: `k${index}` } } })),
      }),
  ],
  [
    'ports of a container',
    () => only({ ports: items((index) => ({ name: `p${index}`, containerPort: (index % 65_535) + 1 })) }),
  ],
  ['the same port of a container', () => only({ ports: items(() => ({ containerPort: 80, hostPort: 80 })) })],
  [
    'ports of containers',
    () => ({
      containers: items((index) => ({
        name: `c${index}`,
        image: 'i',
        ports: [{ containerPort: 80, hostPort: (index % 65_535) + 1 }],
      })),
    }),
  ],
  ['volumes', () => ({ ...only({}), volumes: items((index) => ({ name: `v${index}`, emptyDir: {} })) })],
  ['the same volume', () => ({ ...only({}), volumes: items(() => ({ name: 'v', emptyDir: {} })) })],
  [
    'volumes of claims',
    () => ({
      ...only({}),
      volumes: items((index) => ({ name: `v${index}`, persistentVolumeClaim: { claimName: 'c' } })),
    }),
  ],
  [
    'volumeMounts',
    () => ({
      ...only({ volumeMounts: items((index) => ({ name: 'v', mountPath: `/m${index}` })) }),
      volumes: [{ name: 'v', emptyDir: {} }],
    }),
  ],
  [
    'volumes and mounts',
    () => {
      const half = filled(BODY_BYTES / 2, (index) => ({ name: `v${index}`, emptyDir: {} }));
      return {
        volumes: half,
        ...only({
          volumeMounts: half
            .map((_, index) => ({ name: `v${index}`, mountPath: `/${index}` }))
            .slice(0, half.length / 2),
        }),
      };
    },
  ],
  [
    'the same mount',
    () => ({
      ...only({ volumeMounts: items(() => ({ name: 'v', mountPath: '/m' })) }),
      volumes: [{ name: 'v', emptyDir: {} }],
    }),
  ],
  ['volumeDevices', () => only({ volumeDevices: items((index) => ({ name: 'v', devicePath: `/d${index}` })) })],
  [
    'projected sources',
    () => ({
      ...only({}),
      volumes: [{ name: 'v', projected: { sources: items((index) => ({ configMap: { name: `c${index}` } })) } }],
    }),
  ],
  [
    'projected items',
    () => ({
      ...only({}),
      volumes: [
        {
          name: 'v',
          projected: {
            sources: [{ configMap: { name: 'c', items: items((index) => ({ key: `k${index}`, path: `p${index}` })) } }],
          },
        },
      ],
    }),
  ],
  [
    'the same projected item',
    () => ({
      ...only({}),
      volumes: [
        {
          name: 'v',
          projected: { sources: [{ configMap: { name: 'c', items: items(() => ({ key: 'k', path: 'p' })) } }] },
        },
      ],
    }),
  ],
  [
    'volume items',
    () => ({
      ...only({}),
      volumes: [
        { name: 'v', configMap: { name: 'c', items: items((index) => ({ key: `k${index}`, path: `p${index}` })) } },
      ],
    }),
  ],
  [
    'downward items',
    () => ({
      ...only({}),
      volumes: [
        {
          name: 'v',
          downwardAPI: { items: items((index) => ({ path: `p${index}`, fieldRef: { fieldPath: 'metadata.name' } })) },
        },
      ],
    }),
  ],
  ['monitors', () => ({ ...only({}), volumes: [{ name: 'v', cephfs: { monitors: items((index) => `m${index}`) } }] })],
  [
    'tolerations',
    () => ({
      ...only({}),
      tolerations: items((index) => ({ key: `k${index}`, operator: 'Exists', effect: 'NoExecute' })),
    }),
  ],
  ['the same toleration', () => ({ ...only({}), tolerations: items(() => ({ key: 'k', operator: 'Exists' })) })],
  ['hostAliases', () => ({ ...only({}), hostAliases: items(() => ({ ip: '10.0.0.1', hostnames: ['a'] })) })],
  [
    'names of a host alias',
    () => ({ ...only({}), hostAliases: [{ ip: '10.0.0.1', hostnames: items((index) => `h${index}`) }] }),
  ],
  ['imagePullSecrets', () => ({ ...only({}), imagePullSecrets: items((index) => ({ name: `s${index}` })) })],
  ['the same imagePullSecret', () => ({ ...only({}), imagePullSecrets: items(() => ({ name: 's' })) })],
  ['readinessGates', () => ({ ...only({}), readinessGates: items((index) => ({ conditionType: `g${index}` })) })],
  ['schedulingGates', () => ({ ...only({}), schedulingGates: items((index) => ({ name: `g${index}` })) })],
  ['the same schedulingGate', () => ({ ...only({}), schedulingGates: items(() => ({ name: 'g' })) })],
  [
    'resourceClaims',
    () => ({ ...only({}), resourceClaims: items((index) => ({ name: `r${index}`, resourceClaimName: 'r' })) }),
  ],
  ['claims of a container', () => only({ resources: { claims: items((index) => ({ name: `r${index}` })) } })],
  [
    'sysctls',
    () => ({ ...only({}), securityContext: { sysctls: items((index) => ({ name: `net.s${index}`, value: '1' })) } }),
  ],
  ['supplementalGroups', () => ({ ...only({}), securityContext: { supplementalGroups: items((index) => index) } })],
  [
    'capabilities',
    () => only({ securityContext: { capabilities: { add: items((index) => `C${index}`), drop: ['ALL'] } } }),
  ],
  ['nameservers', () => ({ ...only({}), dnsPolicy: 'None', dnsConfig: { nameservers: items(() => '10.0.0.1') } })],
  ['searches', () => ({ ...only({}), dnsConfig: { searches: items((index) => `s${index}.io`) } })],
  ['options of DNS', () => ({ ...only({}), dnsConfig: { options: items((index) => ({ name: `o${index}` })) } })],
  ['nodeSelector', () => ({ ...only({}), nodeSelector: filledMap(BODY_BYTES, (index) => [`l${index}`, 'v']) })],
  [
    'terms of node affinity',
    () => ({
      ...only({}),
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: items((index) => ({ matchExpressions: [expression(index)] })),
          },
        },
      },
    }),
  ],
  [
    'expressions of node affinity',
    () => ({
      ...only({}),
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: items(expression) }],
          },
        },
      },
    }),
  ],
  [
    'preferences of nodes',
    () => ({
      ...only({}),
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: items((index) => ({
            weight: 1,
            preference: { matchExpressions: [expression(index)] },
          })),
        },
      },
    }),
  ],
  [
    'terms of pod affinity',
    () => ({
      ...only({}),
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: items(affinityTerm) } },
    }),
  ],
  [
    'preferences of pods',
    () => ({
      ...only({}),
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: items((index) => ({
            weight: 1,
            podAffinityTerm: affinityTerm(index),
          })),
        },
      },
    }),
  ],
  [
    'namespaces of a pod affinity',
    () => ({
      ...only({}),
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'k', namespaces: items((index) => `n${index}`) },
          ],
        },
      },
    }),
  ],
  [
    'matchLabelKeys',
    () => ({
      ...only({}),
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'k',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selector,
          matchLabelKeys: items((index) => `k${index}`),
        },
      ],
    }),
  ],
  [
    'matchLabelKeys of a pod affinity',
    () => ({
      ...only({}),
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: 'k',
              labelSelector: selector,
              matchLabelKeys: half((index) => `k${index}`),
              mismatchLabelKeys: half((index) => `m${index}`),
            },
          ],
        },
      },
    }),
  ],
  ['args', () => only({ args: items(() => 'a') })],
  ['requests', () => only({ resources: { requests: filledMap(BODY_BYTES, (index) => [`a.io/r${index}`, '1']) } })],
  [
    'requests and limits',
    () =>
      only({
        resources: {
          requests: filledMap(BODY_BYTES / 2, (index) => [`a.io/r${index}`, '1']),
          limits: filledMap(BODY_BYTES / 2, (index) => [`a.io/r${index}`, '1']),
        },
      }),
  ],
  ['resizePolicy', () => only({ resizePolicy: items(() => ({ resourceName: 'cpu', restartPolicy: 'NotRequired' })) })],
  [
    'headers of a probe',
    () =>
      only({
        livenessProbe: { httpGet: { port: 80, httpHeaders: items((index) => ({ name: `H${index}`, value: 'v' })) } },
      }),
  ],
  [
    'quantities',
    () => only({ resources: { limits: filledMap(BODY_BYTES, (index) => [`a.io/r${index}`, `1e${index % 60}`]) } }),
  ],
  ['overhead', () => ({ ...only({}), overhead: filledMap(BODY_BYTES, (index) => [`a.io/r${index}`, '1']) })],
];

const template = (spec: Readonly<Record<string, unknown>>): unknown => ({ metadata: { labels: { a: 'b' } }, spec });

export const PODS: readonly HostileRequest[] = [
  ...PARTS.map(([what, spec]) =>
    creation(`pod: ${what}`, `${CORE}/pods?dryRun=All`, () => ({ metadata: { name: 'wide' }, spec: spec() })),
  ),
  ...PARTS.filter(([what]) => ['topologySpreadConstraints', 'env', 'volumes', 'containers'].includes(what)).map(
    ([what, spec]) =>
      creation(`deployment: ${what}`, `${groupPath('apps/v1')}/deployments?dryRun=All`, () => ({
        metadata: { name: 'wide' },
        spec: { selector, template: template(spec()) },
      })),
  ),
];
